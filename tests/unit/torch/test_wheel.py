"""Where PyTorch is looked for, and what its headers are asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fl_gen.schema.torch import Feature, load_features
from fl_gen.sdk import clang, wheel_probe
from fl_gen.sdk.torch_ops import TorchgenError, read_ops
from fl_gen.sdk.wheel import NoTorch, Wheel, find_wheel
from fl_gen.sdk.wheel_probe import WheelError, probe_features

from .conftest import MakeWheel

FEATURES = """\
schema: 1
features:
  emptying:
    headers: [c10/core/Device.h]
    probe: using Probe = decltype(&c10::DeviceAllocator::emptyCache);
    doc: A method.
  pools:
    headers: [c10/core/Device.h]
    probe: "struct Probe : c10::DeviceAllocator { void emptyCache(int) override; };"
    doc: A signature.
  config:
    headers: [c10/core/Config.h]
    probe: using Probe = c10::Config;
    doc: A header that is not there.
"""
DEVICE = "namespace c10 { struct DeviceAllocator { virtual void emptyCache(); }; }\n"


@pytest.fixture
def features(tmp_path: Path) -> tuple[Feature, ...]:
    path = tmp_path / "features.yaml"
    path.write_text(FEATURES)
    return tuple(load_features(path).features.values())


def test_a_folder_of_packages_and_the_package_itself_are_taken(make_wheel: MakeWheel) -> None:
    site = make_wheel()
    for given in (site, site / "torch"):
        found = find_wheel(given, {})
        assert (found.package, found.site, found.version, found.release) == (
            site / "torch",
            site,
            "2.13.0+cpu",
            "2.13.0",
        )
    assert find_wheel(None, {"TORCH_FL_TORCH": str(site)}).origin == "TORCH_FL_TORCH"


def test_what_is_given_counts_before_the_variable(make_wheel: MakeWheel, tmp_path: Path) -> None:
    assert find_wheel(make_wheel(), {"TORCH_FL_TORCH": str(tmp_path / "none")}).origin == "named"


def test_the_active_environment_is_looked_in(
    make_wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    folder = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    folder.parent.mkdir(parents=True)
    make_wheel().rename(folder)
    found = find_wheel(None, {"VIRTUAL_ENV": str(tmp_path / "venv")})
    assert (found.site, found.origin) == (folder, "VIRTUAL_ENV")


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(NoTorch) as nothing:
        find_wheel(None, {})
    assert nothing.value.render() == (
        "--framework torch needs PyTorch, and this Python has none\n"
        "  = pip install torch, or name its folder with --torch or TORCH_FL_TORCH"
    )
    with pytest.raises(NoTorch) as empty:
        find_wheel(tmp_path, {})
    assert empty.value.render() == (
        f"{tmp_path}: there is no PyTorch in it\n"
        "  = name a site-packages folder that holds torch/, or torch/ itself"
    )


def test_a_package_that_is_no_wheel(make_wheel: MakeWheel) -> None:
    site = make_wheel()
    (site / "torch" / "include" / "c10" / "core" / "Allocator.h").unlink()
    with pytest.raises(NoTorch, match=r"this PyTorch 2\.13\.0\+cpu has no headers in include/"):
        find_wheel(site, {})
    for text in (b"\xff\xfe no version", b"__version__ = '2.13.0\\n#error'\n", b"__version__ = '2.13\"; import os'\n"):
        (site / "torch" / "version.py").write_bytes(text)
        with pytest.raises(
            NoTorch, match="it names no version: this is no installed PyTorch\n  = install PyTorch from"
        ):
            find_wheel(site, {})


def test_a_torchgen_that_is_broken(make_wheel: MakeWheel) -> None:
    site = make_wheel()
    folder = site / "torchgen" / "packaged" / "ATen" / "native"
    folder.mkdir(parents=True)
    (folder / "tags.yaml").write_text("", encoding="utf-8")
    (folder / "native_functions.yaml").write_bytes(b"\xff")
    wheel = find_wheel(site, {})
    with pytest.raises(TorchgenError, match=r"native: its files are no text: byte 0 is not UTF-8\n  = install PyTorch"):
        read_ops(wheel, None)
    (folder / "native_functions.yaml").write_text("", encoding="utf-8")
    start = site / "torchgen" / "__init__.py"
    start.write_text("raise ValueError('first line\\n    - func: oops(\\x1b[31m')", encoding="utf-8")
    with pytest.raises(TorchgenError) as error:
        read_ops(wheel, None)
    assert str(error.value) == (
        "torchgen of PyTorch 2.13.0+cpu failed: ValueError: first line - func: oops(\\x1b[31m\n"
        "  = is this PyTorch installed whole?"
    )
    start.write_text("import sys; print('[]'); sys.exit(0)", encoding="utf-8")
    with pytest.raises(TorchgenError, match=r"native: torchgen of PyTorch 2.13.0\+cpu gives no list of operators\n"):
        read_ops(wheel, None)


def test_torchgen_is_that_of_the_wheel(make_wheel: MakeWheel) -> None:
    """Also where the running Python has a PyTorch of its own."""
    site = make_wheel()
    folder = site / "torchgen" / "packaged" / "ATen" / "native"
    folder.mkdir(parents=True)
    for name in ("native_functions.yaml", "tags.yaml"):
        (folder / name).write_text("", encoding="utf-8")
    (site / "torchgen" / "__init__.py").write_text("raise ValueError(__file__)", encoding="utf-8")
    with pytest.raises(TorchgenError) as error:
        read_ops(find_wheel(site, {}), None)
    assert f"ValueError: {site / 'torchgen' / '__init__.py'}" in str(error.value)


def found_in(make_wheel: MakeWheel, header: str) -> Wheel:
    return find_wheel(make_wheel({"c10/core/Device.h": header}), {})


def test_features_are_what_compiles(make_wheel: MakeWheel, features: tuple[Feature, ...]) -> None:
    assert probe_features(features, found_in(make_wheel, DEVICE), None) == {
        "emptying": True,
        "pools": False,
        "config": False,
    }
    newer = DEVICE.replace("emptyCache()", "emptyCache(int)")
    assert probe_features(features, found_in(make_wheel, newer), None) == {
        "emptying": True,
        "pools": True,
        "config": False,
    }


def test_headers_that_do_not_parse_give_no_verdict(make_wheel: MakeWheel, features: tuple[Feature, ...]) -> None:
    with pytest.raises(WheelError) as broken:
        probe_features(features, found_in(make_wheel, DEVICE + "namespace c10 { int broken = ; }\n"), None)
    assert "Device.h:2:30: expected expression\n" in broken.value.render()
    assert "do not parse here: nothing can be said about them, and nothing was written" in broken.value.render()


def test_an_answer_is_kept_for_the_same_wheel_and_questions(
    make_wheel: MakeWheel, features: tuple[Feature, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = found_in(make_wheel, DEVICE)
    first = probe_features(features, wheel, tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(clang, "parse", None)  # a call would raise
        assert probe_features(features, wheel, tmp_path / "cache") == first
    asked = []
    monkeypatch.setattr(wheel_probe, "_refused", lambda *_: asked.append(1) or set())
    probe_features(features[:1], wheel, tmp_path / "cache")
    assert asked
    (entry,) = [path for path in (tmp_path / "cache").iterdir() if "pools" in path.read_text()]
    entry.write_text('{"emptying": "yes"}')
    probe_features(features, wheel, tmp_path / "cache")
    assert len(asked) == 2


def test_the_shipped_features_in_the_real_wheel(wheel: Wheel, tmp_path: Path) -> None:
    from fl_gen.schema.catalog import Catalog

    known = Catalog().torch().features
    found = probe_features(known.values(), wheel, tmp_path)
    assert set(found) == set(known)
    if wheel.release == "2.13.0":
        assert {name for name, there in found.items() if not there} == {"hooks_shallow_copy"}
