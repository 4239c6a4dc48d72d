"""Templates that say where their output comes from: the same bytes, each with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl_gen.render.environment import FileRender, TemplateError, build, render_text
from fl_gen.render.instrument import traced_environment
from fl_gen.render.tracing import Text, join, plain

CONTEXT: dict[str, Any] = {"name": "x", "items": ["a", "b", "c"], "nothing": [], "yes": True, "pairs": {"k": 1, "l": 2}}
MACROS = "{% macro inner(x) %}\n<{{ x }}>\n{%- endmacro %}\n{% macro outer(x) %}\n[{{ inner(x) }}]\n{%- endmacro %}\n"


def both(folder: Path, files: dict[str, str], context: dict[str, Any] | None = None) -> tuple[str, str]:
    """`x.j2` rendered in the usual way and in the traced one."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    file = FileRender("x.j2", "x", CONTEXT if context is None else context)
    traced, _ = traced_environment((folder,))
    return render_text(build((folder,), None), file), render_text(traced, file)


def places(text: str) -> list[tuple[str, list[str]]]:
    """Each piece of a traced text with the lines (and macros) that made it, innermost first."""
    assert isinstance(text, Text)
    found = []
    for span in text.spans:
        chain = [
            f"{place.template}:{place.line}" + (f" {place.part}" if place.part else "") for place in span.origin.chain()
        ]
        found.append((plain(text)[span.start : span.stop], chain))
    return found


TEMPLATES = {
    "text": "one\ntwo\n\nthree",
    "expression": "a {{ name }} b {{ name | upper }}\n",
    "loop": "{% for i in items %}\n{{ loop.index }}/{{ loop.length }} {{ i }}{{ ', ' if not loop.last }}\n{% endfor %}\n",
    "filtered loop": "{% for i in items if i != 'b' %}{{ i }}{% else %}none{% endfor %}",
    "empty loop": "{% for i in nothing %}{{ i }}{% else %}none\n{% endfor %}",
    "unpacking": "{% for k, v in pairs.items() %}{{ k }}={{ v }}\n{% endfor %}",
    "recursive loop": "{% for i in [[1, [2]], 3] recursive %}{{ loop(i) if i is sequence else i }}{% endfor %}",
    "conditions": "{% if not yes %}a{% elif name == 'x' %}b{% else %}c{% endif %}\n{{ 'd' if yes else 'e' }}",
    "undefined test": "{{ nope is defined }}{% if nope is not defined %}n{% endif %}",
    "set": "{% set y = name ~ '!' %}\n{{ y }}{% set ns = namespace(z=1) %}{% set ns.z = 5 %}{{ ns.z }}",
    "set block": "{% set y %}\nt {{ name }}\n{% endset %}\n{{ y }}{{ y | trim }}{% if y == 't x\\n' %}same{% endif %}",
    "filtered set block": "{% set y | upper %}a{{ name }}{% endset %}{{ y }}",
    "macro": MACROS + "{{ outer('p') }} {{ outer('q') ~ '!' }} {{ outer('r') | length }}\n",
    "call block": "{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}c {{ name }}{% endcall %}",
    "filter block": "{% for i in items %}{% filter upper %}q{{ i }}\n{% endfilter %}{% endfor %}",
    "with": "{% with a = name %}{{ a }}{% endwith %}",
    "raw": "{% raw %}{{ not }}{% endraw %}\n{# c #}{{ '{{' }}",
    "white space": "a  \n{%- if yes %}\n  b\n{%- endif -%}\n  c\n",
    "macro in a condition": "{% macro m() %}{% endmacro %}{% if m() == '' %}empty{% endif %}",
    "join of macros": MACROS + "{{ [inner('a'), inner('b')] | join(', ') }}{{ '%s' | format(inner('c')) }}",
    "joined by hand": MACROS + "{{ inner(inner('a')) }}",
    "line ends": "a\r\nb {{ name }}\r\n",
    "private use": "\ue000 {{ '\ue001' }} \U000f0000",
    "numbers": "{{ 1 }}{{ nothing | length }}{{ 2.5 }}{{ true }}{{ None }}",
}


@pytest.mark.parametrize("case", TEMPLATES)
def test_the_same_bytes(tmp_path: Path, case: str) -> None:
    usual, traced = both(tmp_path, {"x.j2": TEMPLATES[case]})
    assert traced == usual
    assert isinstance(traced, Text)
    at = 0
    for span in traced.spans:  # nothing is without an origin
        assert (span.start, span.stop > span.start) == (at, True)
        at = span.stop
    assert at == len(traced)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(TEMPLATES)), min_size=1, max_size=4))
def test_the_same_bytes_of_any_mixture(tmp_path_factory: pytest.TempPathFactory, cases: list[str]) -> None:
    usual, traced = both(tmp_path_factory.mktemp("t"), {"x.j2": "\n".join(TEMPLATES[case] for case in cases)})
    assert traced == usual


def test_lines_of_text_and_expressions(tmp_path: Path) -> None:
    _, traced = both(tmp_path, {"x.j2": "one\ntwo {{ name }}\n{% if yes %}\nthree\n{% endif %}\n"})
    assert places(traced) == [
        ("one\n", ["x.j2:1"]),
        ("two ", ["x.j2:2"]),
        ("x", ["x.j2:2"]),
        ("\n", ["x.j2:2"]),
        ("three\n", ["x.j2:4"]),
    ]


def test_a_macro_and_who_called_it(tmp_path: Path) -> None:
    files = {"m.j2": MACROS, "x.j2": '{% from "m.j2" import outer %}\n\n{{ outer("p") }}\n'}
    _, traced = both(tmp_path, files)
    outer = "m.j2:5 macro outer"
    assert places(traced)[1:-1] == [
        ("[", [outer, "x.j2:3"]),
        ("<", ["m.j2:2 macro inner", outer, "x.j2:3"]),
        ("p", ["m.j2:2 macro inner", outer, "x.j2:3"]),
        (">", ["m.j2:2 macro inner", outer, "x.j2:3"]),
        ("]", [outer, "x.j2:3"]),
    ]


def test_a_filter_on_a_macro_leaves_the_place_of_the_call(tmp_path: Path) -> None:
    _, traced = both(tmp_path, {"x.j2": MACROS + "{{ outer('p') | upper }}"})
    assert places(traced)[-1] == ("[<P>]", ["x.j2:7"])


def test_blocks_and_includes(tmp_path: Path) -> None:
    files = {
        "base.j2": "top\n{% block body %}\nshipped\n{% endblock %}\nend\n",
        "part.j2": "included {{ name }}\n",
        "x.j2": '{% extends "base.j2" %}\n{% block body %}\n{{ super() }}mine\n{% include "part.j2" %}\n{% endblock %}\n',
    }
    usual, traced = both(tmp_path, files)
    assert traced == usual
    assert [(text, chain[0]) for text, chain in places(traced) if text.strip()] == [
        ("top\n", "base.j2:1"),
        ("shipped\n", "base.j2:3 block body"),
        ("mine\n", "x.j2:3 block body"),
        ("included ", "part.j2:1"),
        ("x", "part.j2:1"),
        ("end\n", "base.j2:5"),
    ]


def test_a_macro_without_end_is_an_error_of_the_template(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"x\.j2:1: the template includes or calls itself without end"):
        both(tmp_path, {"x.j2": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"})
    traced, _ = traced_environment((tmp_path,))
    with pytest.raises(TemplateError, match=r"x\.j2:1: the template includes or calls itself without end"):
        render_text(traced, FileRender("x.j2", "x"))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a\n{{ nope }}", r"x\.j2:2: 'nope' is undefined"),
        ("a\n{% for i in nope %}{% endfor %}", r"x\.j2:2: 'nope' is undefined"),
        ("a\n{{ name.__class__.__mro__ }}", r"x\.j2:2: access to attribute '__class__'"),
        ("a\n{{ 'a' * 10000000000 }}", r"makes more than"),
        ("a\n{{ name | fl_gen_emit }}", r"x\.j2:2: No filter named 'fl_gen_emit'"),
        ("a\n{{ name | fl-gen:emit }}", r"x\.j2:2: "),
    ],
)
def test_a_bad_template_is_told_at_its_line(tmp_path: Path, template: str, message: str) -> None:
    (tmp_path / "x.j2").write_text(template, encoding="utf-8")
    traced, _ = traced_environment((tmp_path,))
    with pytest.raises(TemplateError, match=message):
        render_text(traced, FileRender("x.j2", "x", CONTEXT))


def test_usual_environments_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "x.j2").write_text("{{ name }}\n", encoding="utf-8")
    cache = tmp_path / "cache"
    usual = build((tmp_path,), cache)
    before = render_text(usual, FileRender("x.j2", "x", CONTEXT))
    entries = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    traced, _ = traced_environment((tmp_path,))
    assert isinstance(render_text(traced, FileRender("x.j2", "x", CONTEXT)), Text)
    assert traced.bytecode_cache is None
    assert {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()} == entries
    again = render_text(build((tmp_path,), cache), FileRender("x.j2", "x", CONTEXT))
    assert (type(before), type(again), again) == (str, str, before)
    assert not any(name.startswith("fl-gen:") for name in usual.filters)
    assert jinja2.Environment.concat is type(usual).concat


def test_join_of_plain_pieces_is_plain() -> None:
    assert type(join(["a", 1, None])) is str
    assert type(plain(Text("a", ()))) is str
