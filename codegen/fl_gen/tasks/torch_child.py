"""Runs a program of `torch_runs` in the Python that has PyTorch and the generated package."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_gen.schema.errors import FlGenError, one_line, quote
from fl_gen.schema.paths import shown

_TAIL = 16 << 10  # bytes of what a program says on its error stream that are kept
_RESULT = 256 << 20  # bytes of a result; a layer call takes some hundred
_PROGRAMS = Path(__file__).parent / "torch_runs"
# The programs are a package of their own there: nothing of fl-gen comes into the module path of the user's program.
_START = """
import faulthandler, importlib.util, json, sys
faulthandler.enable()
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


def package_of(device: str) -> str:
    """The package to import for a device, empty for the CPU. Raises TorchRunError for what is no name of a device."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", device):
        raise TorchRunError(f"--device {quote(device)}: that is no device\n  = give a vendor's name, as mlu, or cpu")
    return "" if device == "cpu" else f"torch_{device}"


def run_program(python: str, program: str, task: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What `program` tells of `task`.

    Raises TorchRunError for a crash, for no end within `seconds`, and for the message of a task that cannot be done.
    """
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        result = folder / "result.json"
        command = [python, "-c", _START, str(_PROGRAMS), program, str(folder / "task.json"), str(result)]
        code, errors = _run(command, seconds)
        told = _result(result) if code == 0 else None
        if told is None:
            raise TorchRunError(_crash(python, str(task.get("model") or ""), code, errors))
    if "error" in told:
        raise TorchRunError(str(told["error"]))
    return told


def _run(command: list[str], seconds: float) -> tuple[int, str]:
    """The exit code of `command`, and the end of what it says on its error stream.

    It gets a session of its own, all of which is ended afterwards: a model may start processes that live on.
    """
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise TorchRunError(f"{command[0]}: {error.strerror or error}\n  = name a Python with --python") from None
    tail = bytearray()

    def read() -> None:
        assert child.stderr is not None
        with child.stderr as stream:
            while part := os.read(stream.fileno(), _TAIL):
                tail.extend(part)
                del tail[:-_TAIL]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code = child.wait(seconds)
    except subprocess.TimeoutExpired:
        raise TorchRunError(
            f"{command[0]}: no end within {seconds:g} s\n  = give it more time with --timeout, or a smaller model"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        reader.join(1.0)  # what left the session may hold the stream open
    return code, bytes(tail).decode("utf-8", "replace")


def _result(path: Path) -> dict[str, Any] | None:
    """What a program wrote, None when there is none or it is spoilt: the model runs in the same process."""
    try:
        if path.stat().st_size > _RESULT:
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("error", ""), str) else None


def spoilt(model: str) -> TorchRunError:
    """For a result that has not the form that the program gives it."""
    return TorchRunError(
        f"{model}: the result of the run was spoilt\n  = the model, or a library of it, writes into files of others"
    )


def _crash(python: str, model: str, code: int, errors: str) -> str:
    if "No module named 'torch'" in errors:
        return f"{shown(python)}: this Python has no PyTorch\n  = name one that has it with --python"
    who = shown(model) if model else shown(python)
    if code < 0:
        # The innermost frame of the user's file in what faulthandler prints.
        frame = re.search(rf'File "{re.escape(model)}", line (\d+) in (\w+)', errors) if model else None
        place = f":{frame.group(1)}: in {frame.group(2)}()" if frame is not None else ""
        name = signal.Signals(-code).name if -code in {int(one) for one in signal.Signals} else f"signal {-code}"
        return (
            f"{who}{place}: the process died of {name}\n  = run it alone on the device: what crashes here crashes there"
        )
    words = next((line for line in reversed(errors.splitlines()) if line.strip() and not line.startswith(" ")), "")
    said = f": {one_line(words[:300])}" if words else ""
    return (
        f"{who}: the process ended with exit code {code} and no result{said}\n"
        "  = leave out what ends a process (os._exit) or writes into files of others, and run it alone"
    )
