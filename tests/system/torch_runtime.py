"""Builds csrc/tests/allocator_stream_test of a generated PyTorch package: the runtime's sources and the test, no more.

The package as a whole links the same objects; built alone they are small enough for a build with each sanitizer, and
for mutants. Everything lives below `build/test/`, as for the other system tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from fl_gen.output.policy import Policy
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.wheel import NoTorch, Wheel, find_wheel
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request

from .building import BUILD, CACHE, Variant, lock, missing, sim_sdk, succeed, tool

TEST = "allocator_stream_test"
# What SDKs may lack: each is a way for generated code to do the same by other means.
LACKS = {
    "events": (
        *("device.get", "device.synchronize", "device.name", "stream.create_with_priority", "stream.priority_range"),
        *("stream.query", "stream.wait_event", "event.create", "event.create_with_flags", "event.destroy"),
        *("event.record", "event.synchronize", "event.query", "event.elapsed_time", "memory.copy_async"),
        *("memory.set_async", "memory.info", "memory.alloc_host", "memory.free_host"),
    ),
    "queries": (
        *("device.synchronize", "stream.query", "stream.wait_event", "event.create_with_flags", "event.query"),
        *("event.elapsed_time", "memory.set_async", "memory.free_host"),
    ),
}


@dataclass(frozen=True)
class Fault:
    """`before` stands once in `csrc/<file>` of the generated package and becomes `after`; then `test` must fail."""

    name: str
    file: str
    before: str
    after: str
    test: str


@dataclass(frozen=True)
class Program:
    """The built test program, and what it was built from."""

    path: Path
    csrc: Path
    sdk: Path
    variant: Variant


def wheel() -> Wheel:
    """The installed PyTorch; skips the test without one."""
    try:
        return find_wheel(None)
    except NoTorch:
        missing("PyTorch, or TORCH_FL_TORCH with its folder")
        raise


def torch_tree(vendor: str, lacks: str = "") -> Path:
    """The sources of the generated package of `vendor`, rendered now: its folder csrc. `lacks` is a key of LACKS."""
    tool("clang-format")
    folder = BUILD / "-".join(part for part in ("torch-tree", vendor, lacks) if part)
    with lock(folder.name):
        request = Request(
            vendor=vendor,
            sdk=("sim",),
            output=folder,
            cache=CACHE,
            framework="torch",
            torch=wheel().package,
            schema_dirs=(_without(vendor, LACKS[lacks], folder / "schemas"),) if lacks else (),
        )
        generate(request, Policy.OVERWRITE)
    return folder / "generated" / f"torch_{vendor}" / "csrc"


def _without(vendor: str, operations: Sequence[str], folder: Path) -> Path:
    """A schema folder with the vendor's file, in which nothing does `operations`."""
    path = data_dir() / "schemas" / "vendors" / vendor / "vendor.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    for operation in operations:
        del data["bindings"][operation]
    target = folder / "vendors" / vendor / "vendor.yaml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return folder


def program(variant: Variant, lacks: str = "") -> Program:
    """The test program of `variant`, built. `lacks` is a key of LACKS: what the SDK is taken not to have."""
    csrc, sdk = torch_tree(variant.vendor, lacks), sim_sdk(variant)
    folder = BUILD / "-".join(part for part in ("torch-runtime", variant.key, lacks) if part)
    sources = [*sorted((csrc / "runtime").glob("*.cc")), csrc / "tests" / f"{TEST}.cc"]
    with lock(folder.name):
        path = _build(folder, variant, sdk, csrc, sources)
    return Program(path, csrc, sdk, variant)


def mutant(built: Program, fault: Fault) -> Path:
    """The test program with `fault` in one of its sources."""
    variant = built.variant
    text = (built.csrc / fault.file).read_text(encoding="utf-8")
    count = text.count(fault.before)
    assert count == 1, f"{fault.name}: {fault.file} holds the text to replace {count} times"
    folder = BUILD / f"torch-runtime-{variant.key}-mutants" / fault.name
    folder.mkdir(parents=True, exist_ok=True)
    changed = folder / Path(fault.file).name
    changed.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    intact = BUILD / f"torch-runtime-{variant.key}"
    objects = [path for path in sorted(intact.glob("*.o")) if path.stem != changed.stem]
    with lock(folder.name):
        return _build(folder, variant, built.sdk, built.csrc, [changed], objects)


def _build(
    folder: Path, variant: Variant, sdk: Path, csrc: Path, sources: Sequence[Path], objects: Sequence[Path] = ()
) -> Path:
    """Compile `sources` in `folder` and link them with `objects`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _ninja(variant, sdk, csrc, sources, objects)
    file = folder / "build.ninja"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
    succeed([tool("ninja"), "-C", folder, "-j2"], timeout=1800)
    return folder / TEST


def _ninja(variant: Variant, sdk: Path, csrc: Path, sources: Sequence[Path], objects: Sequence[Path]) -> str:
    package = wheel().package
    libraries = sorted(path for path in sdk.glob("lib*/lib*.so"))
    folders = sorted({str(path.parent) for path in libraries} | {str(package / "lib")})
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    if variant.sanitize:
        flags += [f"-fsanitize={variant.sanitize}", "-fno-omit-frame-pointer", "-g1"]
    if "undefined" in variant.sanitize:
        # Vendors' handles and PyTorch's classes come from libraries that were built without it.
        flags += ["-fno-sanitize-recover=undefined", "-fno-sanitize=vptr"]
    # The wheel's own headers warn under sanitizers when they are inlined into the code at hand.
    includes = [f"-I{csrc}", f"-isystem {sdk / 'include'}"]
    includes += [f"-isystem {folder}" for folder in wheel().include_dirs]
    linked = [str(path) for path in objects]
    lines = [
        "ninja_required_version = 1.5",
        "rule compile",
        f"  command = {tool(variant.compiler)} {' '.join(flags)} {' '.join(includes)} -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule link",
        f"  command = {tool(variant.compiler)} {' '.join(flags)} $in -o $out "
        + " ".join([*(str(path) for path in libraries), *(f"-L{folder}" for folder in folders)])
        + " -ltorch_cpu -lc10 "
        + " ".join(f"-Wl,-rpath,{folder}" for folder in folders),
    ]
    for source in sources:
        lines.append(f"build {source.stem}.o: compile {source}")
        linked.append(f"{source.stem}.o")
    lines.append(f"build {TEST}: link {' '.join(linked)}")
    return "\n".join([*lines, f"default {TEST}", ""])


def fault_ids(faults: Sequence[Fault]) -> list[object]:
    """The faults as parameters of a test, named."""
    return [pytest.param(fault, id=fault.name) for fault in faults]
