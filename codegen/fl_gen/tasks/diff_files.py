"""Compares generated files in memory: which change, by how many lines, and the unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from fl_gen.tasks.diff_values import FileChange


def compare_files(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[FileChange, ...]:
    """The files that differ, by path, with the lines that come and go."""
    found = []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        added, removed = _counts((before or "").splitlines(), (after or "").splitlines())
        change = "appeared" if before is None else "vanished" if after is None else "changed"
        found.append(FileChange(path, change, added, removed))  # type: ignore[arg-type]
    return tuple(found)


def _counts(old: list[str], new: list[str]) -> tuple[int, int]:
    """Lines that come and lines that go."""
    added = removed = 0
    for tag, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            added += new_end - new_start
            removed += old_end - old_start
    return added, removed


def unified(old: Mapping[str, str], new: Mapping[str, str], root: str) -> str:
    """A patch that `patch -p1` takes, of the files that differ; `root` is the folder that the paths are in."""
    parts: list[str] = []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        rows = difflib.unified_diff(
            _lines(before),
            _lines(after),
            f"a/{root}/{path}" if before is not None else "/dev/null",
            f"b/{root}/{path}" if after is not None else "/dev/null",
        )
        for row in rows:
            parts.append(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str | None) -> list[str]:
    return text.splitlines(keepends=True) if text else []


def formatted(files: Mapping[str, str], style: Path, cache: Path | None) -> dict[str, str]:
    """Files as they would be on disk."""
    from fl_gen.render.formatter import format_tree

    return format_tree(files, style.read_text(encoding="utf-8"), cache)
