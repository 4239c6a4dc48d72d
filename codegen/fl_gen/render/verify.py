"""`--verify`: every rendered C++ unit is parsed against the SDK and the framework before anything is written.

libclang reads the rendered files, and headers that exist only in memory, under paths that no disk has. What the
units share (the C++ library, glog, the framework's headers) is precompiled once, with its template instantiations, so a
unit costs a tenth of a second. Headers of the prefix are visible to every unit: an `#include` that a unit forgot is
found by compiling it, not here. An error is a fault of a template, so it is told with the template and its line.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fl_gen.render.contract import render_contract
from fl_gen.render.template_lines import find_line
from fl_gen.resolve.model import Backend
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError
from fl_gen.schema.location import Location
from fl_gen.schema.name import Name
from fl_gen.schema.paths import shown
from fl_gen.sdk import clang
from fl_gen.sdk.clang import Message, Parsed
from fl_gen.sdk.shims import Shims, tiers

FRAMEWORK_SOURCE = "INFINITRAIN_SOURCE_DIR"
_VIRTUAL = "/__fl_gen_verify__"
TREE = f"{_VIRTUAL}/tree"
_FRAMEWORK = f"{_VIRTUAL}/framework"
_PREFIX = f"{_VIRTUAL}/prefix.h"
# Folders below the vendor's that generated files are included from, as its CMake files have them.
_INCLUDE_FOLDERS = ("src", "include", "tests")
_UNITS = ("src/", "tests/", "selftest/")
_INSTANTIATE = "-fpch-instantiate-templates"
# The framework's own warnings apply to it, not those that tell a wrong SDK call: the probe has judged the calls.
_FLAGS = ("-Wno-conversion", "-Wno-deprecated-declarations", "-DGLOG_USE_GLOG_EXPORT")
_MOST = 20
_INCLUDE = re.compile(r"^#include <([\w./+-]+)>", re.MULTILINE)
# The first release of the framework that takes a backend of this kind added this header.
_FIRST_HEADER = "infini_train/include/core/privateuse1_backend.h"


class VerifyError(SchemaError):
    """Rendered code that the compiler refuses."""


class PrerequisiteError(FlGenError):
    """Something that the check needs is not on this machine."""


@dataclass(frozen=True)
class Sources:
    """Where rendered files come from: template and schema nodes per path, the template roots, and the target folder."""

    templates: Mapping[str, tuple[str, tuple[str, ...]]]
    roots: tuple[Path, ...]
    target: Path


@dataclass(frozen=True)
class Verified:
    """What was checked: the number of units, against which framework, and what was left out with the reason."""

    units: int
    framework: str
    skipped: tuple[str, ...] = ()


def verify(
    files: Mapping[str, str],
    backend: Backend,
    sources: Sources,
    include_dirs: Sequence[str],
    memory: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> Verified:
    """Parse every unit of `files` (path below the vendor's folder -> text).

    `include_dirs` and `memory` are the SDK's folders and its in-memory headers. Raises VerifyError with all errors,
    each once, or PrerequisiteError when there is nothing to check with.
    """
    environ = os.environ if environment is None else environment
    system = _system(environ)
    framework, framework_dir, framework_files, headers = _framework(backend, environ)
    skipped = []
    units = [path for path in files if path.endswith(".cc") and path.startswith(_UNITS)]
    if not system.has("gtest/gtest.h") and any(path.startswith("tests/") for path in units):
        skipped.append("tests/: googletest's headers are not on this machine")
        units = [path for path in units if not path.startswith("tests/")]
    own = {f"{TREE}/{path}": text for path, text in files.items() if path.endswith((".h", ".cc"))}
    everything = {**system.files, **memory, **framework_files, **own}
    libraries = _libraries(framework_dir, system.dirs)
    arguments = [*_FLAGS, *_folders(framework_dir, include_dirs, (*libraries, *system.dirs))]
    tests = any(path.startswith("tests/") for path in units)
    prefix = _prefix(files, [*memory, *_sdk_headers(backend)], headers, tests)
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as folder:
        precompiled = os.path.join(folder, "prefix.pch")
        _precompile(prefix, arguments, everything, precompiled, framework)
        problems: dict[tuple[str, int, int, str], Diagnostic] = {}
        for path in units:
            text = files[path].encode()
            for defines in _variants(files[path], backend):
                options = ["-include-pch", precompiled, _INSTANTIATE, *arguments, *defines]
                parsed = clang.parse(f"{TREE}/{path}", text, options, everything)
                for message in parsed.errors:
                    collect(problems, message, parsed, path, files, sources)
    if problems:
        raise VerifyError(shortened(list(problems.values())))
    return Verified(len(units), framework, tuple(skipped))


# --- what is parsed, and against what --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _System:
    """The C++ library, glog and googletest of this machine."""

    dirs: tuple[str, ...]
    files: Mapping[str, str]

    def has(self, header: str) -> bool:
        return any(os.path.isfile(os.path.join(folder, header)) for folder in self.dirs)


def _system(environ: Mapping[str, str]) -> _System:
    prefixes = [entry for entry in re.split("[:;]", environ.get("CMAKE_PREFIX_PATH", "")) if entry]
    extra = tuple(os.path.join(prefix, "include") for prefix in prefixes)
    for shims in tiers():
        system = _System((*shims.dirs, *extra), shims.files)
        if not _has_cxx(shims):
            continue
        if not system.has("glog/logging.h"):
            raise PrerequisiteError(
                "--verify needs the headers of glog, which generated code includes: glog/logging.h is not in "
                f"{', '.join(system.dirs)}\n"
                "  = install glog's development package (libgoogle-glog-dev), name its prefix in CMAKE_PREFIX_PATH, "
                "or run without --verify"
            )
        return system
    raise PrerequisiteError(
        "--verify needs the headers of a C++ standard library, and this machine has none\n"
        "  = install a C++ compiler, or run without --verify"
    )


def _has_cxx(shims: Shims) -> bool:
    return any(os.path.isfile(os.path.join(folder, "memory")) for folder in shims.dirs)


def _framework(backend: Backend, environ: Mapping[str, str]) -> tuple[str, str, dict[str, str], list[str]]:
    """What the framework is called in messages, its include folder, its in-memory headers, and all header paths."""
    interface = backend.framework.interface
    headers = [header.path for header in interface.headers]
    source = environ.get(FRAMEWORK_SOURCE, "")
    if not source:
        rendered = render_contract(interface)
        files = {f"{_FRAMEWORK}/{path}": text for path, text in rendered.items()}
        return "headers made from interface.yaml", _FRAMEWORK, files, list(rendered)
    if not os.path.isdir(os.path.join(source, "infini_train", "include")):
        raise PrerequisiteError(
            f"{FRAMEWORK_SOURCE}={source}: there is no infini_train/include in it\n"
            f"  = set {FRAMEWORK_SOURCE} to a checkout of InfiniTrain, or unset it"
        )
    if not os.path.isfile(os.path.join(source, _FIRST_HEADER)):
        raise PrerequisiteError(
            f"{FRAMEWORK_SOURCE}={source}: this InfiniTrain is older than PrivateUse1: it has no {_FIRST_HEADER}, so "
            "no backend of this kind can be built with it\n"
            f"  = use a newer InfiniTrain, or unset {FRAMEWORK_SOURCE} to check against the interface in interface.yaml"
        )
    return source, source, {}, [path for path in headers if os.path.isfile(os.path.join(source, path))]


def _libraries(framework: str, system: Sequence[str]) -> list[str]:
    """Include folders of what a checkout's own headers include: Eigen, from its submodules or from this machine."""
    folders = [os.path.join(framework, "third_party", "eigen"), *(os.path.join(folder, "eigen3") for folder in system)]
    return [folder for folder in folders if os.path.isfile(os.path.join(folder, "Eigen", "Dense"))]


def _folders(framework: str, sdk: Sequence[str], system: Sequence[str]) -> list[str]:
    own = [part for folder in _INCLUDE_FOLDERS for part in ("-I", f"{TREE}/{folder}")]
    return [*own, "-I", framework, *(part for folder in (*sdk, *system) for part in ("-isystem", folder))]


def _sdk_headers(backend: Backend) -> Iterable[str]:
    for group in backend.vendor.groups.values():
        yield from group.headers


def _prefix(files: Mapping[str, str], sdk: Sequence[str], framework: Sequence[str], gtest: bool) -> bytes:
    """What all units share. A header that this machine lacks is left to the unit that includes it."""
    of_sdk = {PurePosixPath(path).name for path in sdk} | set(sdk)
    names = {name for path, text in files.items() if path.endswith((".h", ".cc")) for name in _INCLUDE.findall(text)}
    wanted = [f"<{name}>" for name in sorted(names - of_sdk) if not name.startswith("gtest/")]
    wanted += ["<glog/logging.h>", *(["<gtest/gtest.h>"] if gtest else [])]
    lines = [f"#if __has_include({name})\n#include {name}\n#endif\n" for name in wanted]
    lines += [f'#include "{path}"\n' for path in framework]
    return "".join(lines).encode()


def _precompile(prefix: bytes, arguments: Sequence[str], files: Mapping[str, str], target: str, framework: str) -> None:
    parsed = clang.parse(_PREFIX, prefix, ["-x", "c++-header", _INSTANTIATE, *arguments], files, precompile=True)
    if parsed.errors:
        first = parsed.errors[0]
        place = f"{first.place.file.removeprefix(_FRAMEWORK + '/')}:{first.place.line}:{first.place.column}"
        raise PrerequisiteError(
            f"{place}: {first.text}\n"
            f"  = --verify could not read the headers that generated code includes ({framework}; C++ library; glog; "
            "Eigen): nothing was checked and nothing was written"
        )
    clang.save(parsed, target)


def _variants(text: str, backend: Backend) -> Iterable[tuple[str, ...]]:
    """The definitions that the vendor's CMakeLists.txt may give to a unit."""
    defines = []
    if backend.has_group("ccl"):
        defines.append(f"-DUSE_{Name.of(str(backend.vendor.groups['ccl'].name)).upper}=1")
    switch = f"INFINITRAIN_{backend.vendor.name.upper}_DEVICE_KERNELS"
    for value in ("0", "1") if switch in text else ("0",):
        yield (*defines, f"-D{switch}={value}")


# --- what is told ----------------------------------------------------------------------------------------------------


def collect(
    problems: dict[tuple[str, int, int, str], Diagnostic],
    message: Message,
    parsed: Parsed,
    unit: str,
    files: Mapping[str, str],
    sources: Sources,
) -> None:
    """Note an error of `unit` at its place in a rendered file, once however many units meet it."""
    path, line, column = _own_place(message, parsed, unit)
    key = (path, line, column, message.text)
    if key in problems:
        return
    lines = files[path].split("\n")
    excerpt = lines[line - 1] if line <= len(lines) else ""
    text = message.text
    if not message.place.file.startswith(f"{TREE}/"):
        where = message.place.file.removeprefix(f"{_FRAMEWORK}/")
        text += f" (in {where}:{message.place.line})"
    problems[key] = Diagnostic(
        Location(shown(sources.target / path), line, column),
        f"clang: {text}",
        _origin(path, excerpt, sources),
        excerpt=excerpt,
        length=message.length if message.place.file == f"{TREE}/{path}" else 1,
        rule="verify",
    )


def _own_place(message: Message, parsed: Parsed, unit: str) -> tuple[str, int, int]:
    """The place in a rendered file that a message belongs to: its own, that of a note, or the #include behind it."""
    # A note that only tells the chain of #includes is no place of the fault.
    notes = (place for place, text in message.notes if not text.startswith("in file included from"))
    for place in (message.place, *notes):
        if place.file.startswith(f"{TREE}/"):
            return place.file.removeprefix(f"{TREE}/"), place.line, place.column
    for file, line in parsed.includers(message.place.file):
        if file.startswith(f"{TREE}/"):
            return file.removeprefix(f"{TREE}/"), line, 1
    return unit, 1, 1


def _origin(path: str, excerpt: str, sources: Sources) -> str:
    """Template, its line if that can be told, and schema nodes behind a line of a rendered file."""
    template, nodes = sources.templates[path]
    source = next((root / template for root in sources.roots if (root / template).is_file()), None)
    if source is None:
        where, whose = template, "fl-gen"
    else:
        found = find_line(source.read_text(encoding="utf-8"), excerpt)
        where = shown(source) + (f":{found}" if found is not None else "")
        whose = "fl-gen" if source.is_relative_to(sources.roots[-1]) else "that template, which is not fl-gen's own"
    named = [node for node in nodes if re.search(rf"\b{re.escape(node.rpartition(':')[2])}\b", excerpt)] or nodes
    listed = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
    made = f"made by {where}" + (f" from {listed}" if listed else "")
    return f"{made}\na fault of {whose}; nothing was written"


def shortened(problems: list[Diagnostic]) -> list[Diagnostic]:
    """The first of many errors, the last of them with the number of the others."""
    if len(problems) <= _MOST:
        return problems
    last = problems[_MOST]
    rest = Diagnostic(
        last.location, f"{last.message} (and {len(problems) - _MOST - 1} more errors)", last.hint, last.excerpt
    )
    return [*problems[:_MOST], rest]
