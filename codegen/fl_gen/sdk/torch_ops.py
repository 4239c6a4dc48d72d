"""PyTorch's operators, from the wheel at hand: torchgen reads them in a child process, and the answer is kept."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fl_gen.schema.errors import FlGenError, cut, one_line
from fl_gen.schema.paths import shown
from fl_gen.sdk.identity import text_digest
from fl_gen.sdk.wheel import Wheel

_PROGRAM = Path(__file__).with_name("read_ops.py")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)\b")
_SECONDS = 120  # torchgen takes one; a machine that is busy beyond that has other problems


class TorchgenError(FlGenError):
    """torchgen is not there, or failed."""


@dataclass(frozen=True)
class Argument:
    """An argument of an operator's schema: its type there, its default as it is written there, if it goes by name."""

    name: str
    type: str
    default: str | None
    by_name: bool


@dataclass(frozen=True)
class TorchOp:
    """One overload of an operator, as `aten::add.Tensor`.

    `cpu` tells whether the CPU has a kernel of it. `composite` is the kernel of PyTorch's own that serves it on every
    device before a backend's fallback is asked, None if there is none. `returns` and `params` (type, name) are the
    exact signature that a kernel must have in C++, `arguments` those of its schema. `root` names its header.
    `devices` is what CUDA asks of the devices of its tensors: that they are one; that they are one, except numbers of
    the host; or nothing. It says "any" of operators that are made of others, which are asked in their turn.
    """

    name: str
    schema: str
    cpu: bool
    composite: Literal["implicit", "explicit", "non_functional"] | None
    structured: bool
    view: bool
    kind: str
    tags: tuple[str, ...]
    returns: str
    params: tuple[tuple[str, str], ...]
    arguments: tuple[Argument, ...]
    root: str
    devices: Literal["one", "iterator", "any"]

    @property
    def base(self) -> str:
        """The name without namespace and overload: add."""
        return self.name.removeprefix("aten::").partition(".")[0]

    @property
    def overload(self) -> str:
        """The name of the overload, empty for the first one."""
        return self.name.partition(".")[2]

    @property
    def short(self) -> str:
        """The name as it is registered in the library `aten`."""
        return self.name.removeprefix("aten::")

    @property
    def identifier(self) -> str:
        """The name as a C++ or Python identifier: add_Tensor."""
        return self.short.replace(".", "_")


def read_ops(wheel: Wheel, cache: Path | None) -> tuple[TorchOp, ...]:
    """Every operator of `wheel`, in the order of its native_functions.yaml. Raises TorchgenError."""
    folder = wheel.site / "torchgen" / "packaged" / "ATen" / "native"
    try:
        asked = [(folder / name).read_text(encoding="utf-8") for name in ("native_functions.yaml", "tags.yaml")]
    except OSError as error:
        raise TorchgenError(
            f"{folder}: this PyTorch has no torchgen beside it: {error.strerror}\n  = install PyTorch from its wheel"
        ) from error
    except UnicodeDecodeError as error:
        raise TorchgenError(
            f"{folder}: its files are no text: byte {error.start} is not UTF-8\n  = install PyTorch from its wheel"
        ) from None
    key = text_digest("\0".join([*asked, wheel.version, _PROGRAM.read_text(encoding="utf-8")]))
    path = cache / f"ops-{key}.json" if cache is not None else None
    text = _load(path)
    found = _decoded(text) if text is not None else None
    if found is None:
        text = _run(wheel)
        found = _decoded(text)
        if found is None:
            raise TorchgenError(
                f"{shown(folder)}: torchgen of PyTorch {wheel.version} gives no list of operators\n"
                "  = is this PyTorch installed whole?"
            )
        _store(path, text)
    return found


def _run(wheel: Wheel) -> str:
    command = [sys.executable, str(_PROGRAM), str(wheel.site)]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TorchgenError(f"torchgen did not answer within {_SECONDS} s: try again") from error
    except OSError as error:
        raise TorchgenError(f"{sys.executable}: cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        words = _words(done.stderr)
        missing = "No module named" in words
        hint = "install that module beside fl-gen" if missing else "is this PyTorch installed whole?"
        raise TorchgenError(f"torchgen of PyTorch {wheel.version} failed: {words}\n  = {hint}")
    return done.stdout


def _words(errors: str) -> str:
    """What an exception says at the end of a traceback, on one line. Its frames are indented, its text is not."""
    lines = errors.strip().splitlines()
    first = next((at for at in reversed(range(len(lines))) if _EXCEPTION.match(lines[at])), len(lines) - 1)
    return one_line(cut(" ".join(" ".join(lines[max(0, first) :]).split()), 300)) or "no message"


def _decoded(text: str) -> tuple[TorchOp, ...] | None:
    """The operators of an answer, None when it is not one."""
    try:
        rows: Iterable[dict[str, Any]] = json.loads(text)
        return tuple(
            TorchOp(
                **{
                    **row,
                    "tags": tuple(row["tags"]),
                    "params": tuple((str(type_), str(name)) for type_, name in row["params"]),
                    "arguments": tuple(Argument(*argument) for argument in row["arguments"]),
                }
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError):
        return None


def _load(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        checksum, _, body = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return body if checksum == text_digest(body) else None


def _store(path: Path | None, text: str) -> None:
    if path is None:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, never the run
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(f"{text_digest(text)}\n{text}", encoding="utf-8")
        os.replace(temporary, path)
