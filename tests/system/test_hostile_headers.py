"""Broken, odd and hostile headers: never a traceback, never a wrong verdict.

Every mutation of `hostile_headers.py` is made on simulated headers, fl-gen is asked, and g++ is the judge of the answer: what
fl-gen accepts must compile, what it refuses must not, and where it gives no verdict g++ must find the headers wrong as well.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.resolve.bindings import probe_items
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.vendor import Vendor
from fl_gen.sdk.find import SdkLocation, find_sdk
from fl_gen.sdk.items import ProbeItem, ProbeReport, SdkError, SdkHeaderError
from fl_gen.sdk.probe import probe
from fl_gen.sdk.unit import build

from .hostile_headers import MUTATIONS

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 40 if os.environ.get("FL_GEN_TORTURE") else 4
# Vendor and the header that is spoilt: a runtime, an operator library, collectives, and types that others include.
TARGETS = (("mlu", "cnrt.h"), ("maca", "mcr/mc_runtime_api.h"), ("mlu", "cncl.h"), ("maca", "mcblas/mcblas.h"))
# clang knows these of C, g++ does not; and a keyword that is a macro changes the questions themselves.
_CLANG_IS_LAX, _CHANGES_THE_QUESTION = {"c only"}, {"keyword macro"}
# g++ takes these although they are errors by the standard, or knows more than the headers' text says.
_GXX_IS_LAX = {"null bytes", "old mac line ends", "endless include", "line directive"}


@dataclass(frozen=True)
class Intact:
    """A vendor, its unspoilt headers, and what fl-gen makes of them."""

    vendor: Vendor
    root: Path
    items: tuple[ProbeItem, ...]
    headers: tuple[str, ...]
    report: ProbeReport

    def used(self) -> list[ProbeItem]:
        """The items that a backend would be made of."""
        return chosen_items(self.items, self.report)


def chosen_items(items: Sequence[ProbeItem], report: ProbeReport) -> list[ProbeItem]:
    """The chosen items and the helpers that they name."""
    chosen = {id_ for id_ in report.chosen.values() if id_ is not None}
    found = [item for item in items if item.id in chosen and item.form != "helper"]
    helpers = {name for item in found for name in item.helpers}
    return [item for item in items if item.id in helpers] + found


@functools.cache
def intact(name: str) -> Intact:
    catalog = Catalog()
    vendor = catalog.vendor(name)
    path = catalog.api_path(name)
    assert path is not None
    root = Path("/__hostile__") / name
    memory = {f"{root}/include/{header}": text for header, text in render_headers(load_api(path), "").items()}
    sdk = find_sdk(vendor, [root], {}, memory=memory)
    items = tuple(probe_items(catalog.runtime(), vendor, frozenset(sdk.groups_present)))
    headers = sdk.headers(vendor)
    return Intact(vendor, root, items, headers, probe(items, headers, sdk.include_dirs, memory=memory))


def written(name: str, folder: Path) -> Path:
    """The intact headers of a vendor on disk; the include folder."""
    path = Catalog().api_path(name)
    assert path is not None
    include = folder / "include"
    for header, text in render_headers(load_api(path), "").items():
        target = include / header
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return include


def asked(sdk: Intact, root: Path) -> tuple[SdkLocation, ProbeReport] | SdkError:
    """fl-gen's answer on the headers below `root`, or its refusal to judge."""
    try:
        place = find_sdk(sdk.vendor, [root], {})
        return place, probe(sdk.items, place.headers(sdk.vendor), place.include_dirs)
    except SdkError as error:
        return error


def gxx_errors(
    headers: Sequence[str], items: Sequence[ProbeItem], types: dict[str, str], include: Path
) -> set[str] | None:
    """The ids of items in which g++ finds an error; None when it finds one anywhere else."""
    unit = build(headers, items, types)
    source = include.parent / "asked.cc"
    source.write_bytes(unit.text)
    command = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-Werror=conversion",
        "-Werror=sign-conversion",
        "-Werror=return-type",
        "-Wno-deprecated-declarations",
    ]
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("CPATH", None)
    result = subprocess.run(
        [*command, "-isystem", str(include), str(source)],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if result.returncode == 0:
        return set()
    found: set[str] = set()
    starts = [0]
    for line in unit.text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for match in re.finditer(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error:", result.stderr, re.MULTILINE):
        if not match.group(1).endswith("asked.cc"):
            return None
        span = unit.find(starts[int(match.group(2)) - 1])
        if span is None:
            return None
        found.add(span.item.id)
    return found or None


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_no_traceback_and_no_wrong_verdict(mutation: str, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        vendor, header = TARGETS[number % len(TARGETS)]
        chance = random.Random(zlib.crc32(f"{mutation} {number}".encode()))
        folder = tmp_path / str(number)
        include = written(vendor, folder)
        MUTATIONS[mutation](include, include / header, chance)
        try:
            _compare(intact(vendor), include, mutation)
        except AssertionError as error:
            raise AssertionError(f"{mutation} {number} on {vendor} {header}: {error}") from error
        shutil.rmtree(folder)


def _compare(sdk: Intact, include: Path, mutation: str) -> None:
    before = dict(sdk.report.types)
    answer = asked(sdk, include.parent)
    if isinstance(answer, SdkError):
        text = answer.render()
        assert "\n  = " in text, "a refusal names a remedy"
        assert isinstance(answer, SdkHeaderError), text
        if mutation not in _GXX_IS_LAX:
            wrong = gxx_errors(sdk.headers, sdk.used(), before, include)
            assert wrong is None or wrong, (
                f"g++ has nothing against these headers, and fl-gen gives no verdict:\n{text}"
            )
        return
    place, report = answer
    headers = place.headers(sdk.vendor)
    accepted = chosen_items(sdk.items, report)
    wrong = gxx_errors(headers, accepted, dict(report.types), include)
    assert wrong == set() or (wrong is None and mutation in _CLANG_IS_LAX), f"fl-gen accepts what g++ does not: {wrong}"
    used = {item.id: item for item in sdk.used() if item.form in ("expr", "body")}
    lost = [id_ for id_ in used if not report.verdicts[id_].ok]
    kept = {name: report.types.get(name, text) for name, text in before.items()}
    for id_ in lost if mutation not in _CHANGES_THE_QUESTION else ():
        item = used[id_]
        helpers = [one for one in sdk.items if one.id in item.helpers]
        if not any("$" in text for text in (item.code, *(type_ for type_, _ in item.params))) or kept == report.types:
            said = report.verdicts[id_].diagnostics[0].message
            assert gxx_errors(headers, [*helpers, item], kept, include) != set(), f"g++ takes {id_}, fl-gen: {said}"


def test_there_are_enough_of_them() -> None:
    assert len(MUTATIONS) * ROUNDS >= 180


# -- what is not text ------------------------------------------------------------------------------------------------


def _run(*arguments: str, before: Sequence[str] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """`fl-gen` in a process of its own, at most a minute; `before` is a command that runs it."""
    return subprocess.run(
        [*before, sys.executable, "-m", "fl_gen", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / "codegen"), **environment},
        check=False,
    )


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_is_not_opened(kind: str, tmp_path: Path) -> None:
    """Opening a named pipe or an endless device would never come back."""
    include = written("mlu", tmp_path)
    odd = include / "cn_api.h"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "device":
        odd.symlink_to("/dev/zero")
    else:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as end:
            end.bind(os.path.relpath(odd))  # a socket's path is short
    header = include / "cnrt.h"
    header.write_text('#include "cn_api.h"\n' + header.read_text())
    result = _run("sdk", "check", "mlu", "--sdk", str(tmp_path), "--no-cache")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert f"{odd} is no file but a {'named pipe' if kind == 'pipe' else kind}" in result.stderr
    assert "  = remove it from the SDK" in result.stderr


def test_a_header_that_may_not_be_read(tmp_path: Path) -> None:
    include = written("mlu", tmp_path)
    (include / "cnrt.h").chmod(0)
    # Root reads everything, unless it gives up that right.
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] if os.getuid() == 0 else []
    result = _run("sdk", "check", "mlu", "--sdk", str(tmp_path), "--no-cache", before=without)
    assert result.returncode == 2, result.stdout
    assert "Traceback" not in result.stderr
    assert "cnrt.h" in result.stderr
    assert "  = " in result.stderr


def test_the_environment_of_a_compiler_changes_nothing(tmp_path: Path) -> None:
    include = written("mlu", tmp_path)
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("cnrt.h", "stdint.h", "stddef.h"):
        (trap / name).write_text("#error trap\n")
    plain = _run("sdk", "check", "mlu", "--sdk", str(include.parent), "--no-cache", "--format", "json")
    traps = {name: str(trap) for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")}
    trapped = _run("sdk", "check", "mlu", "--sdk", str(include.parent), "--no-cache", "--format", "json", **traps)
    assert (plain.returncode, plain.stdout) == (trapped.returncode, trapped.stdout)
    assert plain.returncode == 0
