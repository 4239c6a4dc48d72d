"""Runs the `fl-gen` command of this checkout as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .building import ROOT, environment, run


def fl_gen(
    *arguments: str | os.PathLike[str], cwd: Path, user: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`fl-gen ARGUMENTS` in `cwd`, as `user` (a uid) if given. The vendor's environment variables are not set."""
    env = environment(PYTHONPATH=str(ROOT / "codegen"), **variables)
    for name in ("NEUWARE_HOME", "MACA_PATH"):
        if name not in variables:
            env.pop(name, None)
    command: list[str | os.PathLike[str]] = [sys.executable, "-m", "fl_gen", *arguments]
    if user is not None:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]
    return run(command, cwd=cwd, env=env, timeout=120)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` with its bytes, and every empty folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = b"-> " + os.fsencode(os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
        elif not any(path.iterdir()):
            found[str(path.relative_to(folder)) + "/"] = b""
    return found
