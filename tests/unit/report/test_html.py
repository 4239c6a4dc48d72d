"""The HTML of an SDK check: well-formed, escaped, of one piece; in a browser it filters, and without scripts it is whole."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fl_gen.report.html import report_html
from fl_gen.report.html_page import Html, el, page
from fl_gen.tasks.sdk_values import CheckReport, SdkCheck
from unit.report.conftest import HOSTILE, hostile, report_of, stopped

Check = Callable[..., SdkCheck]
BROWSER_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--virtual-time-budget=2000",
)  # fmt: skip


class Reader(HTMLParser):
    """Collects the elements of a page; an element that is not closed in its turn is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("input", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def whole(check: Check, lossy: Path) -> CheckReport:
    """A report with a target of every kind."""
    good, lost = report_of(check("maca@sim")), report_of(check("mlu@sim:6.14", lossy))
    return CheckReport(1, "fl-gen 1", 2, (*good.results, *lost.results, *stopped("gone\n  = look").results))


def test_the_page_is_well_formed_and_loads_nothing(check: Check, lossy: Path) -> None:
    text = report_html(whole(check, lossy))
    reader = read(text)
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == tags.count("style") == 1
    assert not {"link", "img", "iframe", "object", "base"} & set(tags)
    links = [attributes["href"] for _, attributes in reader.elements if "href" in attributes]
    assert links == ["#t0", "#t1", "#t2"]
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert {"t0", "t1", "t2"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert not [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    policy = next(a["content"] for _, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; ")
    assert "https:" not in text
    assert "prefers-color-scheme: dark" in text


def test_everything_is_on_it_without_scripts(check: Check, lossy: Path) -> None:
    report = whole(check, lossy)
    reader = read(report_html(report))
    said = "\n".join(reader.texts)
    for result in report.results:
        assert result.target in said
        for operation in result.check.operations if result.check is not None else ():
            assert operation.name in said
            for rejected in operation.rejected:
                assert rejected.messages[0].message in said
            for use in operation.chosen.declarations if operation.chosen is not None else ():
                assert not use.signature or use.signature in said
    assert "gone\n  = look" in said
    # Tools that need scripts are not shown without them, and no row is.
    assert ".tools { display: none;" in report_html(report)
    assert not [attributes for _, attributes in reader.elements if "hidden" in attributes]


def test_hostile_text_is_text(check: Check) -> None:
    text = report_html(report_of(hostile(check("mlu@sim:6.0"))))
    reader = read(text)
    assert [tag for tag, _ in reader.elements].count("script") == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    shown = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert shown in reader.texts
    read(report_html(stopped(HOSTILE)))


def test_elements() -> None:
    assert el("p", "a<b", None, Html("<i></i>"), [el("b", "&"), None], class_="x", data_part=True, open=False) == (
        '<p class="x" data-part>a&lt;b<i></i><b>&amp;</b></p>'
    )
    assert el("input", value='"><script>') == '<input value="&quot;&gt;&lt;script&gt;">'
    assert "<title>a &lt;/title&gt; b</title>" in page("a </title> b")


def test_in_a_browser(check: Check, lossy: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")  # no part of the test set-up: it is big, and the page is whole without it
    text = report_html(whole(check, lossy))
    # The page's policy lets its own script run and no other; the test's is allowed beside it, by its digest as well.
    act = (
        "const box = document.getElementById('search');"
        "const seen = () => document.querySelectorAll('tr[data-kinds]:not([hidden])').length;"
        "const all = seen(); box.value = 'ALLOC async'; box.dispatchEvent(new Event('input')); const found = seen();"
        "box.value = ''; box.dispatchEvent(new Event('input'));"
        "const tick = document.querySelector('input[value=bound]'); tick.click(); const few = seen();"
        "document.title = [all, found, few, document.getElementById('count').textContent,"
        " getComputedStyle(document.querySelector('.tools')).display,"
        " document.querySelectorAll('[data-part][hidden]').length].join('|');"
    )
    digest = base64.b64encode(hashlib.sha256(act.encode()).digest()).decode()
    acted = text.replace("; base-uri", f" 'sha256-{digest}'; base-uri", 1).replace(
        "</body>", f"<script>{act}</script></body>"
    )
    unscripted = re.sub("script-src .*?; base-uri", "script-src 'none'; base-uri", text, count=1)
    assert acted != text != unscripted

    def shown(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        run = subprocess.run(
            [str(chromium), *BROWSER_FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / name}"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return run.stdout

    dom = shown("acted.html", acted)
    match = re.search(r"<title>(.*?)</title>", dom)
    assert match is not None
    everything, found, few, count, display, parts = match[1].split("|")
    operations = [one for report in (check("maca@sim"), check("mlu@sim:6.14", lossy)) for one in report.operations]
    assert int(everything) == len(operations)
    assert 0 < int(found) < len(operations) / 4
    assert int(few) == sum(one.state != "bound" for one in operations)
    assert count == f"{few} of {everything}"
    assert display == "flex"
    assert int(parts) >= 0
    # Where no script may run, the tools are not shown and every row is.
    still = shown("still.html", unscripted)
    assert '<html lang="en">' in still
    assert "hidden" not in re.sub(r"<(style|script)>.*?</\1>", "", still, flags=re.DOTALL)
