"""Recorded runs, as generated backends write them, from JSON to values. Two forms are read:

`{"schema": 1, "framework": "torch", "vendor": ..., "model": ..., "ops": [{"op", "strategy", "calls", "ns", "h2d_bytes",
"d2h_bytes"}]}` of a PyTorch package (`save_op_stats`, `TORCH_FL_OP_STATS`), which counts every op; and
`{"backend": ..., "mode": ..., "kernels": [{"kernel", "calls", "bytes_to_host", "bytes_to_device", "seconds"}]}` of an
InfiniTrain backend (`INFINI_<V>_FALLBACK_STATISTICS`), which counts fallbacks alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fl_gen.schema.errors import FlGenError, quote
from fl_gen.schema.paths import shown
from fl_gen.tasks.coverage_values import Amounts, OpRecord, RecordedRun

_LIMIT = 64 << 20  # bytes of a file; a run of a thousand ops has a hundred thousand
FALLBACK = "fallback"


class RecordError(FlGenError):
    """A file that is no recorded run."""


def read_run(path: Path) -> RecordedRun:
    """The run in `path`. Raises RecordError, with the place, for anything that a backend does not write."""
    data = load_json(path, "a recorded run")
    name = shown(path)
    if isinstance(data, dict) and "ops" in data:
        return _torch_run(data, name)
    if isinstance(data, dict) and "kernels" in data:
        return _infinitrain_run(data, name, path.stem)
    raise RecordError(
        f"{name}:1:1: this is no recorded run: it has neither ops nor kernels\n"
        "  = give what TORCH_FL_OP_STATS or INFINI_<VENDOR>_FALLBACK_STATISTICS made a backend write"
    )


def load_json(path: Path, what: str) -> Any:
    """The JSON in `path`. Raises RecordError for a file that cannot be read, is too big, or is not JSON."""
    name = shown(path)
    try:
        with path.open("rb") as stream:
            text = stream.read(_LIMIT + 1)
    except OSError as error:
        raise RecordError(f"{name}: {error.strerror or error}\n  = give the file of {what}") from None
    if len(text) > _LIMIT:
        raise RecordError(f"{name}: more than {_LIMIT >> 20} MB, which {what} never has\n  = give another file")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{name}:{error.lineno}:{error.colno}: {error.msg}\n"
            f"  = {what} is JSON; was the program that wrote it stopped?"
        ) from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name}:1:1: {str(error)[:120]}\n  = {what} is JSON in UTF-8") from None


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _torch_run(data: Mapping[str, Any], name: str) -> RecordedRun:
    if data.get("schema") != 1:
        raise RecordError(
            f"{name}:1:1: schema {quote(str(data.get('schema')))}: this fl-gen reads recorded runs of schema 1\n"
            "  = use the fl-gen that generated the backend, or generate it again"
        )
    ops = []
    for index, entry in enumerate(_entries(data, "ops", name)):
        where = f"ops[{index}]"
        amounts = Amounts(
            _count(entry, "calls", name, where),
            _count(entry, "ns", name, where) * 1e-9,
            _count(entry, "h2d_bytes", name, where) + _count(entry, "d2h_bytes", name, where),
        )
        ops.append(OpRecord(_text(entry, "op", name, where), _text(entry, "strategy", name, where), amounts))
    model = _text(data, "model", name, "the run") or Path(name).stem
    vendor = _text(data, "vendor", name, "the run")
    return RecordedRun(model, _text(data, "framework", name, "the run"), vendor, name, True, tuple(ops))


def _infinitrain_run(data: Mapping[str, Any], name: str, stem: str) -> RecordedRun:
    ops = []
    for index, entry in enumerate(_entries(data, "kernels", name)):
        where = f"kernels[{index}]"
        seconds = entry.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise _wrong(name, where, "seconds", "a number of seconds", seconds)
        moved = _count(entry, "bytes_to_host", name, where) + _count(entry, "bytes_to_device", name, where)
        amounts = Amounts(_count(entry, "calls", name, where), float(seconds), moved)
        ops.append(OpRecord(_text(entry, "kernel", name, where), FALLBACK, amounts))
    return RecordedRun(stem, "infinitrain", _text(data, "backend", name, "the run"), name, False, tuple(ops))


def _entries(data: Mapping[str, Any], key: str, name: str) -> list[Mapping[str, Any]]:
    entries = data[key]
    if not isinstance(entries, list):
        raise _wrong(name, "the run", key, "a list", entries)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _wrong(name, key, str(index), "an object", entry)
    return entries


def _text(entry: Mapping[str, Any], key: str, name: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise _wrong(name, where, key, "a text", value)
    return value


def _count(entry: Mapping[str, Any], key: str, name: str, where: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, where, key, "a count", value)
    return value


def _wrong(name: str, where: str, key: str, wanted: str, value: object) -> RecordError:
    found = "is missing" if value is None else f"is {quote(json.dumps(value))}"
    return RecordError(
        f"{name}: {where}: {key} {found}, not {wanted}\n  = give the file as the backend wrote it, or record it again"
    )
