"""The files of a hand-written backend, found by what is in them, and what libclang needs to read them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen.render.contract import render_contract
from fl_gen.schema.framework import Interface
from fl_gen.schema.paths import shown
from fl_gen.schema.vendor import Vendor
from fl_gen.tasks.framework_tree import (
    MAX_BYTES,
    Tree,
    absent_headers,
    cxx_headers,
    open_tree,
    prefixes,
)
from fl_gen.tasks.framework_values import NoVerdict
from fl_gen.workflow.sdks import FoundSdk

_VIRTUAL = "/__fl_gen_adopt__"
CONTRACT = f"{_VIRTUAL}/framework"
_STUBS = f"{_VIRTUAL}/absent"
_DEVICE = "fl_gen_device_words.h"
_MAX_FILES = 5_000
_MAX_BUILD_BYTES = 256 << 10
_MAX_LAUNCH = 2_000  # characters between <<< and >>>
_MAX_OPEN = 100  # of comments that are begun behind the last end of one
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl")
_HOST_SUFFIXES = (".c", ".cc", ".cpp", ".cxx")
_NOT_CXX = (".md", ".txt", ".rst", ".json", ".yaml", ".yml", ".cmake", ".py", ".sh", ".bash", ".in", ".html", ".patch")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^<>"\n]+)[>"]', re.MULTILINE)
_DEFINITIONS = re.compile(
    r"\b(?:target_compile_definitions|add_compile_definitions|add_definitions)\s*\(([^()]{0,2000})\)"
)
_DEFINITION = re.compile(
    r"(?<![\w$<{:.])(?:-D)?(?!(?:PRIVATE|PUBLIC|INTERFACE)\b)([A-Z][A-Z0-9_]{2,})(?:=([\w.]+))?(?![\w}=:$<])"
)
# Words of device dialects beside those that the framework's own sources have.
_WORDS = (
    "__mlu_global__=", "__mlu_func__=", "__mlu_device__=", "__mlu_entry__=", "__mlu_shared__=", "__nram__=",
    "__wram__=", "__aicore__=", "__gm__=", "__ubuf__=", "__global_ptr__=", "__shared_ptr__=",
    "__local__=", "__noinline__=",
)  # fmt: skip
# What a device compiler knows without a header. A name that the SDK's own headers declare is left to them.
_BUILTINS = {
    "dim3": "struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) "
    ": x(a), y(b), z(c) {} };",
    "threadIdx": "struct fl_gen_index { unsigned x, y, z; }; extern const fl_gen_index threadIdx, blockIdx, blockDim, "
    "gridDim;",
    "__syncthreads": "inline void __syncthreads() {}",
    "atomicAdd": "".join(
        f"template <typename T, typename U> T atomic{verb}(T *, U);\n"
        for verb in ("Add", "Sub", "Max", "Min", "Exch", "And", "Or", "Xor")
    )
    + "template <typename T, typename U, typename V> T atomicCAS(T *, U, V);",
    "__ldg": "template <typename T> T __ldg(const T *);",
    "taskId": "extern const unsigned taskId, taskDim, taskIdX, taskIdY, taskIdZ, clusterId, coreId;",
}


@dataclass(frozen=True)
class Files:
    """A backend's folder: `sources` and `headers` are paths of C++ files, `build` the texts of its build files.

    `unread` gives for each file that was not looked at why. `texts` are all texts of C++ files.
    """

    root: Path
    sources: tuple[str, ...]
    headers: tuple[str, ...]
    texts: Mapping[str, str]
    build: Mapping[str, str]
    unread: Mapping[str, str]


def find_files(folder: str | os.PathLike[str], vendor: str, suffix: str | None) -> Files:
    """The files of the vendor's backend at or below `folder`. NoVerdict when there are none to be read.

    `suffix` is that of the vendor's device sources. Links to folders are not followed; a link to a file outside of the
    folder is not read either.
    """
    root = _root(os.fspath(folder), vendor)
    texts: dict[str, str] = {}
    build: dict[str, str] = {}
    unread: dict[str, str] = {}
    for file in _walk(root):
        try:
            file.encode()
        except UnicodeEncodeError:
            unread[os.fsencode(file).decode("utf-8", "replace")] = "its name is not UTF-8"
            continue
        name = os.path.basename(file)
        is_build = name == "CMakeLists.txt" or name.endswith(".cmake")
        if not is_build and name.endswith(_NOT_CXX):
            continue
        try:
            text = _text(file, root, _MAX_BUILD_BYTES if is_build else MAX_BYTES)
        except _Unreadable as error:
            if is_build or _cxx_name(name, suffix):
                unread[file] = str(error)
            continue
        if is_build:
            build[file] = text
        elif _cxx_name(name, suffix) or _INCLUDE.search(text):
            texts[file] = text
    headers = tuple(file for file in texts if file.endswith(_HEADERS))
    sources = tuple(file for file in texts if not file.endswith(_HEADERS))
    if not texts:
        why = "".join(f"\n  = {shown(file)}: {reason}" for file, reason in list(unread.items())[:5])
        raise NoVerdict(
            f"{shown(root)}: there is no C++ source in it that can be read{why}\n"
            "  = name the folder of a backend: CMakeLists.txt, src/runtime, src/ccl, src/kernels"
        )
    return Files(root, sources, headers, texts, build, unread)


class _Unreadable(Exception):
    pass


def _cxx_name(name: str, suffix: str | None) -> bool:
    known = (*_HEADERS, ".c", ".cc", ".cpp", ".cxx", ".cu", ".maca", ".mlu", ".cl", ".musa", ".hip", ".xpu")
    return name.endswith((*known, suffix) if suffix else known)


def _root(text: str, vendor: str) -> Path:
    remedy = f"name the folder of the backend, or one that holds backends/{vendor}"
    try:
        text.encode()
        path = Path(os.path.abspath(os.path.expanduser(text)))
        for one in (path / "backends" / vendor, path):
            if one.is_dir():
                with os.scandir(one):
                    return one
        os.stat(path)
    except ValueError as error:
        raise NoVerdict(f"{text!r} is no path: {error}\n  = {remedy}") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NoVerdict(f"{text} is a symbolic link that leads back to itself\n  = repair the link") from error
        why = "does not exist" if error.errno == errno.ENOENT else f"cannot be read: {error.strerror or error}"
        raise NoVerdict(f"{text} {why}\n  = {remedy}") from error
    raise NoVerdict(f"{text} is a file, not a folder\n  = {remedy}")


def _walk(root: Path) -> Iterator[str]:
    count = 0
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "build", "third_party"))
        for name in sorted(names):
            count += 1
            if count > _MAX_FILES:
                raise NoVerdict(f"{shown(root)}: more than {_MAX_FILES} files\n  = name the folder of one backend")
            yield os.path.join(parent, name)


def _text(file: str, root: Path, limit: int) -> str:
    try:
        if os.path.islink(file) and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
            raise _Unreadable("a link that leads out of the folder")
        if not os.path.isfile(file):
            raise _Unreadable("a link that leads nowhere" if os.path.islink(file) else "no regular file")
        if os.path.getsize(file) > limit:
            raise _Unreadable(f"larger than {limit >> 10} KiB")
        with open(file, "rb") as stream:
            data = stream.read(limit)
    except OSError as error:
        raise _Unreadable(error.strerror or str(error)) from error
    if b"\0" in data:
        raise _Unreadable("a binary file")
    if data.count(b"/*", data.rfind(b"*/") + 1) > _MAX_OPEN:
        raise _Unreadable("comments in it never end")
    return data.decode("utf-8", "replace")


def launches(text: str) -> Iterator[tuple[int, int]]:
    """Where the `<<<...>>>` of kernel launches begin and end, in time that grows with the text alone."""
    at, end = 0, -1
    while (start := text.find("<<<", at)) >= 0:
        if end < start + 3:
            end = text.find(">>>", start + 3)
        if end < 0:
            return
        before = text[max(0, start - 200) : start].rstrip()[-1:]
        named = before.isalnum() or before in ("_", ">")
        if named and end - start <= _MAX_LAUNCH and text[start + 3] != "<":  # as the marks of a merge have it
            yield start, end + 3
            at = end + 3
        else:
            at = start + 3


def without_launches(text: str) -> str:
    """`kernel<<<grid, block>>>(...)` as a plain call; lines and columns stay."""
    parts, at = [], 0
    for start, end in launches(text):
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def source_tree(
    files: Files, interface: Interface, vendor: Vendor, sdk: FoundSdk, source: str | os.PathLike[str] | None
) -> Tree:
    """What libclang needs for the sources: the framework's headers, those of `source` or the contract's, and the SDK.

    NoVerdict when this machine cannot read them.
    """
    base = open_tree(source, interface) if source is not None else _contract(interface)
    folders = [*_own_folders(files), *sdk.include_dirs]
    known = set(base.memory) | set(sdk.memory)
    places = (*folders, *_flag_folders(base.flags))
    absent = [
        name
        for name in absent_headers(files.root, files.texts, places)
        if not any(f"{folder}/{name}" in known for folder in places)
    ]
    memory = {**base.memory, **sdk.memory, **{f"{_STUBS}/{name}": "\n" for name in absent}}
    memory |= {file: without_launches(text) for file, text in files.texts.items() if "<<<" in text}
    memory[f"{_VIRTUAL}/{_DEVICE}"] = _builtins(sdk)
    checkout = interface.checkout
    words = (*(checkout.device_defines if checkout is not None else ()), *_WORDS)
    own = [part for folder in _own_folders(files) for part in ("-I", folder)]
    outer = [part for folder in (*sdk.include_dirs, _STUBS) for part in ("-isystem", folder)]
    return replace(
        base,
        sources=tuple(sorted(files.sources)),
        flags=(*own, *outer, *base.flags, *(f"-D{one}" for one in (*words, *_definitions(files, vendor, sdk)))),
        device_flags=(),
        device_suffixes=(),
        common=(
            "glog/logging.h",
            "cstdint",
            "memory",
            "mutex",
            "string",
            "tuple",
            "unordered_map",
            "utility",
            "vector",
        ),
        memory=memory,
        absent=tuple(sorted({*absent, *(name for name in base.absent if not sdk.has_header(name))})),
        unread=dict(files.unread),
    )


def device_words(file: str, runtime: Sequence[str]) -> tuple[str, ...]:
    """The flags that bring what a device compiler knows without an `#include`: its words, and in device sources the
    headers of the runtime. Not for headers that are precompiled."""
    names = () if file.endswith(_HOST_SUFFIXES) else runtime
    return tuple(part for name in (*names, f"{_VIRTUAL}/{_DEVICE}") for part in ("-include", name))


def _definitions(files: Files, vendor: Vendor, sdk: FoundSdk) -> tuple[str, ...]:
    """The macros that the build files define, and the one by which backends switch their collectives on."""
    found: dict[str, str] = {}
    if "ccl" in sdk.groups:
        name = f"USE_{vendor.groups['ccl'].name.upper}"
        found[name] = f"{name}=1"
    for text in files.build.values():
        for call in _DEFINITIONS.finditer(text):
            for name, value in _DEFINITION.findall(call.group(1)):
                found[name] = f"{name}={value or 1}"
    return tuple(found.values())


def _contract(interface: Interface) -> Tree:
    """The framework as the contract's headers have it, in memory."""
    rendered = render_contract(interface)
    shims = cxx_headers()
    system = [*shims.dirs, *prefixes()]
    if not any(os.path.isfile(os.path.join(folder, "glog/logging.h")) for folder in system):
        raise NoVerdict(
            "a backend's sources include glog, and no include folder has glog/logging.h\n"
            "  = install libgoogle-glog-dev, or name its prefix in CMAKE_PREFIX_PATH"
        )
    checkout = interface.checkout
    flags = ["-Wno-conversion", "-Wno-return-type", "-Wno-deprecated-declarations"]
    flags += [f"-D{one}" for one in (checkout.defines if checkout is not None else ())]
    flags += ["-I", CONTRACT, *(part for folder in system for part in ("-isystem", folder))]
    macros = frozenset([str(interface.kernels.macro)])
    memory = {**shims.files, **{f"{CONTRACT}/{path}": text for path, text in rendered.items()}}
    return Tree(Path(CONTRACT), tuple(rendered), (), tuple(flags), (), (), (), memory, (), {}, macros)


def _flag_folders(flags: Sequence[str]) -> tuple[str, ...]:
    return tuple(flags[at + 1] for at, flag in enumerate(flags[:-1]) if flag in ("-I", "-isystem"))


def _own_folders(files: Files) -> tuple[str, ...]:
    """The folders from which the backend's own includes are found, as its build files would name them."""
    found: dict[str, None] = {}
    named: dict[str, list[str]] = {}
    for file in files.texts:
        named.setdefault(os.path.basename(file), []).append(file)
    for file, text in files.texts.items():
        for name in set(_INCLUDE.findall(text)):
            if os.path.isfile(os.path.join(os.path.dirname(file), name)):
                continue
            for header in named.get(os.path.basename(name), ()):
                if header.endswith(f"/{name}"):
                    found[header[: -len(name) - 1]] = None
    return tuple(sorted(found))


def _builtins(sdk: FoundSdk) -> str:
    """Declarations of device words, but for those that a header of the SDK mentions."""
    words = re.compile(r"\b(" + "|".join(_BUILTINS) + r")\b")
    said = {word for text in _sdk_texts(sdk) for word in words.findall(text)}
    return "\n".join(["#pragma once", *(text for word, text in _BUILTINS.items() if word not in said), ""])


def _sdk_texts(sdk: FoundSdk) -> Iterator[str]:
    yield from sdk.memory.values()
    for folder in sdk.folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                if name.endswith(_HEADERS):
                    path = os.path.join(parent, name)
                    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
                        yield stream.read(MAX_BYTES)
