"""`--verify` for PyTorch: every rendered C++ unit is parsed against the SDK and the wheel before anything is written.

As for InfiniTrain, libclang reads the rendered files under paths that no disk has, and what the units share is
precompiled once: the wheel's headers, of which the whole set costs half a minute and each unit then a second.
"""

from __future__ import annotations

import os
import re
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from fl_gen.render.verify import TREE, PrerequisiteError, Sources, Verified, VerifyError, collect, shortened
from fl_gen.resolve.model import Backend
from fl_gen.schema.errors import Diagnostic
from fl_gen.sdk import clang
from fl_gen.sdk.wheel import Wheel
from fl_gen.sdk.wheel_probe import cxx_shims

_PREFIX = "/__fl_gen_verify__/torch.h"
_INSTANTIATE = "-fpch-instantiate-templates"
# PyTorch's own warnings apply to it; the probe has judged the SDK calls.
_FLAGS = ("-Wno-conversion", "-Wno-deprecated-declarations", "-DTORCH_EXTENSION_NAME=_C")
_INCLUDE = re.compile(r"^#include <([\w./+-]+)>", re.MULTILINE)
_PYTHON = "csrc/module"


def verify_torch(
    files: Mapping[str, str],
    backend: Backend,
    sources: Sources,
    wheel: Wheel,
    include_dirs: Sequence[str],
    memory: Mapping[str, str],
) -> Verified:
    """Parse every unit of `files` (path below the package's folder -> text).

    `include_dirs` and `memory` are the SDK's folders and its in-memory headers. Raises VerifyError with all errors,
    each once, or PrerequisiteError when there is nothing to check with.
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
    system = (*include_dirs, *wheel.include_dirs, python, *shims.dirs)
    arguments = [*_FLAGS, "-I", f"{TREE}/csrc", *(part for folder in system for part in ("-isystem", folder))]
    of_sdk = {name for group in backend.vendor.groups.values() for name in group.headers}
    of_sdk |= {PurePosixPath(path).name for path in memory}
    prefix = _prefix([text for path, text in files.items() if path in units or path.endswith(".h")], of_sdk)
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as folder:
        precompiled = os.path.join(folder, "torch.pch")
        parsed = clang.parse(
            _PREFIX, prefix, ["-x", "c++-header", _INSTANTIATE, *arguments], everything, precompile=True
        )
        if parsed.errors:
            first = parsed.errors[0]
            raise PrerequisiteError(
                f"{first.place.file}:{first.place.line}:{first.place.column}: {first.text}\n"
                f"  = --verify could not read the headers of PyTorch {wheel.version} that generated code includes: "
                "nothing was checked and nothing was written"
            )
        clang.save(parsed, precompiled)
        del parsed
        problems: dict[tuple[str, int, int, str], Diagnostic] = {}
        for path in units:
            options = ["-include-pch", precompiled, _INSTANTIATE, *arguments]
            unit = clang.parse(f"{TREE}/{path}", files[path].encode(), options, everything)
            for message in unit.errors:
                collect(problems, message, unit, path, files, sources)
    if problems:
        raise VerifyError(shortened(list(problems.values())))
    return Verified(len(units), f"PyTorch {wheel.version}", tuple(skipped))


def _prefix(texts: Iterable[str], of_sdk: set[str]) -> bytes:
    """What the units share: all headers that they include by <>, except for the SDK's."""
    names = {name for text in texts for name in _INCLUDE.findall(text)} - of_sdk
    ordered = sorted(names, key=lambda name: (not name.startswith("torch/csrc/"), name))  # Python.h wants to be first
    return "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in ordered).encode()
