"""Spoilt schema files: a located message, or a backend that the compiler takes; never a traceback, a hang or a stray file.

Each input is a shipped file with one to three changes of `hostile_schemas.py`, laid over the shipped ones. 300 of them, or
10,000 with FL_GEN_TORTURE; `FL_GEN_FUZZ_FIRST` is the number of the first.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fl_gen.output.manifest import safe_relative
from fl_gen.render import verify as verify_module
from fl_gen.render.verify import Sources, verify
from fl_gen.schema import catalog as catalog_module
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError, SchemaError
from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import Prepared, generate, prepare
from fl_gen.workflow.project import find_project
from fl_gen.workflow.request import Request

from .hostile_schemas import KERNELS, Spoilt, spoilt, targets

SHARES = 4  # tests, so that several workers share the inputs
COUNT = 10_000 if os.environ.get("FL_GEN_TORTURE") else 300
FIRST = int(os.environ.get("FL_GEN_FUZZ_FIRST", "0"))
COMPILED = 20 // SHARES  # survivors of each share that are parsed
MOST_SECONDS = 5.0  # of processor time for one input
_LOCATED = re.compile(r"^\S[^\n]*?:\d+:\d+: ", re.MULTILINE)


class Hang(BaseException):
    """No except clause of ours may swallow it."""


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raises Hang when the block takes longer, on the wall clock of a machine that may be busy."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _outcome(one: Spoilt, folder: Path, cache: Path) -> Prepared | FlGenError | None:
    """What fl-gen makes of the input: a backend in memory, a refusal, or nothing to render (a project file)."""
    vendor = one.target.vendor
    try:
        if one.target.path == "fl-gen.yaml":
            (folder / "schemas").mkdir()
            found = find_project(one.write(folder))
            assert found is not None
            found.requests()
            return None
        if one.target.path == "kernels.yaml":
            for file in re.findall(r"file: (\w+\.cc)", KERNELS):
                source = folder / "out" / "backends" / vendor / "kernels" / file
                source.parent.mkdir(parents=True, exist_ok=True)
                source.touch()
            one.write(folder / "out" / "backends" / vendor)
            return prepare(Request(vendor, sdk=("sim",), output=folder / "out", cache=cache, formatted=False))
        one.write(folder / "schemas")
        problems = Catalog([folder / "schemas"]).check(vendor)
        for problem in problems:
            assert _LOCATED.search(problem.render()), problem
        if problems and not one.target.path.endswith("api.yaml"):
            return SchemaError(problems)  # a run stops there; what it makes of api.yaml goes another way
        return prepare(
            Request(
                vendor,
                sdk=("sim",),
                output=folder / "out",
                schema_dirs=(folder / "schemas",),
                cache=cache,
                formatted=False,
            )
        )
    except FlGenError as error:
        return error


@pytest.fixture(autouse=True)
def _shipped_files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one file of an input differs: the others are models already. Half of the time would go into them."""
    for name in ("load_ops", "load_interface", "load_runtime"):
        original = getattr(catalog_module, name)

        @functools.cache
        def kept(path: Path, shown: str, original: Any = original) -> Any:
            return original(path, shown)

        def load(path: Path, shown: str, original: Any = original, kept: Any = kept) -> Any:
            return kept(path, shown) if path.is_relative_to(data_dir()) else original(path, shown)

        monkeypatch.setattr(catalog_module, name, load)


@functools.cache
def _intact(vendor: str) -> dict[str, str]:
    return dict(prepare(Request(vendor, sdk=("sim",), formatted=False)).files)


def _changed(one: Spoilt, prepared: Prepared) -> dict[str, str]:
    """The units whose text is not that of the intact schemas, and a few more when a header changed; with all headers."""
    before = _intact(one.target.vendor)
    new = [path for path, text in prepared.files.items() if before.get(path) != text and path.endswith((".cc", ".h"))]
    units = [path for path in new if path.endswith(".cc")]
    if any(path.endswith(".h") for path in new):
        units += [path for path in prepared.files if path.startswith("src/") and path.endswith(".cc")][:4]
    chosen = {path: prepared.files[path] for path in dict.fromkeys(units[:12])}
    if chosen:
        chosen |= {path: text for path, text in prepared.files.items() if path.endswith(".h")}
    return chosen


@contextmanager
def _shared_prefix(folder: Path) -> Iterator[None]:
    """What all units share is precompiled once, while the headers in it are the same."""
    original = verify_module._precompile

    def precompile(prefix: bytes, arguments: Any, files: Any, target: str, framework: str) -> None:
        digest = hashlib.sha256(repr((prefix, list(arguments))).encode())
        for path in sorted(path for path in files if "/tree/" not in path):
            digest.update(f"{path}\0{files[path]!r}\0".encode())
        kept = folder / f"{digest.hexdigest()}.pch"
        if not kept.exists():
            original(prefix, arguments, files, os.fspath(kept), framework)
        shutil.copyfile(kept, target)

    verify_module._precompile = precompile
    try:
        yield
    finally:
        verify_module._precompile = original


def _parse(chosen: dict[str, str], prepared: Prepared, request_folder: Path) -> None:
    """Raises VerifyError when the compiler does not take the units."""
    resolved = prepared.resolved
    records = {path: (record.template, tuple(record.nodes)) for path, record in prepared.manifest.files.items()}
    sources = Sources(records, (data_dir() / "templates" / "infinitrain",), request_folder)
    verify(chosen, resolved.backend, sources, resolved.sdk.include_dirs, resolved.sdk.memory)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_spoilt_schemas(share: int, tmp_path: Path) -> None:
    everything = targets()
    cache = tmp_path / "cache"
    precompiled = tmp_path / "pch"
    precompiled.mkdir()
    faults: list[str] = []
    survived = parsed = 0
    for number in range(FIRST + share, FIRST + COUNT, SHARES):
        one = spoilt(number, everything)
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        what = f"input {number}, {one.target.path}: {one.how}"
        start = time.process_time()
        try:
            with _limited(120):
                result = _outcome(one, folder, cache)
                seconds = time.process_time() - start
                if seconds > MOST_SECONDS:
                    faults.append(f"{what}: {seconds:.1f} s")
                if isinstance(result, FlGenError):
                    if not _LOCATED.search(result.render()):
                        faults.append(f"{what}: no place in: {result.render()}")
                elif result is not None:
                    survived += 1
                    stray = [path for path in (*result.files, *result.once) if not safe_relative(path)]
                    if stray:
                        faults.append(f"{what}: {stray}")
                    chosen = _changed(one, result) if parsed < COMPILED else {}
                    if chosen:
                        parsed += 1
                        with _shared_prefix(precompiled):
                            _parse(chosen, result, folder / "out")
        except Hang:
            faults.append(f"{what}: does not come back")
        except FlGenError as error:
            faults.append(f"{what}: the compiler refuses it: {error.render()}")
        except Exception as error:
            import traceback

            last = traceback.extract_tb(error.__traceback__)[-1]
            faults.append(f"{what}: {type(error).__name__} {str(error)[:300]} at {last.filename}:{last.lineno}")
        shutil.rmtree(folder)
    stray_files = {path.name for path in tmp_path.iterdir()} - {"cache", "pch"}
    assert not stray_files
    assert not faults, f"{len(faults)} of {COUNT // SHARES}:\n" + "\n".join(faults)
    assert survived, "every input was refused: then nothing was learnt about what is generated"
    assert parsed or COUNT < 300


def test_a_survivor_writes_below_its_folder_only(tmp_path: Path) -> None:
    """What was accepted is published as any other backend: beside its two folders nothing is made."""
    everything = targets()
    for number in range(FIRST, FIRST + 400):
        one = spoilt(number, everything)
        if one.target.path in ("fl-gen.yaml", "kernels.yaml"):
            continue
        one.write(tmp_path / "schemas")
        request = Request(
            one.target.vendor,
            sdk=("sim",),
            output=tmp_path / "out",
            schema_dirs=(tmp_path / "schemas",),
            formatted=False,
        )
        try:
            generate(request)
        except FlGenError:
            assert not (tmp_path / "out" / "generated" / one.target.vendor).exists()
            shutil.rmtree(tmp_path / "schemas")
            continue
        break
    else:
        pytest.fail("no input survived")
    made = {path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")}
    assert made == {"generated", "backends"}
    assert {path.name for path in tmp_path.iterdir()} == {"schemas", "out"}
