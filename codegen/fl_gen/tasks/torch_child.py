"""Runs a program of `torch_runs` in the Python that has PyTorch and the generated package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_gen.schema.errors import FlGenError, printable
from fl_gen.schema.paths import shown

_PROGRAMS = Path(__file__).parent / "torch_runs"
# The programs are a package of their own there: nothing of fl-gen comes into the module path of the user's program.
_START = """
import importlib.util, json, sys
folder, program, task, result = sys.argv[1:5]
start = folder + "/__init__.py"
spec = importlib.util.spec_from_file_location("fl_gen_torch_runs", start, submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = package
spec.loader.exec_module(package)
import importlib
module = importlib.import_module("fl_gen_torch_runs." + program)
with open(task, encoding="utf-8") as stream:
    given = json.load(stream)
told = module.main(given)
with open(result, "w", encoding="utf-8") as stream:
    json.dump(told, stream, allow_nan=False)
"""


class TorchRunError(FlGenError):
    """The program in the other Python could not do its work."""


def find_python(given: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The Python to run: `given`, else that of the active virtual environment, else this one.

    Raises TorchRunError when `given` is none.
    """
    environ = os.environ if environ is None else environ
    if given is not None:
        found = shutil.which(given)
        if found is None:
            raise TorchRunError(
                f"--python {given}: no such program\n  = name a Python that has PyTorch and the generated package"
            )
        return found
    environment = environ.get("VIRTUAL_ENV")
    if environment and os.access(Path(environment) / "bin" / "python", os.X_OK):
        return str(Path(environment) / "bin" / "python")
    return sys.executable


def run_program(python: str, program: str, task: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What `program` tells of `task`.

    Raises TorchRunError for a crash, for no end within `seconds`, and for the message of a task that cannot be done.
    """
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        result = folder / "result.json"
        command = [python, "-c", _START, str(_PROGRAMS), program, str(folder / "task.json"), str(result)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise TorchRunError(
                f"{python}: no end within {seconds:g} s\n  = give it more time with --timeout, or a smaller model"
            ) from None
        except OSError as error:
            raise TorchRunError(f"{python}: {error.strerror or error}\n  = name a Python with --python") from None
        if done.returncode != 0 or not result.is_file():
            raise TorchRunError(_crash(python, program, done.returncode, done.stderr.decode("utf-8", "replace")))
        told: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    if "error" in told:
        raise TorchRunError(str(told["error"]))
    return told


def _crash(python: str, program: str, code: int, errors: str) -> str:
    if "No module named 'torch'" in errors:
        return f"{shown(python)}: this Python has no PyTorch\n  = name one that has it with --python"
    end = f"died of signal {-code}" if code < 0 else f"ended with exit code {code}"
    tail = "\n".join(f"  {printable(line)}" for line in errors.rstrip().splitlines()[-12:])
    return (
        f"{shown(python)}: {program} {end}"
        + (f"; its last words:\n{tail}" if tail else "")
        + ("\n  = run the model alone on the device first: what crashes here crashes there")
    )
