"""Publishes one small tree over another, once per point at which it is killed or a call fails; prints what it found.

Runs with kill_points.c preloaded. Arguments: a scratch folder, how many points to try (0: all), the error (0: a kill).
The trees are published by `generate`, and those of several vendors by `publish_rendered`; only the rendering is
replaced: lock, recovery, comparison, once-files and all else are the real ones.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fl_gen.output.manifest import MANIFEST_NAME, FileRecord, Manifest, digest
from fl_gen.output.policy import Policy
from fl_gen.output.transaction import JOURNAL, held
from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.regen import publish_rendered
from fl_gen.workflow import generate as workflow
from fl_gen.workflow.request import Request

COMMON = {"same.h": "same\n" * 40, "src/same.cc": "same\n"}
OLD = {**COMMON, "src/a.cc": "old\n" * 2000, "gone/b.cc": "stale\n", "x.bash": "old\n", "edited.h": "1\n2\n3\n4\n"}
NEW = {**COMMON, "src/a.cc": "new\n" * 2000, "new/deep/c.cc": "new\n", "x.bash": "new\n", "edited.h": "1\n2\n3\nfour\n"}
ONCE = {"kernels.yaml": "once\n", "kernels/k.cc": "once\n"}
PROJECT = ("ascend", "maca", "mlu")
shim = ctypes.CDLL(None)


def records_of(files: dict[str, str]) -> dict[str, FileRecord]:
    return {path: FileRecord(digest(text), f"{path}.j2") for path, text in files.items()}


def prepared(files: dict[str, str]) -> Any:
    manifest = Manifest("0", "mlu", "infinitrain", {}, {}, records_of(files))
    return SimpleNamespace(files={**files, MANIFEST_NAME: manifest.to_text()}, once=ONCE, manifest=manifest)


def run(root: Path, files: dict[str, str], policy: Policy = Policy.MERGE) -> None:
    workflow.prepare = lambda request: prepared(files)
    workflow.generate(Request("mlu", output=root), policy)


def snapshot(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = f"{path.stat().st_mode & 0o777:o} {digest(path.read_bytes().decode('latin-1'))}"
        else:
            found[name] = "folder"
    return found


def in_child(
    root: Path, files: dict[str, str], at: int, error: int, count: Path, work: Callable[..., None] = run
) -> int:
    """One run in a fork, with point `at` armed. Its status as of waitpid; it exits with 7 where fl-gen said what is wrong."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            shim.fl_arm(ctypes.c_long(at), error)
            try:
                work(root, files)
                code = 0
            except FlGenError as told:
                code = 7
                shim.fl_arm(ctypes.c_long(-1), 0)
                (count.parent / "told").write_text(str(told))
            calls = shim.fl_calls()
            shim.fl_arm(ctypes.c_long(-1), 0)
            count.write_text(str(calls))
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1]


def restore(source: Path, root: Path) -> None:
    if root.exists():
        shutil.rmtree(root)
    if source.exists():
        shutil.copytree(source, root, symlinks=True)
    else:
        root.mkdir()


def run_project(root: Path, files: dict[str, str]) -> None:
    """All vendors at once, as `fl-gen regen` publishes them."""
    made = []
    for vendor in PROJECT:
        manifest = Manifest("0", vendor, "infinitrain", {}, {}, records_of(files))
        texts = {**files, MANIFEST_NAME: manifest.to_text()}
        made.append(SimpleNamespace(request=Request(vendor, output=root), files=texts, once=ONCE))
    publish_rendered(made, Policy.MERGE)


def undo(root: Path, files: dict[str, str]) -> None:
    """What the next command does before its own work."""
    with held(root):
        pass


def trees(root: Path) -> dict[str, str]:
    """All vendors, without what stands beside them while they are swapped."""
    found = snapshot(root / "generated")
    return {path: text for path, text in found.items() if not path.startswith(".")}


def try_project(scratch: Path, wanted: int, error: int, report: dict[str, Any]) -> None:
    """A kill or a failure while the trees of several vendors are published: all old or all new, once undone."""
    count, root, start = scratch / "calls", scratch / "w", scratch / "project"
    run_project(start, OLD)
    shutil.rmtree(start / "generated" / PROJECT[0])  # one vendor is new
    (start / "generated" / PROJECT[1] / "note").write_text("mine")
    shutil.rmtree(start / "backends")
    restore(start, root)
    old = trees(root)
    assert in_child(root, NEW, -1, 0, count, run_project) == 0
    total, new, whole = int(count.read_text()), trees(root), snapshot(root)
    report["calls of project"] = total
    chosen = range(total) if wanted == 0 else sorted(random.Random(5).sample(range(total), min(wanted, total)))
    for at in chosen:
        restore(start, root)
        status = os.waitstatus_to_exitcode(in_child(root, NEW, at, error, count, run_project))
        state, journal = trees(root), (root / "generated" / JOURNAL).exists()
        report["points"] += 1
        report["told"] += status == 7
        report["mixed"] += state not in (old, new)
        problem = ""
        if state not in (old, new) and not journal:
            problem = f"neither old nor new: {sorted(set(state.items()) ^ set(new.items()))[:4]}"
        elif status != (-9 if error == 0 else status if status in (0, 7) else None):
            problem = f"exit code {status}"
        elif in_child(root, NEW, -1, 0, count, undo) != 0 or trees(root) not in (old, new):
            problem = "undoing leaves neither old nor new"
        elif left := [p.name for p in (root / "generated").iterdir() if p.name.startswith(".")]:
            problem = f"left behind: {left}"
        elif in_child(root, NEW, -1, 0, count, run_project) != 0 or snapshot(root) != whole:
            problem = f"the next run does not mend it: {sorted(set(snapshot(root).items()) ^ set(whole.items()))[:4]}"
        if problem:
            report["problems"].append(f"project, call {at} of {total}: {problem}")


def main() -> None:
    scratch, wanted, error = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    count, root = scratch / "calls", scratch / "w"
    start = scratch / "start"
    run(start, OLD)
    generated = start / "generated" / "mlu"
    (generated / "edited.h").write_text("1\nmine\n2\n3\n4\n")
    (generated / "foreign").mkdir()
    (generated / "foreign" / "note").write_text("mine")
    (generated / "link").symlink_to("/nowhere")
    shutil.rmtree(start / "backends")
    report: dict[str, Any] = {"points": 0, "old": 0, "new": 0, "told": 0, "mixed": 0, "problems": []}
    for name, source in (("update", start), ("first", scratch / "none")):
        restore(source, root)
        old = snapshot(root / "generated" / "mlu")
        assert in_child(root, NEW, -1, 0, count) == 0
        total = int(count.read_text())
        new, whole = snapshot(root / "generated" / "mlu"), snapshot(root)
        report[f"calls of {name}"] = total
        points = range(total)
        share = wanted - wanted // 3 if name == "update" else wanted // 3
        chosen = points if wanted == 0 else sorted(random.Random(4).sample(points, min(share, total)))
        for at in chosen:
            restore(source, root)
            status = in_child(root, NEW, at, error, count)
            state = snapshot(root / "generated" / "mlu")
            report["points"] += 1
            report["old"] += state == old
            report["new"] += state == new
            told = os.waitstatus_to_exitcode(status)
            report["told"] += told == 7
            problem = ""
            if state not in (old, new):
                problem = f"neither old nor new: {sorted(set(state.items()) ^ set(new.items()))[:4]}"
            elif error == 0 and told != -9:
                problem = f"was not killed: {told}"
            elif error and told not in (0, 7):
                problem = f"exit code {told}"
            elif (
                error
                and told == 7
                and state == new
                and new != old
                and "in its place" not in (scratch / "told").read_text()
                and "backends" not in (scratch / "told").read_text()
            ):
                problem = f"said that nothing was written: {(scratch / 'told').read_text()}"
            elif in_child(root, NEW, -1, 0, count) != 0 or snapshot(root) != whole:
                problem = (
                    f"the next run does not mend it: {sorted(set(snapshot(root).items()) ^ set(whole.items()))[:4]}"
                )
            if problem:
                report["problems"].append(f"{name}, call {at} of {total}: {problem}")
    try_project(scratch, wanted and wanted // 2, error, report)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
