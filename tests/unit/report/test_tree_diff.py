"""The forms of a tree diff: escaped, bounded, whole; the page in a browser, with scripts and without."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from fl_gen.report.markdown import LIMIT
from fl_gen.report.schemas import report_schema_text
from fl_gen.report.tree_diff_html import tree_diff_html
from fl_gen.report.tree_diff_json import tree_diff_json
from fl_gen.report.tree_diff_markdown import tree_diff_markdown
from fl_gen.report.tree_diff_text import TreeLook, tree_diff_text
from fl_gen.tasks.tree_diff_build import Builder
from fl_gen.tasks.tree_diff_causes import Suspect
from fl_gen.tasks.tree_diff_events import Event
from fl_gen.tasks.tree_diff_hunks import Part
from fl_gen.tasks.tree_diff_values import Certainty, Effect, Status, TreeDiff, VendorSide
from unit.report.test_html import BROWSER_FLAGS, read

EVIL = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e`|@all #1 {{x}} ]( ``` \x00"
NODE = Suspect("node", "ops/a.yaml: Add.params[1]", "changed", "frameworks/f/ops/a.yaml:7", "T &", "T")
TEMPLATE = Suspect("template", "src/a.cc.j2", "changed", "src/a.cc.j2:3")
IDLE = Suspect("node", "ops/a.yaml: Add.doc", "changed", "frameworks/f/ops/a.yaml:5", "x", "y")


def made(files: int = 2, word: str = "b", lines: int = 1) -> TreeDiff:
    """Two vendors whose files all change in the same way, and one file of the template's."""
    builder = Builder()

    def node(path: str, part: Part) -> tuple[list[Suspect], Certainty]:
        return [NODE], "exact"

    def template(path: str, part: Part) -> tuple[list[Suspect], Certainty]:
        return [TEMPLATE, NODE], "one-of"

    for vendor in ("mlu", "maca"):
        for number in range(files):
            old = "".join(f"int a{n};\n" for n in range(9))
            new = old.replace("int a4;\n", "".join(f"int {word}{n};\n" for n in range(lines)))
            builder.file(vendor, f"src/x/f{number}.cc", "changed", "src/f.cc.j2", (old, new), node)
        builder.events(vendor, {NODE: [Event(("kernel", "Add"), "signature changed", "T Add(T &)", "T Add(T)")]})
        builder.suspect(IDLE, vendor)
        builder.vendor(VendorSide(vendor, None, "SDK 1", 5, None))
    builder.file("mlu", "new.txt", "created", "new.txt.j2", (None, f"{word}\n"), template)
    return builder.finish("main", "0123456789abcdef")


def test_equal_hunks_are_one_and_say_where() -> None:
    diff = made()
    assert [one.title for one in diff.causes] == [NODE.title, TEMPLATE.title, IDLE.title]
    assert [len(fold.spots) for fold in diff.causes[0].folds] == [4, 1]
    assert tree_diff_text(diff, TreeLook()) == (
        "What changed since main (0123456789) in generated code: mlu, maca\n"
        "  mlu: SDK 1\n"
        "  maca: SDK 1\n"
        "\n"
        "schema  ops/a.yaml: Add.params[1] changed\n"
        "  at     frameworks/f/ops/a.yaml:7\n"
        "  was    T &\n"
        "  is     T\n"
        "  means  signature changed: Add: T Add(T &) -> T Add(T); file added: new.txt\n"
        "  5 hunks (2 different) in 5 files of mlu, maca\n"
        "  @@ mlu/src/x/f0.cc:5\n"
        "  @@ mlu/src/x/f1.cc:5\n"
        "  @@ maca/src/x/f0.cc:5\n"
        "  @@ maca/src/x/f1.cc:5\n"
        "   int a1;\n"
        "   int a2;\n"
        "   int a3;\n"
        "  -int a4;\n"
        "  +int b0;\n"
        "   int a5;\n"
        "   int a6;\n"
        "   int a7;\n"
        "  @@ mlu/new.txt:1\n"
        "     (one of several causes, or all of them)\n"
        "  +b\n"
        "\n"
        "template  src/a.cc.j2 changed\n"
        "  at     src/a.cc.j2:3\n"
        "  means  file added: new.txt\n"
        "  1 hunk in 1 file of mlu\n"
        "  @@ mlu/new.txt:1  see above: ops/a.yaml: Add.params[1]\n"
        "\n"
        "1 more change of the input, with no effect here\n"
        "  schema  ops/a.yaml: Add.doc changed\n"
        "\n"
        "files  A created, M changed\n"
        "  M mlu/src/x/f0.cc  +1 -1\n"
        "  M mlu/src/x/f1.cc  +1 -1\n"
        "  A mlu/new.txt  +1 -0\n"
        "  M maca/src/x/f0.cc  +1 -1\n"
        "  M maca/src/x/f1.cc  +1 -1\n"
        "\n"
        "1 created, 4 changed; 10 the same; +5 -4 lines in 5 hunks, 2 of them different"
    )
    coloured = tree_diff_text(diff, TreeLook(color=True))
    assert "\x1b[31m  -int a4;\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == tree_diff_text(diff, TreeLook())


def whole() -> TreeDiff:
    """A vendor that was not there, beside one that changes."""
    builder = Builder()
    nothing = Suspect("unknown", "nothing is generated in generated/maca yet", "added")
    for number in range(3):
        builder.file("maca", f"f{number}.cc", "created", "f.cc.j2", (None, "int a;\n"), lambda *_: ([nothing], "exact"))
    builder.file("mlu", "f.cc", "changed", "f.cc.j2", ("int a;\n", "int b;\n"), lambda *_: ([NODE], "exact"))
    return builder.finish("disk", None)


def test_a_vendor_that_is_new_is_one_line_until_all_is_asked_for() -> None:
    text = tree_diff_text(whole(), TreeLook())
    assert text.endswith(
        "tree  nothing is generated in generated/maca yet\n"
        "  means  all of it: there is nothing to compare it with\n"
        "  3 hunks (1 different) in 3 files of maca\n"
        "\n"
        "files  A created, M changed\n"
        "  A maca/  3 files, +3 -0: --all lists them\n"
        "  M mlu/f.cc  +1 -1\n"
        "\n"
        "3 created, 1 changed; 0 the same; +4 -1 lines in 4 hunks, 2 of them different"
    )
    everything = tree_diff_text(whole(), TreeLook(everything=True))
    assert "  @@ maca/f0.cc:1\n  @@ maca/f1.cc:1\n  @@ maca/f2.cc:1\n  +int a;\n" in everything
    assert "  A maca/f0.cc  +1 -0\n" in everything
    markdown = tree_diff_markdown(whole())
    assert "| tree | `nothing is generated in generated/maca yet` | all of it: " in markdown
    assert "+int a;" not in markdown
    assert "| created | `maca/` 3 files | +3 -0 |" in markdown


def test_a_hunk_of_several_causes_is_shown_once_in_markdown_too() -> None:
    text = tree_diff_markdown(made())
    assert text.count("```diff\n+b\n```") == 1
    assert text.count("<details><summary>src/a.cc.j2 changed</summary>") == 0  # all that it has was shown


@pytest.mark.parametrize(
    ("status", "change", "words"),
    [
        ("edited", "changed", "not known: fl-gen does not model what a person wrote"),
        ("created", "removed", "a regenerate makes it again"),
    ],
)
def test_what_a_person_did_is_said_in_words(status: Status, change: str, words: str) -> None:
    builder = Builder()
    edit = Suspect("hand-edit", "generated/mlu/f.cc", change)
    old = "int a;\n" if status == "edited" else None
    builder.file("mlu", "f.cc", status, "f.cc.j2", (old, "int b;\n"), lambda *_: ([edit], "exact"))
    text = tree_diff_text(builder.finish("disk", None), TreeLook())
    assert f"hand edit  generated/mlu/f.cc {change}\n  means  {words}\n" in text


@pytest.mark.parametrize(
    ("sort", "effect", "sides", "words"),
    [
        ("type", "type changed", ("cnrtMemPool_t", None), "type changed: it: cnrtMemPool_t -> none"),
        ("constant", "constant changed", (None, "kNew"), "constant changed: it: none -> kNew"),
        ("call", "call removed", ("f(x)", None), "call removed: it: f(x)"),
    ],
)
def test_what_one_side_alone_has(sort: str, effect: Effect, sides: tuple[str | None, str | None], words: str) -> None:
    builder = Builder()
    builder.events("mlu", {NODE: [Event((sort, "it"), effect, *sides)]})
    assert f"  means  {words}\n" in tree_diff_text(builder.finish("disk", None), TreeLook())


def test_the_head_of_a_hunk_on_the_page_shows_what_changed() -> None:
    builder = Builder()
    long = "std::shared_ptr<Tensor> AddForward(const std::shared_ptr<Tensor> &a, const std::shared_ptr<Tensor> &{});\n"
    texts = (long.format("b"), long.format("other"))
    builder.file("mlu", "k.h", "changed", "k.h.j2", texts, lambda *_: ([NODE], "exact"))
    head = "- …tr&lt;Tensor&gt; AddForward(const std::shared_ptr&lt;Tensor&gt; &amp;a, const std::shared_ptr&lt;Tensor&gt; &amp;b);</code>"
    assert head in tree_diff_html(builder.finish("disk", None))


def test_markdown_is_safe_and_bounded() -> None:
    text = tree_diff_markdown(made())
    assert "| schema | `ops/a.yaml: Add.params[1]` changed<br>`T & -> T` | signature changed: " in text
    assert "```diff\n int a1;\n int a2;\n int a3;\n-int a4;\n+int b0;\n" in text
    evil = tree_diff_markdown(made(1, EVIL))
    assert "\x1b" not in evil
    assert "\u202e" not in evil
    assert "````diff" in evil  # a fence that the text cannot close
    for big in (made(400), made(2, "b", 4000), made(3, "w" * 5000, 50)):
        assert len(tree_diff_markdown(big)) <= LIMIT
    assert len(tree_diff_markdown(made(0))) < 3000


def test_json_is_as_its_schema_says() -> None:
    schema = json.loads(report_schema_text("tree-diff"))
    for diff in (made(), made(1, EVIL), made(1, "\udcff")):
        jsonschema.validate(json.loads(tree_diff_json(diff)), schema)
        tree_diff_json(diff).encode("utf-8")


def test_the_page_is_well_formed_and_text_is_text() -> None:
    read(tree_diff_html(made()))
    text = tree_diff_html(made(1, EVIL))
    reader = read(text)
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert "\x1b" not in text
    assert "\u202e" not in text
    links = [attributes["href"] for tag, attributes in reader.elements if tag == "a"]
    names = {attributes.get("id") for _, attributes in reader.elements}
    assert links
    assert {str(link)[1:] for link in links} <= names
    assert "http" not in re.sub(r"http-equiv", "", text)
    big = tree_diff_html(made(2, "b", 30_000))
    assert "more lines: the forms text and json hold them" in big
    assert len(big) < 12_000_000


def test_the_page_does_not_print_the_files_of_a_vendor_that_is_new() -> None:
    text = tree_diff_html(whole())
    read(text)
    assert "- int a;</code>" in text
    assert text.count("int a;") == 1  # of the other vendor alone
    assert text.count("the whole file is created: the forms text (with --all) and json hold it") == 3
    assert "<details><summary>maca/</summary>" in text  # shut
    assert "<details open><summary>mlu/</summary>" in text


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")  # no part of the test set-up: it is big, and the page is whole without it
    text = tree_diff_html(made())
    act = (
        "const seen = (what) => [...document.querySelectorAll(what)].filter((one) => one.getClientRects().length).length;"
        "const box = document.getElementById('search');"
        "const type = (word) => { box.value = word; box.dispatchEvent(new Event('input')); };"
        "const tick = (kind, value) => document.querySelector(`input[data-kind=${kind}][value='${value}']`).click();"
        "const out = [seen('.file'), seen('.hunk .u'), seen('.hunk .s')];"
        "document.getElementById('split').click(); out.push(seen('.hunk .u'), seen('.hunk .s'));"
        "type('F1 b0'); out.push(seen('.file'), seen('.tree a')); type('');"
        "tick('vendor', 'maca'); out.push(seen('.file')); tick('cause', '0'); out.push(seen('.file'), seen('.cause'));"
        "out.push(document.getElementById('count').textContent);"
        "document.title = out.join('|');"
    )
    digest = base64.b64encode(hashlib.sha256(act.encode()).digest()).decode()
    acted = text.replace("; base-uri", f" 'sha256-{digest}'; base-uri", 1).replace(
        "</body>", f"<script>{act}</script></body>"
    )
    still = re.sub("script-src .*?; base-uri", "script-src 'none'; base-uri", text, count=1)

    def shown(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        run = subprocess.run(
            [str(chromium), *BROWSER_FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / name}"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return run.stdout

    match = re.search(r"<title>(.*?)</title>", shown("acted.html", acted))
    assert match is not None
    # files and hunks, unified first, then side by side; a search; without maca; without the first cause.
    assert match[1] == "5|5|0|0|5|2|2|3|1|2|1 of 5 files"
    quiet = shown("still.html", still)
    assert '<html lang="en">' in quiet
    assert "hidden" not in re.sub(r"<(style|script)>.*?</\1>", "", quiet, flags=re.DOTALL)
