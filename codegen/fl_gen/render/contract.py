"""The headers of a framework as far as a backend can see them, made from `interface.yaml`.

The same text serves twice: the test hosts under `tests/hosts/` are compiled against it, and `--verify` parses
generated code against it as in-memory files. Headers that are pure interface (virtual methods, enumerations, parameter
structs) are templates below `templates/contract/<framework>/` whose path is the path of the header plus `.j2`; the
others are shipped there as they are.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import data_dir

FRAMEWORK = "infinitrain"
_WIDTH = 120
_TEMPLATE_SUFFIX = ".j2"


def _get(node: Any, key: str) -> Any:
    """`key` of a mapping or of an object; KeyError or AttributeError when it has none."""
    return node[key] if isinstance(node, Mapping) else getattr(node, key)


def _finder(nodes: Iterable[Any], kind: str) -> Callable[[str], Any]:
    """A function that returns the node of a given name, for use in templates."""
    by_name = {_get(node, "name"): node for node in nodes}

    def find(name: str) -> Any:
        if name not in by_name:
            raise KeyError(f"interface has no {kind} `{name}`")
        return by_name[name]

    return find


def sentence(text: str) -> str:
    """`text` as comments begin and end: a capital letter, unless an identifier comes first, and a full stop."""
    text = text.strip()
    first = text.split(maxsplit=1)[0] if text else ""
    start = text[:1].upper() if first.isalpha() and first.islower() else text[:1]
    return start + text[1:] + ("" if text.endswith(".") else ".")


def comment(text: str, indent: int = 0) -> str:
    """`text` as a wrapped line comment; lines after the first start with `indent` blanks."""
    blanks = " " * indent
    lines = textwrap.wrap(sentence(text), _WIDTH - indent - 3, break_long_words=False, break_on_hyphens=False)
    return f"\n{blanks}".join(f"// {line}" for line in lines)


def declare(type_text: str, name: str) -> str:
    """`type name` in the framework's style: the star or ampersand belongs to the name."""
    return f"{type_text}{name}" if type_text.endswith(("*", "&")) else f"{type_text} {name}"


def _parameter(param: Any) -> str:
    """A parameter with its default argument, which a mapping need not have."""
    default = param.get("default") if isinstance(param, Mapping) else param.default
    return declare(_get(param, "type"), _get(param, "name")) + (f" = {default}" if default is not None else "")


def signature(method: Any, before: str, after: str, indent: int) -> str:
    """`before(parameters)after`, broken behind commas and aligned at the bracket where a line would be too long."""
    opening = " " * indent + before + "("
    aligned = " " * len(opening)
    line = opening
    lines: list[str] = []
    params = [_parameter(param) for param in _get(method, "params")]
    for position, param in enumerate(params):
        piece = param + (", " if position + 1 < len(params) else ")" + after)
        if len(line + piece.rstrip()) > _WIDTH and line != opening:
            lines.append(line.rstrip())
            line = aligned
        line += piece
    lines.append(line if params else line + ")" + after)
    return "\n".join(lines).lstrip()


def macro(head: str, body: Sequence[str]) -> str:
    """A multi-line macro with its backslashes in the last column."""
    lines = [f"#define {head}", *body]
    return "\n".join([*(f"{line:<{_WIDTH - 1}}\\" for line in lines[:-1]), lines[-1]])


def registration_macro(name: str, registry: str, what: str) -> str:
    """The macro that puts a default-constructed implementation into `registry` at static initialisation."""
    call = f"        infini_train::core::{registry}::Instance().Register("
    return macro(
        f"{name}(device_type, class_impl)",
        [
            f"    [[maybe_unused]] static const bool CAT(infini_train_{what}_registered_, __COUNTER__) = []() {{",
            f"{call}device_type,",
            f"{' ' * len(call)}std::make_unique<class_impl>());",
            "        return true;",
            "    }();",
        ],
    )


def render_contract(interface: Any, templates: Path | None = None, framework: str = FRAMEWORK) -> dict[str, str]:
    """All contract headers of `interface`, keyed by the path in an `#include`.

    `interface` is the content of `interface.yaml`, as a mapping or as objects with the same attributes. `templates` is
    the folder that holds `contract/<framework>/`; the shipped one if not given. Raises jinja2.TemplateError or KeyError
    for an interface that lacks what a header needs.
    """
    import jinja2

    root = (templates or data_dir() / "templates") / "contract" / framework
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(root)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["comment"] = comment
    environment.globals.update(declare=declare, signature=signature, registration_macro=registration_macro)
    context = {
        "enum": _finder(_get(interface, "enums"), "enum"),
        "struct": _finder(_get(interface, "structs"), "struct"),
        "cls": _finder(_get(interface, "classes"), "class"),
        "registry": _finder(_get(interface, "registries"), "registry"),
        "dtypes": _get(interface, "dtypes"),
        "registration": _get(interface, "registration"),
    }
    rendered: dict[str, str] = {}
    for header in _get(interface, "headers"):
        path = _get(header, "path")
        if _get(header, "rendered"):
            rendered[path] = environment.get_template(path + _TEMPLATE_SUFFIX).render(context)
        else:
            rendered[path] = (root / path).read_text(encoding="utf-8")
    return rendered


def write_contract(rendered: Mapping[str, str], folder: Path) -> list[Path]:
    """Write headers below `folder`; a file that has its text already keeps its time. Returns what was written."""
    written = []
    for path, text in rendered.items():
        target = folder / path
        if target.is_file() and target.read_bytes() == text.encode():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        written.append(target)
    return written


def main(arguments: Sequence[str]) -> int:
    """`python -m fl_gen.render.contract OUT_DIR`: used by the build of the test host. Exit code 2 for wrong usage."""
    if len(arguments) != 1:
        print("usage: python -m fl_gen.render.contract OUT_DIR", file=sys.stderr)
        return 2
    from fl_gen.schema.framework_spec import load_interface

    try:
        interface = load_interface(data_dir() / "schemas" / "frameworks" / FRAMEWORK / "interface.yaml")
    except FlGenError as error:
        print(error.render(), file=sys.stderr)
        return 2
    write_contract(render_contract(interface), Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
