"""Seeds one fault into a template or a schema, renders again, and builds a test program of it beside the intact build.

The intact build is not touched: the sources that changed are compiled by the commands that ninja used, into a folder of
the mutant, and linked with the other objects as they are. So mutants are made in any order, several at a time.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fl_gen.output.manifest import MANIFEST_NAME
from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request

from .building import CACHE, ROOT, Built, environment, run, succeed, tool

_ATTEMPTS = 3  # a missing wait shows by chance: streams run with random delays
_SECONDS = 120.0  # for a program that is intact


@dataclass(frozen=True)
class Mutation:
    """`before` stands once in `file` (below templates/ or schemas/) and becomes `after`; `case` of `program` must then fail.

    `settings` are for the run of the program, both with and without the fault. With it the program fails as well if it
    does not end within `seconds`.
    """

    name: str
    file: str
    before: str
    after: str
    program: str
    case: str
    settings: tuple[tuple[str, str], ...] = ()
    seconds: float = 60.0


def overlay(mutation: Mutation, folder: Path) -> None:
    """A copy of the mutation's file with the fault, in `folder` as in the repository."""
    text = (ROOT / mutation.file).read_text(encoding="utf-8")
    count = text.count(mutation.before)
    assert count == 1, f"{mutation.name}: {mutation.file} holds the text to replace {count} times"
    target = folder / mutation.file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")
    (folder / "templates" / "infinitrain").mkdir(parents=True, exist_ok=True)
    (folder / "schemas").mkdir(exist_ok=True)


def rendered(vendor: str, folder: Path | None = None) -> Mapping[str, str]:
    """Every generated file, with the overlay in `folder` if given."""
    request = Request(vendor=vendor, sdk=("sim",), output=ROOT, cache=CACHE)
    if folder is not None:
        request = Request(
            vendor=vendor,
            sdk=("sim",),
            output=ROOT,
            cache=CACHE,
            schema_dirs=(folder / "schemas",),
            template_dirs=(folder / "templates",),
        )
    files = dict(prepare(request).files)
    del files[MANIFEST_NAME]
    return files


@functools.cache
def _intact(vendor: str) -> Mapping[str, str]:
    return rendered(vendor)


@dataclass(frozen=True)
class _Unit:
    """How ninja compiles one source."""

    command: tuple[str, ...]
    directory: Path
    source: Path
    output: Path


@functools.cache
def _units(build: Path) -> tuple[_Unit, ...]:
    found = []
    for entry in json.loads(succeed([tool("ninja"), "-C", build, "-t", "compdb"])):
        if entry["file"].endswith(".cc"):
            directory = Path(entry["directory"])
            command = tuple(shlex.split(entry["command"]))
            found.append(_Unit(command, directory, directory / entry["file"], directory / entry["output"]))
    return tuple(found)


@functools.cache
def _dependencies(build: Path) -> Mapping[Path, frozenset[Path]]:
    """Per object the files that it was made from, as the compiler told ninja."""
    found: dict[Path, set[Path]] = {}
    current: set[Path] = set()
    for line in succeed([tool("ninja"), "-C", build, "-t", "deps"]).splitlines():
        if line.startswith("    "):
            current.add(Path(os.path.normpath(build / line.strip())))
        elif ": #deps" in line:
            current = found.setdefault(build / line.partition(": #deps")[0], set())
    return {output: frozenset(files) for output, files in found.items()}


@functools.cache
def _final_command(build: Path, target: str) -> str:
    return succeed([tool("ninja"), "-C", build, "-t", "commands", "-s", target]).strip()


@functools.cache
def _program_environment(build: Path) -> Mapping[str, Mapping[str, str]]:
    listing = json.loads(succeed([tool("ctest"), "--test-dir", build, "--show-only=json-v1"]))
    found = {}
    for test in listing["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", ())}
        found[test["name"]] = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", ()))
    return found


def execute(
    built: Built, program: Path, mutation: Mutation, seconds: float = _SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run the mutation's case in `program`. A run that does not end counts as exit code 124."""
    settings = {**_program_environment(built.build)[mutation.program], **dict(mutation.settings)}
    try:
        return run([program, f"--gtest_filter={mutation.case}"], env=environment(**settings), timeout=seconds)
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        return subprocess.CompletedProcess([], 124, output, "")


@functools.cache
def check_intact(built: Built, mutation: Mutation) -> None:
    """The case passes without the fault, and exists."""
    result = execute(built, built.programs / mutation.program, mutation)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert re.search(r"^\[  PASSED  \] [1-9]", result.stdout, re.MULTILINE), f"{mutation.case} does not exist"


def mutant(built: Built, mutation: Mutation, folder: Path) -> Path:
    """The mutation's test program with the fault in it. Fails if the fault changes nothing or does not compile."""
    overlay(mutation, folder)
    vendor = built.variant.vendor
    intact, faulty = _intact(vendor), rendered(vendor, folder)
    assert set(faulty) == set(intact)
    # The tests are those of the intact tree, also where a fault of a schema would change them.
    changed = sorted(path for path in faulty if intact[path] != faulty[path] and not path.startswith("tests/"))
    assert changed, f"{mutation.name} changes no file"
    sources = folder / "generated"
    for path in changed:
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).write_text(faulty[path], encoding="utf-8")
    replaced: dict[Path, Path] = {}
    affected = {built.generated / path for path in changed}
    for unit in _units(built.build):
        inside = unit.source.is_relative_to(built.generated)
        if inside and (unit.source in affected or _dependencies(built.build)[unit.output] & affected):
            folders = unit.output.parts
            if f"infini_train_backend_{vendor}.dir" in folders or f"{mutation.program}.dir" in folders:
                replaced[unit.output] = _compile(built, unit, folder, len(replaced))
    assert replaced, f"{mutation.name}: no source of {mutation.program} depends on {', '.join(changed)}"
    return _link(built, mutation, replaced, folder)


def _compile(built: Built, unit: _Unit, folder: Path, number: int) -> Path:
    """`unit` with the mutant's files before the intact ones."""
    output = folder / f"{number}-{unit.output.name}"
    sources = folder / "generated"
    changed = sources / unit.source.relative_to(built.generated)
    command = list(unit.command)
    for flag in ("-MD", "-MT", "-MF"):
        at = command.index(flag)
        del command[at : at + (1 if flag == "-MD" else 2)]
    command[command.index("-o") + 1] = str(output)
    at = command.index("-c") + 1
    command[at] = str(changed if changed.exists() else unit.source)
    command[1:1] = [f"-I{sources / 'src'}"]
    succeed(command, cwd=unit.directory)
    return output


def _link(built: Built, mutation: Mutation, replaced: Mapping[Path, Path], folder: Path) -> Path:
    build = built.build
    name = f"infini_train_backend_{built.variant.vendor}"
    archive = next(build.rglob(f"lib{name}.a"))
    relative = str(archive.relative_to(build))
    packing = shlex.split(_final_command(build, relative))
    members = [build / word for word in packing if word.endswith(".o")]
    copy = folder / archive.name
    # A thin archive holds names only. Its members are found by path, so equal base names do no harm.
    succeed([tool("ar"), "qcTP", copy, *(replaced.get(member, member) for member in members)])
    program = folder / mutation.program
    target = str((built.programs / mutation.program).relative_to(build))
    words = []
    for word in shlex.split(_final_command(build, target)):
        if word == relative:
            words.append(str(copy))
        elif word == target:
            words.append(str(program))
        elif build / word in replaced:
            words.append(str(replaced[build / word]))
        elif word not in (":", "&&"):
            words.append(word)
    succeed(words, cwd=build)
    return program


def check_caught(built: Built, mutation: Mutation, folder: Path) -> None:
    """The named case passes without the fault and fails with it."""
    check_intact(built, mutation)
    program = mutant(built, mutation, folder)
    result = execute(built, program, mutation, mutation.seconds)
    for _ in range(_ATTEMPTS - 1):
        if result.returncode != 0:
            break
        result = execute(built, program, mutation, mutation.seconds)
    if result.returncode == 0:
        pytest.fail(f"{mutation.name} is not caught by {mutation.case} of {mutation.program}", pytrace=False)
    suite = mutation.case.partition(".")[0].rpartition("/")[2]
    assert re.search(rf"^\[ RUN      \] .*{suite.strip('*')}", result.stdout, re.MULTILINE), (
        result.stdout + result.stderr
    )
