"""The three-way merge by lines, by example and against `git merge-file` on random texts."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl_gen.output.merge3 import lines_of, matches, merge3

ROUNDS = 3000 if os.environ.get("FL_GEN_TORTURE") else 150


def test_changes_in_different_places_merge() -> None:
    merged = merge3("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\nmine\n", "a\nb\nC\nC2\nd\ne\n")
    assert (merged.text, merged.conflicts) == ("A\nb\nC\nC2\nd\ne\nmine\n", 0)


def test_a_conflict_has_markers_with_labels_and_is_counted() -> None:
    merged = merge3(
        "a\nb\nc\nd\n1\n2\n3\n4\nx\n", "a\nmine\nc\nd\n1\n2\n3\n4\ny\n", "a\nnew\nc\nd\n1\n2\n3\n4\nz\n", ("M", "N")
    )
    assert merged.conflicts == 2
    assert merged.text == (
        "a\n<<<<<<< M\nmine\n=======\nnew\n>>>>>>> N\nc\nd\n1\n2\n3\n4\n<<<<<<< M\ny\n=======\nz\n>>>>>>> N\n"
    )


def test_touching_changes_are_a_conflict() -> None:
    assert merge3("a\nb\n", "A\nb\n", "a\nB\n").conflicts == 1


@pytest.mark.parametrize(
    ("base", "yours", "theirs", "text"),
    [
        ("a\nb\n", "A\nb\n", "A\nb\n", "A\nb\n"),  # the same change on both sides
        ("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n", "x\na\nb\nc\ny\n"),
        ("a\nb\nc\n", "a\nb\nc", "A\nb\nc\n", "A\nb\nc"),  # no newline at the end: that stays
        ("a\nb\nc\n", "", "a\nb\nc\n", ""),
        ("", "mine\n", "", "mine\n"),
        ("a\nb\nc\n", "a\nb\nC\n", "a\nb\nc\n", "a\nb\nC\n"),
        ("a\nb\nc\n", "a\nb\nc\n", "", ""),
        ("a\nb\nc\nd\n", "a\x0cx\nb\nc\nd\n", "a\nb\nc\nD\x85\n", "a\x0cx\nb\nc\nD\x85\n"),
    ],
)
def test_clean_merges(base: str, yours: str, theirs: str, text: str) -> None:
    assert merge3(base, yours, theirs) == merge3(base, yours, theirs).__class__(text, 0)


def test_crlf_stays() -> None:
    merged = merge3("a\nb\nc\nd\n", "A\r\nb\r\nc\r\nd\r\n", "a\nb\nc\nD\nE\n")
    assert (merged.text, merged.conflicts) == ("A\r\nb\r\nc\r\nD\r\nE\r\n", 0)
    conflict = merge3("a\nb\n", "A\r\nb\r\n", "X\nb\n", ("m", "n"))
    assert conflict.text == "<<<<<<< m\r\nA\r\n=======\r\nX\r\n>>>>>>> n\r\nb\r\n"


def test_a_single_line_with_crlf_is_an_edit_like_any_other() -> None:
    assert merge3("a\nb\nc\n", "a\r\nb\nc\n", "a\nb\nC\n").text == "a\r\nb\nC\n"


def test_without_a_base_every_difference_is_a_conflict() -> None:
    merged = merge3(None, "a\nmine\nz\n", "a\nnew\nz\n", ("m", "n"))
    assert (merged.text, merged.conflicts) == ("a\n<<<<<<< m\nmine\n=======\nnew\n>>>>>>> n\nz\n", 1)
    assert merge3(None, "a\n", "a\n").conflicts == 0


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n", "\n", "d\n"]), max_size=14)


@settings(max_examples=ROUNDS, deadline=None)
@given(LINES, LINES, LINES)
def test_every_line_is_from_somewhere_and_none_of_yours_is_lost(
    base: list[str], yours: list[str], theirs: list[str]
) -> None:
    """Resolved for you, the result holds each line that you added to the base, in its order."""
    merged = merge3("".join(base), "".join(yours), "".join(theirs), ("m", "n"))
    mine = resolved(merged.text, 0)
    pairs = matches(base, yours)
    kept = {new for _, new in pairs}
    added = [line for index, line in enumerate(yours) if index not in kept]
    rest = iter(lines_of(mine))
    assert all(line in rest for line in added)
    assert (merged.conflicts > 0) == ("<<<<<<<" in merged.text)
    assert set(lines_of(mine)) <= {*base, *yours, *theirs}


@settings(max_examples=ROUNDS, deadline=None)
@given(LINES, LINES)
def test_matches_are_equal_lines_in_order(old: list[str], new: list[str]) -> None:
    pairs = matches(old, new)
    assert all(old[a] == new[b] for a, b in pairs)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in itertools.pairwise(pairs))
    assert matches(old, old) == [(n, n) for n in range(len(old))]


def resolved(text: str, side: int) -> str:
    """`text` with each conflict replaced by one of its sides: 0 for yours, 1 for theirs."""
    out, state = [], None
    for line in lines_of(text):
        if line.startswith("<<<<<<< "):
            state = 0
        elif line == "=======\n" and state == 0:
            state = 1
        elif line.startswith(">>>>>>> "):
            state = None
        elif state in (None, side):
            out.append(line)
    return "".join(out)


def edited(base: list[str], tag: str, choice: random.Random) -> list[str]:
    """A copy with some lines replaced, removed and added; what is new is there once."""
    out: list[str] = []
    for number, line in enumerate(base):
        kind = choice.random()
        if kind < 0.06:
            out.append(f"{tag} replaced {number}\n")
        elif kind < 0.1:
            continue
        elif kind < 0.14:
            out += [line, *(f"{tag} added {number}.{n}\n" for n in range(choice.randint(1, 3)))]
        else:
            out.append(line)
    if out and choice.random() < 0.2:
        out[-1] = out[-1].rstrip("\n")
    return out


def git_merge(folder: Path, texts: tuple[str, str, str], *options: str) -> tuple[int, str]:
    for name, text in zip(("yours", "base", "theirs"), texts, strict=True):
        (folder / name).write_bytes(text.encode())
    command = ["git", "merge-file", "-p", "-q", *options, "-L", "m", "-L", "b", "-L", "n", "yours", "base", "theirs"]
    result = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert result.returncode >= 0, result.stderr
    return result.returncode, result.stdout.decode()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_as_git_merges(tmp_path: Path) -> None:
    """Clean where git is clean, with the same text; and where not, equal when all is resolved for one side."""
    clean = conflicts = 0
    for seed in range(ROUNDS):
        choice = random.Random(seed)
        base = [f"line {n}\n" for n in range(choice.randint(0, 40))]
        yours, theirs = edited(base, "mine", choice), edited(base, "new", choice)
        texts = ("".join(yours), "".join(base), "".join(theirs))
        merged = merge3(texts[1], texts[0], texts[2], ("m", "n"))
        code, text = git_merge(tmp_path, texts)
        assert (merged.conflicts == 0) == (code == 0), seed
        if code == 0:
            assert merged.text == text, seed
            clean += 1
            continue
        conflicts += 1
        for side, option in enumerate(("--ours", "--theirs")):
            # A side that ends without a newline gets one before its marker, in git as here.
            assert resolved(merged.text, side).rstrip("\n") == git_merge(tmp_path, texts, option)[1].rstrip("\n"), seed
    assert clean > ROUNDS / 10
    assert conflicts > ROUNDS / 10


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_repeated_lines_merge_as_safely_as_in_git(tmp_path: Path) -> None:
    """With repeated lines there are several right alignments; a merge that one side does not touch is equal in all."""
    for seed in range(ROUNDS // 3):
        choice = random.Random(seed)
        base = [choice.choice(["{\n", "}\n", "\n", f"x{n}\n"]) for n in range(30)]
        first, second = base[:12], base[18:]
        yours = [*edited(first, "mine", choice), *base[12:18], *(line for line in second)]
        middle = [f"fixed {n}\n" for n in range(4)]
        theirs = [*first, *middle, *edited(second, "new", choice)]
        texts = ("".join(yours), "".join(base), "".join(theirs))
        merged = merge3(texts[1], texts[0], texts[2], ("m", "n"))
        code, text = git_merge(tmp_path, texts)
        if code == 0 and merged.conflicts == 0:
            assert sorted(lines_of(merged.text)) == sorted(lines_of(text)), seed


@pytest.mark.parametrize("kind", ["nothing in common", "one line repeated", "reversed"])
def test_hostile_texts_take_no_time(kind: str) -> None:
    count = 6000
    base = [f"{n}\n" for n in range(count)]
    yours = {
        "nothing in common": [f"m{n}\n" for n in range(count)],
        "one line repeated": ["}\n"] * count,
        "reversed": base[::-1],
    }[kind]
    began = time.monotonic()
    merge3("".join(base if kind != "one line repeated" else ["}\n", "{\n"] * (count // 2)), "".join(yours), "new\n")
    assert time.monotonic() - began < 5
