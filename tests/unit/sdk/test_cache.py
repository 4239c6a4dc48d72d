"""The probe cache: by content, never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.schema.location import Location
from fl_gen.sdk import cache as cache_module
from fl_gen.sdk import clang
from fl_gen.sdk.cache import Cache
from fl_gen.sdk.items import ProbeItem, ProbeReport
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import Shims, minimal, tiers

Item = Callable[..., ProbeItem]


@pytest.fixture
def items(item: Item) -> list[ProbeItem]:
    return [
        item("alloc", "cnrtMalloc(ptr, size)", params=[("void **", "ptr"), ("size_t", "size")]),
        item("bad", "cnrtMallocAsync(ptr, size)", params=[("void **", "ptr"), ("size_t", "size")], line=3),
        item("queue", "cnrtQueue_t", "type", provides="stream"),
    ]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def _ask(items: list[ProbeItem], sdk: Path, cache: Cache, *more: Path) -> ProbeReport:
    return probe(items, ["cnrt.h"], [*more, sdk], minimal(), cache)


def test_second_probe_is_the_first_one_remembered(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    first, second = _ask(items, sdk, cache), _ask(items, sdk, cache)
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first


def test_places_are_not_remembered(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    """Moving a candidate in the YAML does not ask the compiler again, and its errors move with it."""
    _ask(items, sdk, cache)
    moved = [replace(one, locate=lambda offset: Location("other.yaml", 9, offset + 1)) for one in items]
    report = _ask(moved, sdk, cache)
    assert report.cached
    assert str(report.verdicts["bad"].diagnostics[0].location) == "other.yaml:9:1"


def test_a_changed_header_counts(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    _ask(items, sdk, cache)
    header = sdk / "cnrt.h"
    before = header.stat()
    header.write_text(header.read_text().replace("cnrtMalloc(void **pPtr", "cnrtMallok(void **pPtr"))
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))  # content counts, not time
    report = _ask(items, sdk, cache)
    assert not report.cached
    assert not report.verdicts["alloc"].ok


def test_a_shadowing_header_counts(items: list[ProbeItem], sdk: Path, cache: Cache, tmp_path: Path) -> None:
    """No header that was read has changed, but another one would be read now."""
    front = tmp_path / "front"
    front.mkdir()
    assert _ask(items, sdk, cache, front).verdicts["alloc"].ok
    assert _ask(items, sdk, cache, front).cached
    (front / "cnrt.h").write_text((sdk / "cnrt.h").read_text().replace("cnrtMalloc(void **pPtr", "cnrtMallok(void **p"))
    report = _ask(items, sdk, cache, front)
    assert not report.cached
    assert not report.verdicts["alloc"].ok


def test_a_shadowing_header_in_a_sub_folder_counts(item: Item, sdk: Path, cache: Cache, tmp_path: Path) -> None:
    front = tmp_path / "front"
    front.mkdir()
    one = [item("init", "mcInit(0)", returns="mcError_t")]
    args = (one, ["mcr/mc_runtime.h"], [front, sdk], minimal(), cache)
    assert probe(*args).verdicts["init"].ok
    assert probe(*args).cached
    (front / "mcr").mkdir()
    (front / "mcr" / "mc_runtime.h").write_text("typedef int mcError_t;\n")
    assert not probe(*args).cached


def test_another_question_is_another_entry(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    _ask(items, sdk, cache)
    assert not _ask([replace(items[0], code="cnrtMalloc(ptr, 2 * size)"), *items[1:]], sdk, cache).cached
    assert not _ask([replace(items[0], returns="int"), *items[1:]], sdk, cache).cached
    assert not _ask([replace(items[0], strict_typedefs=True), *items[1:]], sdk, cache).cached
    assert not _ask([items[1], items[0], items[2]], sdk, cache).cached
    assert not probe(items, ["cnrt.h", "cnnl.h"], [sdk], minimal(), cache).cached
    assert not probe(items, ["cnrt.h"], [sdk], Shims("other", "", minimal().dirs, minimal().files), cache).cached


def test_in_memory_headers_count(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    text = (sdk / "cnrt.h").read_text()

    def ask(header: str) -> ProbeReport:
        return probe(items, ["cnrt.h"], ["/m"], minimal(), cache, memory={"/m/cnrt.h": header})

    assert not ask(text).cached
    assert ask(text).cached
    assert not ask(text + "\n").cached


def test_another_libclang_is_another_entry(
    items: list[ProbeItem], sdk: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ask(items, sdk, cache)
    monkeypatch.setattr(cache_module, "library_identity", lambda: "another")
    assert not _ask(items, sdk, cache).cached


def _entries(cache: Cache) -> list[Path]:
    assert cache.folder is not None
    return sorted((cache.folder / "probe").glob("*.json"))


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"check": 1}',
        b"\xff\xfe",
        b'{"outcome": {}, "check": "", "listings": {}}',
        b"[" * 100_000,
    ],
    ids=["empty", "cut", "null", "list", "fields", "bytes", "hollow", "deep"],
)
def test_damaged_entries_are_made_again(items: list[ProbeItem], sdk: Path, cache: Cache, damage: bytes) -> None:
    first = _ask(items, sdk, cache)
    (entry,) = _entries(cache)
    entry.write_bytes(damage)
    again = _ask(items, sdk, cache)
    assert not again.cached
    assert again == first
    assert _ask(items, sdk, cache).cached


def test_an_edited_entry_does_not_count(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    _ask(items, sdk, cache)
    (entry,) = _entries(cache)
    stored = json.loads(entry.read_text())
    stored["outcome"]["findings"]["bad"] = []
    entry.write_text(json.dumps(stored))
    report = _ask(items, sdk, cache)
    assert not report.cached
    assert not report.verdicts["bad"].ok


def test_a_cache_that_cannot_be_written_is_no_error(items: list[ProbeItem], sdk: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert _ask(items, sdk, Cache(blocked)).verdicts["alloc"].ok
    assert _ask(items, sdk, Cache(Path("/proc/nowhere"))).verdicts["alloc"].ok


def test_a_full_disk_is_no_error(
    items: list[ProbeItem], sdk: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert _ask(items, sdk, cache).verdicts["alloc"].ok
    assert cache.folder is not None
    assert list((cache.folder / "probe").iterdir()) == [], "no scrap is left behind"


def test_old_entries_go(items: list[ProbeItem], sdk: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_MAX_ENTRIES", 2)
    for size in range(4):
        _ask([replace(items[0], code=f"cnrtMalloc(ptr, {size})")], sdk, cache)
    assert len(_entries(cache)) == 2


def test_broken_headers_are_not_remembered(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    good = (sdk / "cnrt.h").read_text()
    (sdk / "cnrt.h").write_text("typedef foo bar;\n")
    from fl_gen.sdk.items import SdkHeaderError

    with pytest.raises(SdkHeaderError):
        _ask(items, sdk, cache)
    assert not (cache.folder / "probe").exists() or _entries(cache) == []  # type: ignore[operator]
    (sdk / "cnrt.h").write_text(good)
    assert _ask(items, sdk, cache).verdicts["alloc"].ok


def test_folder_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(tmp_path / "x"))
    assert Cache().folder == tmp_path / "x"
    monkeypatch.delenv("FL_GEN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Cache().folder == tmp_path / "xdg" / "fl-gen"


def test_warm_probe_does_not_load_libclang(items: list[ProbeItem], sdk: Path, tmp_path: Path) -> None:
    code = """
import pathlib, sys
from fl_gen.schema.location import Location
from fl_gen.sdk.cache import Cache
from fl_gen.sdk.items import ProbeItem
from fl_gen.sdk.probe import probe
at = Location("v")
item = ProbeItem("x", "cnrtRet_t", (), "cnrtNope()", "expr", (), at, lambda offset: Location("v", 1, offset + 1))
report = probe([item], ["cnrt.h"], [sys.argv[1]], cache=Cache(pathlib.Path(sys.argv[2])))
print(report.cached, "clang.cindex" in sys.modules, report.verdicts["x"].diagnostics[0].location)
"""
    env = {**os.environ, "PYTHONPATH": str(Path(clang.__file__).parents[2])}
    command = [sys.executable, "-c", code, str(sdk), str(tmp_path / "cache")]
    runs = [subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120) for _ in range(2)]
    outputs = [run.stdout for run in runs]
    assert outputs == ["False True v:1:1\n", "True False v:1:1\n"]


def test_real_compiler_headers_can_be_cached_too(items: list[ProbeItem], sdk: Path, cache: Cache) -> None:
    args = (items, ["cnrt.h"], [sdk], tiers(), cache)
    assert probe(*args).cached is False
    assert probe(*args).cached is True
