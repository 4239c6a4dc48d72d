"""A person's template may use up neither time nor memory without end, and prints the same in each run."""

from __future__ import annotations

import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from fl_gen.render import limits
from fl_gen.render.environment import FileRender, TemplateError, build, render_file

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux alone")


def render(folder: Path, text: str) -> str:
    (folder / "a.j2").write_text(text)
    return render_file(build((folder,), None), FileRender("a.j2", "a"))


@pytest.mark.parametrize(
    "text",
    [
        "first\n{% for i in range(99999) %}{% for j in range(99999) %}\n{% endfor %}{% endfor %}",
        "first\n{% for i in range(99999) %}{% for j in range(99999) %}{% if i == j and j == -1 %}x{% endif %}{% endfor %}"
        "{% endfor %}",
    ],
)
def test_a_loop_that_takes_too_long_is_stopped(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.3)
    before = resource.getrlimit(resource.RLIMIT_AS)
    began = time.process_time()
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, text)
    assert time.process_time() - began < 3
    assert str(caught.value) == f"{tmp_path}/a.j2:2: the template takes longer than 4 seconds"
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@LINUX
@pytest.mark.parametrize(
    "text",
    [
        '{{ "%10000000000d" % 5 }}',
        '{{ "{:>10000000000}".format(1) }}',
        '{{ "x"|center(10000000000) }}',
        '{{ [1]|batch(9999999999, "x")|list|length }}',
        '{% set n = namespace(a="x" * 1000) %}{% for i in range(40) %}{% set n.a = n.a + n.a %}{% endfor %}{{ n.a }}',
        '{{ (range(99999)|join(","))|replace("1", "x" * 99999)|length }}',
    ],
)
def test_what_needs_too_much_memory_is_stopped(tmp_path: Path, text: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, text)
    assert str(caught.value) == f"{tmp_path}/a.j2:1: the template needs too much memory"
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_file_of_endless_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, '{% for i in range(20) %}{{ "x" * 1000000 }}{% endfor %}')
    assert str(caught.value) == "a.j2: makes more than 16 MiB of text, too much for a source file"


@pytest.mark.parametrize("text", ["{{ range }}", "{% macro m() %}{% endmacro %}{{ cycler('a') }}"])
def test_an_object_is_no_text(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        TemplateError, match=r"^a\.j2: prints an object and its place in memory, .* \(line 1: <.* at 0x"
    ):
        render(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{{ [1, 2]|random }}", "No filter named 'random'."), ("{{ lipsum() }}", "'lipsum' is undefined")],
)
def test_nothing_is_left_to_chance(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(tmp_path, text)
    assert str(caught.value) == f"{tmp_path}/a.j2:1: {message}"


def test_a_usual_template_is_not_hindered(tmp_path: Path) -> None:
    assert render(tmp_path, "{% for i in range(3) %}{{ i }} < {{ 'at 0x' }}1234567\n{% endfor %}").count("\n") == 3
