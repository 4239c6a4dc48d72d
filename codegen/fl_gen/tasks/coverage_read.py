"""Recorded runs, as generated backends write them, from JSON to values. Two forms are read:

`{"schema": 1, "framework": "torch", "vendor": ..., "model": ..., "ops": [{"op", "strategy", "calls", "ns", "h2d_bytes",
"d2h_bytes"}]}` of a PyTorch package (`save_op_stats`, `TORCH_FL_OP_STATS`), which counts every op; and
`{"backend": ..., "mode": ..., "kernels": [{"kernel", "calls", "bytes_to_host", "bytes_to_device", "seconds"}]}` of an
InfiniTrain backend (`INFINI_<V>_FALLBACK_STATISTICS`), which counts fallbacks alone. A call that the mode `strict`
refused (`rejected`) counts as one that falls back: it would have.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from fl_gen.schema.errors import FlGenError, quote
from fl_gen.schema.paths import shown
from fl_gen.tasks.coverage_values import Amounts, OpRecord, RecordedRun

_LIMIT = 64 << 20  # bytes of a file; a run of a thousand ops has a hundred thousand
_MOST = 10**18  # of a count; nanoseconds of thirty years
_MOST_SECONDS = 1e12
FALLBACK = "fallback"
STRATEGIES = ("native", "library", "python", "runtime", FALLBACK)


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
        # What a shell makes of <(...) is a pipe that somebody writes into; one with a name may wait for ever.
        if stat.S_ISFIFO(os.stat(path).st_mode) and not str(path).startswith(("/dev/", "/proc/")):
            raise RecordError(f"{name}: this is a named pipe\n  = give {what} as a file, or on the standard input as -")
        with path.open("rb") as stream:
            text = stream.read(_LIMIT + 1)
    except OSError as error:
        raise RecordError(f"{name}: {error.strerror or error}\n  = give the file of {what}") from None
    if len(text) > _LIMIT:
        raise RecordError(f"{name}: more than {_LIMIT >> 20} MB, which {what} never has\n  = give another file")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_number, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{name}:{error.lineno}:{error.colno}: {error.msg}\n"
            f"  = {what} is JSON; was the program that wrote it stopped?"
        ) from None
    except RecursionError:
        raise RecordError(f"{name}:1:1: it is nested too deeply\n  = {what} never is: give another file") from None
    except UnicodeDecodeError as error:
        raise RecordError(f"{name}:1:1: byte {error.start} is no text\n  = {what} is JSON in UTF-8") from None
    except ValueError as error:
        raise RecordError(f"{name}:1:1: {error}\n  = give {what} as fl-gen or a backend wrote it") from None


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _number(text: str) -> int:
    if len(text) > 400:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {quote(next(key for key in keys if keys.count(key) > 1))} stands twice")
    return found


def _torch_run(data: Mapping[str, Any], name: str) -> RecordedRun:
    if data.get("schema") != 1 or not _whole(data["schema"]):
        raise RecordError(
            f"{name}:1:1: schema {quote(str(data.get('schema')))}: this fl-gen reads recorded runs of schema 1\n"
            "  = use the fl-gen that generated the backend, or generate it again"
        )
    ops = []
    for index, entry in enumerate(_entries(data, "ops", name)):
        where = f"ops[{index}]"
        rejected = _count(entry, "rejected", name, where) if "rejected" in entry else 0
        amounts = Amounts(
            _count(entry, "calls", name, where) + rejected,
            _count(entry, "ns", name, where) * 1e-9,
            _count(entry, "h2d_bytes", name, where) + _count(entry, "d2h_bytes", name, where),
        )
        strategy = _text(entry, "strategy", name, where)
        if strategy not in STRATEGIES:
            raise _wrong(name, where, "strategy", f"one of {', '.join(STRATEGIES)}", strategy)
        ops.append(OpRecord(_text(entry, "op", name, where), strategy, amounts))
    model = _text(data, "model", name, "the run") or Path(name).stem
    vendor = _text(data, "vendor", name, "the run")
    return RecordedRun(model, _text(data, "framework", name, "the run"), vendor, name, True, tuple(ops))


def _infinitrain_run(data: Mapping[str, Any], name: str, stem: str) -> RecordedRun:
    ops = []
    for index, entry in enumerate(_entries(data, "kernels", name)):
        where = f"kernels[{index}]"
        seconds = entry.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _MOST_SECONDS:
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
    if not _whole(value) or not 0 <= value <= _MOST:
        raise _wrong(name, where, key, "a count", value)
    return value


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, where: str, key: str, wanted: str, value: object) -> RecordError:
    found = "is missing" if value is None else f"is {quote(json.dumps(value))}"
    return RecordError(
        f"{name}: {where}: {key} {found}, not {wanted}\n  = give the file as the backend wrote it, or record it again"
    )
