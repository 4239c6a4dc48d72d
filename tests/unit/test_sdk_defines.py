"""Macros that an SDK's headers want defined (`sdk.defines`): in the probe, in a dump and in generated code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.sdk_check import check_sdk
from fl_gen.tasks.sdk_dump import dump_vendor
from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request

HEADER = """\
#if !defined(__HIP_PLATFORM_AMD__) || __HIP_PLATFORM_AMD__ != 1
#error name the platform
#endif
typedef enum hipError_t { hipSuccess } hipError_t;
hipError_t hipGetDevice(int *device);
"""


@pytest.fixture
def sdk(tmp_path: Path) -> str:
    (tmp_path / "include" / "hip").mkdir(parents=True)
    (tmp_path / "include" / "hip" / "hip_runtime_api.h").write_text(HEADER)
    return str(tmp_path)


def test_the_check_and_the_dump_define_them(sdk: str) -> None:
    request = Request(vendor="dcu", sdk=(sdk,))
    check = check_sdk(request)
    assert {one.name for one in check.operations if one.state == "bound"} == {"device.get"}
    assert check.sdk.include_dirs == (f"{sdk}/include",)
    assert [function.name for function in dump_vendor(request).functions] == ["hipGetDevice"]


def test_generated_code_defines_them_before_the_headers() -> None:
    files = prepare(Request(vendor="dcu", sdk=("sim",), formatted=False)).files
    text = files["src/common/common_dcu.h"]
    place = text.index("#if !defined(__HIP_PLATFORM_AMD__)")
    assert text.index("#define __HIP_PLATFORM_AMD__ 1\n#endif") > place
    assert text.index("#include <hip/hip_runtime_api.h>") > place


def test_a_vendor_without_them_meets_the_headers_own_words(sdk: str, tmp_path: Path) -> None:
    from fl_gen.schema.paths import data_dir

    folder = tmp_path / "schemas" / "vendors" / "dcu"
    folder.mkdir(parents=True)
    text = (data_dir() / "schemas" / "vendors" / "dcu" / "vendor.yaml").read_text(encoding="utf-8")
    (folder / "vendor.yaml").write_text(text.replace("  defines: [__HIP_PLATFORM_AMD__]\n", ""), encoding="utf-8")
    with pytest.raises(FlGenError, match="name the platform"):
        check_sdk(Request(vendor="dcu", sdk=(sdk,), schema_dirs=(tmp_path / "schemas",)))
