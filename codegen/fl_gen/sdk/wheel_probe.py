"""Asks the compiler which features a PyTorch wheel has, from its headers.

All probes stand in one unit, each in a namespace of its own, behind the headers that they need. An error inside a
probe means that the wheel lacks the feature; an error anywhere else means that there is no verdict. A feature whose
header the wheel does not have is one that it lacks. Answers are kept by what was asked and by the wheel's identity.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.torch import Feature
from fl_gen.sdk import clang
from fl_gen.sdk.identity import library_identity, text_digest
from fl_gen.sdk.shims import Shims, tiers
from fl_gen.sdk.wheel import Wheel

_MAIN = "/__fl_gen_probe__/torch.cc"
# What the wheel is built with matters to its headers, and its own warnings are nobody's fault here.
FLAGS = ("-w", "-Wno-error")


class WheelError(FlGenError):
    """A wheel whose headers do not parse, or no C++ library to parse them with."""


def probe_features(features: Iterable[Feature], wheel: Wheel, cache: Path | None) -> dict[str, bool]:
    """Whether `wheel` has each feature. `cache` is a folder of earlier answers, None for none. Raises WheelError."""
    known = sorted(features, key=lambda one: one.name)
    shims = cxx_shims()
    key = _key(known, wheel, shims)
    stored = _load(cache, key, known)
    if stored is not None:
        return stored
    present = [one for one in known if all(_find(wheel, header) for header in one.headers)]
    lacking = _refused(present, wheel, shims) if present else set()
    found = {one.name: one in present and one.name not in lacking for one in known}
    _store(cache, key, found)
    return found


def cxx_shims() -> Shims:
    """The compiler's headers with a C++ standard library. Raises WheelError when this machine has none."""
    for shims in tiers():
        if any(os.path.isfile(os.path.join(folder, "memory")) for folder in shims.dirs):
            return shims
    raise WheelError(
        "--framework torch needs the headers of a C++ standard library, and this machine has none\n"
        "  = install a C++ compiler"
    )


def _find(wheel: Wheel, header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, header)) for folder in wheel.include_dirs)


def _refused(features: Iterable[Feature], wheel: Wheel, shims: Shims) -> set[str]:
    """The names of the features whose probe does not compile."""
    headers = dict.fromkeys(header for one in features for header in one.headers)
    text = "".join(f"#include <{header}>\n" for header in headers).encode()
    spans: list[tuple[int, int, str]] = []
    for number, one in enumerate(features):
        start = len(text)
        text += f"namespace fl_probe_{number} {{\n{one.probe.value}\n}}\n".encode()
        spans.append((start, len(text), one.name))
    folders = [part for folder in (*wheel.include_dirs, *shims.dirs) for part in ("-isystem", folder)]
    parsed = clang.parse(_MAIN, text, [*FLAGS, *folders], dict(shims.files), bodies=False)
    lacking: set[str] = set()
    for message in parsed.errors:
        places = (message.place, *(place for place, _ in message.notes))
        offsets = [place.offset for place in places if place.file == _MAIN]
        names = [name for offset in offsets for start, end, name in spans if start <= offset < end]
        if not names:
            where = f"{message.place.file}:{message.place.line}:{message.place.column}"
            raise WheelError(
                f"{where}: {message.text}\n  = the headers of PyTorch {wheel.version} do not parse here: nothing "
                "can be said about them, and nothing was written"
            )
        lacking.add(names[0])
    return lacking


def _key(features: Iterable[Feature], wheel: Wheel, shims: Shims) -> str:
    identity = (wheel.package / "version.py").read_text(encoding="utf-8", errors="replace")
    asked = [[one.name, one.headers, one.probe.value] for one in features]
    return text_digest(json.dumps([asked, str(wheel.package), identity, list(shims.dirs), library_identity()]))


def _load(cache: Path | None, key: str, features: Iterable[Feature]) -> dict[str, bool] | None:
    if cache is None:
        return None
    try:
        stored: Mapping[str, object] = json.loads((cache / f"{key}.json").read_bytes())
        return {one.name: _boolean(stored[one.name]) for one in features}
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent, unreadable or not ours: asked anew


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _store(cache: Path | None, key: str, found: Mapping[str, bool]) -> None:
    if cache is None:
        return
    temporary = cache / f".{key}.{os.getpid()}"
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, never the run
        cache.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(found, sort_keys=True), encoding="utf-8")
        os.replace(temporary, cache / f"{key}.json")
