"""Finding an SDK: what is there, what is missing, and one clear message when nothing is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.vendor import Vendor
from fl_gen.sdk.find import SdkLocation, find_sdk
from fl_gen.sdk.items import SdkError

HEADERS = Path(__file__).parent / "headers"
Tree = Callable[..., Path]


@pytest.fixture(scope="module")
def mlu() -> Vendor:
    return Catalog(()).vendor("mlu")


@pytest.fixture
def neuware(tmp_path: Path) -> Tree:
    """Makes a Neuware root with some headers and libraries."""

    def make(
        name: str = "neuware", headers: tuple[str, ...] = ("cnrt.h", "cnnl.h", "cncl.h"), libs: tuple[str, ...] = ()
    ) -> Path:
        root = tmp_path / name
        (root / "include").mkdir(parents=True)
        (root / "lib64").mkdir()
        for header in headers:
            (root / "include" / header).write_text((HEADERS / header).read_text())
        for lib in libs:
            (root / "lib64" / lib).write_text("")
        return root

    return make


def test_explicit_root(mlu: Vendor, neuware: Tree) -> None:
    root = neuware(libs=("libcnrt.so", "libcnnl.so.1", "libcnnl.so.1.2"))
    found = find_sdk(mlu, [root], {})
    assert found.root == root
    assert found.include_dirs == (str(root / "include"),)
    assert found.library_dirs == (str(root / "lib64"),)
    assert found.groups_present == ("runtime", "blas", "ccl")
    assert found.version == "6.14.1"
    assert found.origin == "--sdk"
    assert found.libraries == {
        "cnrt": str(root / "lib64" / "libcnrt.so"),
        "cnnl": str(root / "lib64" / "libcnnl.so.1.2"),
        "cncl": None,
    }
    assert found.libraries_found == ("cnrt", "cnnl")
    assert found.libraries_missing == ("cncl",)
    assert found.headers(mlu) == ("cnrt.h", "cnnl.h", "cncl.h")


def test_include_folder_itself(mlu: Vendor, neuware: Tree) -> None:
    root = neuware()
    assert find_sdk(mlu, [root / "include"], {}).include_dirs == (str(root / "include"),)


def test_group_without_its_main_header_is_absent(mlu: Vendor, neuware: Tree) -> None:
    found = find_sdk(mlu, [neuware(headers=("cnrt.h", "cncl.h"))], {})
    assert found.groups_present == ("runtime", "ccl")
    assert found.groups_missing == {"blas": "cnnl.h"}
    assert "cnnl" not in found.libraries


def test_several_roots_make_one_sdk(mlu: Vendor, neuware: Tree) -> None:
    first, second = neuware("a", ("cnrt.h",), ("libcnrt.so",)), neuware("b", ("cncl.h",), ("libcncl.so",))
    found = find_sdk(mlu, [second, first], {})
    assert found.groups_present == ("runtime", "ccl")
    assert found.include_dirs == (str(second / "include"), str(first / "include"))
    assert found.libraries_missing == ()
    assert found.roots == (second, first)


def test_environment_then_default_roots(mlu: Vendor, neuware: Tree, tmp_path: Path) -> None:
    root = neuware()
    assert find_sdk(mlu, [], {"NEUWARE_HOME": str(root)}).origin == "NEUWARE_HOME"
    other = neuware("other")
    assert find_sdk(mlu, [other], {"NEUWARE_HOME": str(root)}).root == other, "--sdk wins"
    layout = _with_roots(mlu, (str(tmp_path / "none"), str(root)))
    assert find_sdk(layout, [], {"NEUWARE_HOME": ""}).origin == "default root"


def test_nothing_found_names_every_place(mlu: Vendor, tmp_path: Path) -> None:
    with pytest.raises(SdkError) as caught:
        find_sdk(_with_roots(mlu, (str(tmp_path / "none"),)), [], {})
    text = caught.value.render()
    assert (
        "no Neuware SDK found: looked for include/cnrt.h in $NEUWARE_HOME (not set), " + str(tmp_path / "none") in text
    )
    assert "--sdk" in caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_wrong_variable_is_an_error_and_not_passed_over(mlu: Vendor, neuware: Tree, tmp_path: Path) -> None:
    layout = _with_roots(mlu, (str(neuware()),))
    with pytest.raises(SdkError, match=r"NEUWARE_HOME=.*does not exist"):
        find_sdk(layout, [], {"NEUWARE_HOME": str(tmp_path / "gone")})


def test_root_without_the_required_header(mlu: Vendor, neuware: Tree) -> None:
    root = neuware(headers=("cnnl.h",))
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [root], {})
    text = str(caught.value)
    assert f"{root} is no Neuware SDK: cnrt.h (CNRT) is not in {root}/include, {root}" in text
    assert "name the folder that holds include/cnrt.h" in caught.value.remedy


def test_header_deeper_down_is_pointed_out(mlu: Vendor, neuware: Tree, tmp_path: Path) -> None:
    root = neuware("opt/neuware-6.14")
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [tmp_path / "opt"], {})
    assert caught.value.remedy == f"cnrt.h is in {root}/include: use --sdk {root}"


def test_file_instead_of_folder(mlu: Vendor, neuware: Tree) -> None:
    root = neuware()
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [root / "include" / "cnrt.h"], {})
    assert "is a file, not a folder" in caught.value.message
    assert caught.value.remedy == f"use --sdk {root}"


def test_misspelt_folder(mlu: Vendor, neuware: Tree) -> None:
    root = neuware()
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [root.parent / "neuwear"], {})
    assert "does not exist" in caught.value.message
    assert caught.value.remedy == f"did you mean {root}?"


def test_only_a_folder_that_holds_the_sdk_is_meant(mlu: Vendor, tmp_path: Path) -> None:
    (tmp_path / "nonexistent").mkdir()
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [tmp_path / "nonexisting"], {})
    assert caught.value.remedy == "name the folder that holds include/cnrt.h"


def test_a_header_below_an_include_folder_is_to_be_written_with_its_folder(mlu: Vendor, neuware: Tree) -> None:
    root = neuware(headers=())
    (root / "include" / "cnr").mkdir()
    (root / "include" / "cnr" / "cnrt.h").write_text((HEADERS / "cnrt.h").read_text())
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [root], {})
    assert caught.value.remedy == (
        f"cnrt.h is in {root}/include/cnr: write groups.runtime.headers: [cnr/cnrt.h] in the vendor file"
    )


def test_symbolic_links(mlu: Vendor, neuware: Tree, tmp_path: Path) -> None:
    root = neuware()
    link = tmp_path / "link"
    link.symlink_to(root)
    assert find_sdk(mlu, [link], {}).include_dirs == (str(link / "include"),), "the name that was given is kept"
    (root / "loop").symlink_to(root)
    assert find_sdk(mlu, [root], {}).root == root
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(SdkError, match="leads back to itself"):
        find_sdk(mlu, [loop], {})
    (root / "include" / "cnrt.h").unlink()
    with pytest.raises(SdkError, match="is no Neuware SDK"):
        find_sdk(mlu, [root], {})


def test_relative_and_home_paths(mlu: Vendor, neuware: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = neuware()
    monkeypatch.chdir(root.parent)
    monkeypatch.setenv("HOME", str(root.parent))
    for named in ("neuware", "./neuware/", "~/neuware", "neuware/../neuware"):
        assert find_sdk(mlu, [named], {}).root == root


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\udcff", "x" * 5000, "", "\n", "-", "sim"])
def test_hostile_paths(mlu: Vendor, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SdkError) as caught:
        find_sdk(mlu, [text], {})
    assert caught.value.remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folder(mlu: Vendor, neuware: Tree) -> None:
    root = neuware()
    root.chmod(0)
    try:
        with pytest.raises(SdkError, match="permission denied"):
            find_sdk(mlu, [root], {})
    finally:
        root.chmod(0o755)


def test_denied_folder_by_any_user(mlu: Vendor, neuware: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = neuware()

    def denied(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fl_gen.sdk.find.os.scandir", denied)
    with pytest.raises(SdkError, match="permission denied"):
        find_sdk(mlu, [root], {})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("#define CNRT_MAJOR_VERSION 7\n#define CNRT_MINOR_VERSION 0x2\n#define CNRT_PATCH_VERSION (3u)\n", "7.2.3"),
        ("#define CNRT_MAJOR_VERSION 7 // new\n#define CNRT_MINOR_VERSION 2 /* x */\n", "7.2"),
        ("#define CNRT_MAJOR_VERSION (6 + 1)\n#define CNRT_MINOR_VERSION CNRT_MAJOR_VERSION\n", "7.7"),
        ('#define CNRT_MAJOR_VERSION "x"\n', None),
        ("", None),
    ],
)
def test_version_macros(mlu: Vendor, neuware: Tree, text: str, version: str | None) -> None:
    root = neuware(headers=())
    (root / "include" / "cnrt.h").write_text(text)
    assert find_sdk(mlu, [root], {}).version == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("#define CUDART_VERSION  12090\n", "12.9"),
        ("#define CUDART_VERSION (13 * 1000 + 50)\n", "13.5"),
        ("#define CUDART_VERSION 0\n", "0.0"),
        ("#define CUDART_VERSION x\n", None),
        ("", None),
    ],
)
def test_a_version_in_one_number(tmp_path: Path, text: str, version: str | None) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda_runtime_api.h").write_text(text)
    assert find_sdk(Catalog(()).vendor("nvidia"), [tmp_path], {}).version == version


def test_an_sdk_in_packages(tmp_path: Path) -> None:
    """One folder with a folder for each package, as the Python index lays CUDA out."""
    nvidia = tmp_path / "site-packages" / "nvidia"
    for path in ("cuda_runtime/include/cuda_runtime_api.h", "nccl/include/nccl.h", "cuda_nvcc/include/crt/host_defines.h",
                 "cuda_runtime/lib/libcudart.so.12"):  # fmt: skip
        (nvidia / path).parent.mkdir(parents=True, exist_ok=True)
        (nvidia / path).write_text("")
    vendor = Catalog(()).vendor("nvidia")
    found = find_sdk(vendor, [nvidia], {})
    assert found.groups_present == ("runtime", "ccl")
    assert found.include_dirs == tuple(str(nvidia / part / "include") for part in ("cuda_runtime", "cuda_nvcc", "nccl"))
    assert found.libraries["cudart"] == str(nvidia / "cuda_runtime" / "lib" / "libcudart.so.12")
    # One level too high or too deep: the hint names the folder from which every package is seen.
    with pytest.raises(SdkError) as caught:
        find_sdk(vendor, [nvidia.parent], {})
    assert caught.value.render().endswith(f"use --sdk {nvidia}")
    with pytest.raises(SdkError) as caught:
        find_sdk(vendor, [nvidia / "cuda_runtime" / "include" / "cuda_runtime_api.h"], {})
    assert caught.value.render().endswith(f"use --sdk {nvidia}")


def test_headers_in_memory(mlu: Vendor) -> None:
    memory = {"/__sim__/mlu/include/cnrt.h": (HEADERS / "cnrt.h").read_text()}
    found = find_sdk(mlu, ["/__sim__/mlu"], {}, memory=memory)
    assert found.include_dirs == ("/__sim__/mlu/include",)
    assert found.groups_present == ("runtime",)
    assert found.version == "6.14.1"
    assert isinstance(found, SdkLocation)


def test_maca_layout(tmp_path: Path) -> None:
    maca = Catalog(()).vendor("maca")
    header = tmp_path / "include" / "mcr" / "mc_runtime.h"
    header.parent.mkdir(parents=True)
    header.write_text((HEADERS / "mcr" / "mc_runtime.h").read_text())
    found = find_sdk(maca, [], {"MACA_HOME": str(tmp_path)})
    assert found.groups_present == ("runtime",)
    assert found.version is None
    assert found.origin == "MACA_HOME"


def _with_roots(vendor: Vendor, roots: tuple[str, ...]) -> Vendor:
    from dataclasses import replace

    return replace(vendor, sdk=replace(vendor.sdk, roots=roots))
