"""`--verify` for PyTorch: every rendered C++ unit is parsed against the SDK and the wheel before anything is written.

As for InfiniTrain, libclang reads the rendered files under paths that no disk has, and what the units share is
precompiled once: the wheel's headers, which cost 20 seconds of a processor the first time and each unit then one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from fl_gen.render.verify import TREE, PrerequisiteError, Sources, Verified, VerifyError, collect, shortened
from fl_gen.resolve.model import Backend
from fl_gen.schema.errors import Diagnostic
from fl_gen.sdk import clang
from fl_gen.sdk.identity import library_identity, text_digest
from fl_gen.sdk.items import SdkError
from fl_gen.sdk.wheel import Wheel
from fl_gen.sdk.wheel_probe import cxx_shims

_PREFIX = "/__fl_gen_verify__/torch.h"
_INSTANTIATE = "-fpch-instantiate-templates"
# PyTorch's own warnings apply to it; the probe has judged the SDK calls.
_FLAGS = ("-Wno-conversion", "-Wno-deprecated-declarations", "-DTORCH_EXTENSION_NAME=_C")
_INCLUDE = re.compile(r"^#include <([\w./+-]+)>", re.MULTILINE)
_PYTHON = "csrc/module"
_MOST_KEPT = 4  # precompiled headers; each has about a hundred megabytes


def verify_torch(
    files: Mapping[str, str],
    backend: Backend,
    sources: Sources,
    wheel: Wheel,
    include_dirs: Sequence[str],
    memory: Mapping[str, str],
    cache: Path | None = None,
) -> Verified:
    """Parse every unit of `files` (path below the package's folder -> text).

    `include_dirs` and `memory` are the SDK's folders and its in-memory headers; in `cache` the precompiled headers of
    wheels are kept, which do not depend on the SDK. Raises VerifyError with all errors, each once, or PrerequisiteError
    when there is nothing to check with.
    """
    shims = cxx_shims()
    python = sysconfig.get_path("include")
    units = [path for path in files if path.endswith(".cc")]
    skipped = []
    if not os.path.isfile(os.path.join(python, "Python.h")):
        skipped.append(f"{_PYTHON}*.cc: Python's headers are not in {python}")
        units = [path for path in units if not path.startswith(_PYTHON)]
    own = {f"{TREE}/{path}": text for path, text in files.items() if path.endswith((".h", ".cc"))}
    everything = {**shims.files, **memory, **own}
    shared = [*_FLAGS, *_system((*wheel.include_dirs, python, *shims.dirs))]
    arguments = [*_FLAGS, "-I", f"{TREE}/csrc", *_system(include_dirs), *shared[len(_FLAGS) :]]
    of_sdk = {name for group in backend.vendor.groups.values() for name in group.headers}
    of_sdk |= {PurePosixPath(path).name for path in memory}
    prefix = _prefix(
        [text for path, text in files.items() if path in units or path.endswith(".h")], of_sdk, wheel.include_dirs
    )
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as folder:
        precompiled = _precompiled(prefix, shared, shims.files, wheel, cache, Path(folder))
        problems: dict[tuple[str, int, int, str], Diagnostic] = {}
        for path in units:
            options = ["-include-pch", precompiled, _INSTANTIATE, *arguments]
            unit = clang.parse(f"{TREE}/{path}", files[path].encode(), options, everything)
            for message in unit.errors:
                collect(problems, message, unit, path, files, sources)
    if problems:
        raise VerifyError(shortened(list(problems.values())))
    return Verified(len(units), f"PyTorch {wheel.version}", tuple(skipped))


def _system(folders: Iterable[str]) -> list[str]:
    return [part for folder in folders for part in ("-isystem", folder)]


def _precompiled(
    prefix: bytes, shared: Sequence[str], files: Mapping[str, str], wheel: Wheel, cache: Path | None, folder: Path
) -> str:
    """The precompiled `prefix`, from the cache if it still holds, else made anew. Raises PrerequisiteError."""
    identity = (wheel.package / "version.py").read_text(encoding="utf-8", errors="replace")
    key = text_digest("\0".join([prefix.decode(), *shared, identity, library_identity()]))
    kept = cache / f"{key}.pch" if cache is not None else None
    if kept is not None and _holds(kept, shared, files):
        return str(kept)
    made = folder / "torch.pch"
    parsed = clang.parse(_PREFIX, prefix, ["-x", "c++-header", _INSTANTIATE, *shared], files, precompile=True)
    if parsed.errors:
        first = parsed.errors[0]
        raise PrerequisiteError(
            f"{first.place.file}:{first.place.line}:{first.place.column}: {first.text}\n"
            f"  = --verify could not read the headers of PyTorch {wheel.version} that generated code includes: "
            "nothing was checked and nothing was written"
        )
    clang.save(parsed, str(made))
    if kept is not None:
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, never the run
            kept.parent.mkdir(parents=True, exist_ok=True)
            temporary = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(made, temporary)
            os.replace(temporary, kept)
            for old in sorted(kept.parent.glob("*.pch"), key=lambda path: path.stat().st_mtime_ns)[:-_MOST_KEPT]:
                old.unlink()
    return str(made)


def _holds(kept: Path, shared: Sequence[str], files: Mapping[str, str]) -> bool:
    """Whether a precompiled header is there, whole, and made of headers that have not changed since."""
    if not kept.is_file():
        return False
    try:
        unit = clang.parse("/__fl_gen_verify__/empty.cc", b"", ["-include-pch", str(kept), *shared], files)
    except SdkError:  # libclang gives up on what is none
        return False
    return not unit.errors


def _prefix(texts: Iterable[str], of_sdk: set[str], folders: Sequence[str]) -> bytes:
    """What the units share: all headers that they include by <>, without the SDK's and those to be read once only."""
    names = {name for text in texts for name in _INCLUDE.findall(text)} - of_sdk
    names = {name for name in names if _guarded(name, folders)}
    ordered = sorted(names, key=lambda name: (not name.startswith("torch/csrc/"), name))  # Python.h wants to be first
    return "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in ordered).encode()


def _guarded(name: str, folders: Sequence[str]) -> bool:
    """Whether a header may be included again by a unit. Some of PyTorch's have no guard in some releases."""
    for folder in folders:
        path = Path(folder, name)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            return "#pragma once" in text or re.search(r"^#ifndef \w+\s*\n#define ", text, re.MULTILINE) is not None
    return True  # of the C++ library or Python
