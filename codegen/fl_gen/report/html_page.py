"""One self-contained HTML page: elements whose text is always escaped, and the frame with style and script inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from fl_gen.schema.errors import printable

_FOLDER = Path(__file__).parent
_VOID = {"input", "br", "meta", "link"}


class Html(str):
    """Markup that is safe as it stands. Any other text is escaped where it is put in."""

    __slots__ = ()


Child = str | None | Iterable[str | None]


def el(tag: str, *children: Child, **attributes: str | bool | None) -> Html:
    """An element. A plain `str` child is text; None is nothing; an iterable stands for its items.

    `_` in an attribute's name becomes `-`, one at its end goes (`class_`); True gives an attribute without a value, and
    None or False none.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        parts.append(f" {key}" if value is True else f' {key}="{escape(printable(str(value)))}"')
    parts.append(">")
    if tag in _VOID:
        return Html("".join(parts))
    for child in children:
        if child is None:
            continue
        for item in [child] if isinstance(child, str) else child:
            if item is not None:
                parts.append(item if isinstance(item, Html) else escape(printable(item), quote=False))
    parts.append(f"</{tag}>")
    return Html("".join(parts))


def page(title: str, *body: Child, styles: Sequence[str] = ("page.css",), script_file: str = "page.js") -> str:
    """The whole document, with its styles and script inside. It loads nothing, and only this script may run in it."""
    style = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in styles)
    script = (_FOLDER / script_file).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{el('html', head, el('body', *body, el('script', Html(script))), lang='en')}\n"
