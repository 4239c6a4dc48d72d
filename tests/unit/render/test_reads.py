"""What a rendering reads is seen, whatever a template does with it, and what it does not read does not count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fl_gen.render import incremental
from fl_gen.render.environment import FileRender, TemplateError, environment_for, render_file
from fl_gen.render.incremental import KeptTexts
from fl_gen.render.reads import Measure, Reads, Recorder
from fl_gen.schema.location import Location
from fl_gen.schema.values import Ref, Table
from fl_gen.sdk.identity import text_digest

HERE = Location("x.yaml", 3, 5)
THERE = Location("x.yaml", 4, 5)


@dataclass(frozen=True)
class Part:
    name: str
    size: int = 1
    tags: tuple[str, ...] = ()

    def spelled(self, prefix: str, upper: bool = False) -> str:
        text = f"{prefix}{self.name}"
        return text.upper() if upper else text

    def same(self, other: Part) -> bool:
        return self == other

    def letters(self) -> Iterator[str]:
        yield from self.name

    @property
    def refused(self) -> str:
        raise ValueError(f"{self.name} has none")


@dataclass(frozen=True)
class Whole:
    title: str
    parts: tuple[Part, ...]
    table: Table[Part]
    link: Ref
    first: Part | None = None


def whole(**changes: Any) -> Whole:
    parts = (Part("a"), Part("b", 2, ("x", "y")), Part("c", 3))
    made = Whole("t", parts, Table({"k": Part("d", 4)}, HERE, {"k": HERE}), Ref("there", HERE), parts[0])
    return replace(made, **changes)


def other_parts(index: int, **changes: Any) -> tuple[Part, ...]:
    parts = whole().parts
    return (*parts[:index], replace(parts[index], **changes), *parts[index + 1 :])


# Each template with models that make another text, and models that differ in nothing that it reads.
CASES: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = [
    ("{{ w.title }}", [{"title": "u"}], [{"parts": ()}]),
    (
        "{% for p in w.parts %}{{ p.name }};{% endfor %}",
        [{"parts": other_parts(1, name="z")}, {"parts": whole().parts[:2]}, {"parts": whole().parts[::-1]}],
        [{"parts": other_parts(1, size=9)}, {"parts": other_parts(2, tags=("q",))}],
    ),
    ("{{ w.parts | length }}", [{"parts": ()}], [{"parts": other_parts(0, name="z")}]),
    (
        "{{ w.parts | selectattr('size', 'gt', 1) | map(attribute='name') | join(',') }}",
        [{"parts": other_parts(0, size=7)}, {"parts": other_parts(2, name="z")}],
        [{"parts": other_parts(1, tags=())}],
    ),
    ("{{ w.parts[1].tags | join }}", [{"parts": other_parts(1, tags=("x",))}], [{"parts": other_parts(1, name="z")}]),
    ("{{ w.parts }}", [{"parts": other_parts(1, size=9)}], [{"title": "u"}]),
    ("{{ w.first in w.parts }}", [{"first": Part("q")}], [{"title": "u"}]),
    ("{{ w.parts[0] == w.parts[1] }}", [{"parts": (Part("a"), Part("a"))}], [{"title": "u"}]),
    ("{{ w.parts | unique | list | length }}", [{"parts": (Part("a"), Part("a"), Part("c"))}], [{"title": "u"}]),
    ("{{ w.parts[1].spelled('p', upper=true) }}", [{"parts": other_parts(1, name="z")}], [{"parts": other_parts(1, size=5)}]),
    ("{{ w.table.k.size }} {{ w.table | length }}", [{"table": Table({"k": Part("d", 5)}, HERE)}], [{"title": "u"}]),
    ("{{ w.table['k'].name }}", [{"table": Table({"k": Part("e")}, HERE)}], [{"table": Table({"k": Part("d", 4)}, THERE)}]),
    ("{{ w.table.location.line }}", [{"table": Table({"k": Part("d", 4)}, THERE)}], [{"title": "u"}]),
    ("{{ w.table.location_of('k').line }}", [{"table": Table({"k": Part("d")}, HERE, {"k": THERE})}], [{"title": "u"}]),
    ("{{ w.link }}", [{"link": Ref("here", HERE)}], [{"link": Ref("there", THERE)}]),
    ("{{ w.link.location.line }}", [{"link": Ref("there", THERE)}], [{"title": "u"}]),
    ("{{ w.first is none }}", [{"first": None}], [{"first": Part("q")}]),
    ("{{ w.absent is defined }}", [], [{"title": "u"}]),
    ("{{ other is defined }}", [], [{"title": "u"}]),
    ("{{ w is mapping }}{{ w.parts is sequence }}{{ w.table is mapping }}", [], [{"title": "u"}]),
    ("{% set ns = namespace(n=0) %}{% for p in w.parts %}{% set ns.n = ns.n + p.size %}{% endfor %}{{ ns.n }}",
     [{"parts": other_parts(2, size=9)}], [{"parts": other_parts(2, name="z")}]),
    ("{% macro m(p) %}{{ p.size }}{% endmacro %}{{ m(w.parts[2]) }}",
     [{"parts": other_parts(2, size=9)}], [{"parts": other_parts(2, name="z")}]),
    ("{% for p in w.parts | sort(attribute='size', reverse=true) %}{{ loop.index }}{{ p.name }}{% endfor %}",
     [{"parts": other_parts(0, size=9)}], [{"parts": other_parts(0, tags=("x",))}]),
]  # fmt: skip


class Bench:
    """One template that is rendered again and again, each time as a run of its own."""

    def __init__(self, folder: Path, **templates: str) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        for name, text in templates.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.tree / f"{name}.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.forget()

    def forget(self) -> None:
        """What a process knows of templates that it has compiled."""
        incremental._recording.cache_clear()
        environment_for.cache_clear()

    def run(self, context: dict[str, Any], template: str = "main") -> tuple[str, bool]:
        """The text, and whether the template was rendered for it."""
        kept = KeptTexts(self.folder / "texts", ["x"], [])
        kept.open((self.tree,), None)
        file = FileRender(f"{template}.j2", "x.txt", context)
        text = kept.text("x.txt", file)
        rendered = text is None
        if text is None:
            text = kept.render("x.txt", file)
            kept.keep("x.txt", text)
        kept.store()
        assert text == render_file(environment_for((self.tree,)), file)
        return text, rendered


@pytest.mark.parametrize(("template", "seen", "unseen"), CASES, ids=[case[0] for case in CASES])
def test_a_text_is_used_again_just_while_nothing_changed_that_it_read(
    tmp_path: Path, template: str, seen: list[dict[str, Any]], unseen: list[dict[str, Any]]
) -> None:
    bench = Bench(tmp_path, main=template)
    first, rendered = bench.run({"w": whole()})
    assert rendered
    assert bench.run({"w": whole()}) == (first, False)
    for changes in unseen:
        assert bench.run({"w": whole(**changes)}) == (first, False)
    for changes in seen:
        text, rendered = bench.run({"w": whole(**changes)})
        assert rendered
        assert text != first
        assert bench.run({"w": whole()}) == (first, True)


def test_a_name_that_comes_into_the_context_is_seen(tmp_path: Path) -> None:
    bench = Bench(tmp_path, main="{{ other is defined }}")
    assert bench.run({"w": whole()}) == ("False\n", True)
    assert bench.run({"w": whole(), "unrelated": 1}) == ("False\n", False)
    assert bench.run({"w": whole(), "other": 1}) == ("True\n", True)


def test_numbers_of_other_types_are_other_values(tmp_path: Path) -> None:
    bench = Bench(tmp_path, main="{{ n }}")
    texts = [bench.run({"n": value}) for value in (1, True, 1.0, "1", None, 1)]
    assert texts == [("1\n", True), ("True\n", True), ("1.0\n", True), ("1\n", True), ("None\n", True), ("1\n", True)]


@pytest.mark.parametrize(
    "template",
    [
        "{{ w.parts[0] is sameas w.first }}",  # two stand-ins of one record
        "{{ w.parts | select('sameas', w.first) | list | length }}",
        "{% if w.parts[0] is not sameas w.first %}{{ nothing.here }}{% endif %}fine",
        "{{ w.parts[0].same(w.first) }}",  # a call whose arguments cannot be kept
        "{{ w.first.letters() | join }}",  # a result that is gone after one look
    ],
)
def test_what_cannot_be_measured_again_is_rendered_each_time(tmp_path: Path, template: str) -> None:
    bench = Bench(tmp_path, main=template)
    texts = [bench.run({"w": whole()}) for _ in range(3)]
    assert texts == [(texts[0][0], True)] * 3


def test_an_error_is_told_as_without_a_cache(tmp_path: Path) -> None:
    bench = Bench(tmp_path, main="{{ w.title }}{{ w.parts[0].refused }}")
    with pytest.raises(TemplateError, match=r"main\.j2:1: a has none \(ValueError\)"):
        bench.run({"w": whole()})


def test_templates_that_take_part_are_seen_however_they_do(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path,
        main="{% extends 'base.j2' %}{% from 'macros.j2' import m %}{% block body %}{{ m() }}"
        "{% include ['maybe.j2', 'sure.j2'] %}{% include 'none.j2' ignore missing %}{% endblock %}",
        base="<{% block body %}{% endblock %}>",
        macros="{% import 'inner.j2' as inner %}{% macro m() %}{{ inner.n() }}{% endmacro %}",
        inner="{% macro n() %}n{% endmacro %}",
        sure="s",
        unrelated="u",
    )
    assert bench.run({}) == ("<ns>\n", True)
    assert bench.run({}) == ("<ns>\n", False)
    bench.write("unrelated", "v")
    assert bench.run({}) == ("<ns>\n", False)
    expected = {"base": "[ns]", "inner": "[Ns]", "sure": "[NS]", "maybe": "[NM]", "none": "[NMO]"}
    for name, text in {
        "base": "[{% block body %}{% endblock %}]",
        "inner": "{% macro n() %}N{% endmacro %}",
        "sure": "S",
        "maybe": "M",
        "none": "O",
    }.items():
        bench.write(name, text)
        assert bench.run({}) == (expected[name] + "\n", True), name
        assert bench.run({}) == (expected[name] + "\n", False), name
    (bench.tree / "none.j2").unlink()
    bench.forget()
    assert bench.run({}) == ("[NM]\n", True)


def test_an_imported_macro_that_another_file_imported_first_is_seen(tmp_path: Path) -> None:
    """A module is made once for all files that import it: what it imports itself counts for each of them."""
    trees = (tmp_path / "tree",)
    bench = Bench(
        tmp_path,
        one="{% from 'macros.j2' import m %}1{{ m() }}",
        two="{% from 'macros.j2' import m %}2{{ m() }}",
        macros="{% import 'inner.j2' as inner %}{% macro m() %}{{ inner.n() }}{% endmacro %}",
        inner="{% macro n() %}n{% endmacro %}",
    )

    def run() -> list[tuple[str | None, str]]:
        kept = KeptTexts(tmp_path / "texts", ["x"], [])
        kept.open(trees, None)
        found = []
        for name in ("one", "two"):
            file = FileRender(f"{name}.j2", name, {})
            known = kept.text(name, file)
            text = known if known is not None else kept.render(name, file)
            kept.keep(name, text)
            found.append((known, text))
        kept.store()
        return found

    assert run() == [(None, "1n\n"), (None, "2n\n")]
    assert run() == [("1n\n", "1n\n"), ("2n\n", "2n\n")]
    bench.write("inner", "{% macro n() %}N{% endmacro %}")
    assert run() == [(None, "1N\n"), (None, "2N\n")]


@pytest.mark.parametrize("damage", ["cut", "text", "other", "empty", "json", "shape"])
def test_a_damaged_file_of_texts_is_none(tmp_path: Path, damage: str) -> None:
    bench = Bench(tmp_path, main="{{ w.title }}")
    bench.run({"w": whole()})
    (path,) = (tmp_path / "texts").iterdir()
    check, _, body = path.read_text(encoding="utf-8").partition("\n")
    forged = {
        "cut": body[:-9],
        "text": body.replace('"t\\n"', '"X\\n"'),
        "other": body.replace(f'["{incremental.FORMAT}"', '["0"', 1),
    }
    shapes = {"empty": "", "json": "{", "shape": '{"identity": 1, "files": []}'}
    changed = {**forged, **shapes}[damage]
    assert changed != body
    sound = damage in ("other", *shapes)  # a whole file, of another fl-gen or of nobody
    path.write_text(f"{text_digest(changed) if sound else check}\n{changed}", encoding="utf-8")
    assert bench.run({"w": whole()}) == ("t\n", True)
    assert bench.run({"w": whole()}) == ("t\n", False)


def test_texts_that_others_may_have_written_are_not_used(tmp_path: Path) -> None:
    bench = Bench(tmp_path, main="{{ w.title }}")
    bench.run({"w": whole()})
    (tmp_path / "texts").chmod(0o777)
    assert bench.run({"w": whole()}) == ("t\n", True)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, main="{{ w.title }}")
    (tmp_path / "texts").write_text("a file", encoding="utf-8")
    assert [bench.run({"w": whole()}) for _ in range(2)] == [("t\n", True)] * 2


def test_notes_survive_json() -> None:
    recorder = Recorder({"w": whole()})
    seen = recorder.root("w", recorder._context["w"])
    assert [part.spelled("p") for part in seen.parts] == ["pa", "pb", "pc"]
    assert (seen.table["k"].size, seen.link.location.line) == (4, 3)
    again = Reads.from_json(recorder.reads.to_json())
    assert again.to_json() == recorder.reads.to_json()
    one, other = {"w": whole()}, {"w": whole(table=Table({"k": Part("d", 5)}, HERE))}
    assert Measure().digest(again, one) == Measure().digest(recorder.reads, one)
    assert Measure().digest(again, one) != Measure().digest(again, other)
