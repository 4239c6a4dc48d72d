"""The headers of the simulated SDKs against what is known of the vendors'.

The expected texts were copied from the vendors' headers, not from api.yaml.
"""

from __future__ import annotations

import time

import pytest
import yaml

from fl_gen.render.simapi import Api, ApiError, load_api, parse_api
from fl_gen.render.simheaders import function_name, numbers, render_headers
from fl_gen.render.simsdk import render_sim_sdk
from fl_gen.schema.paths import data_dir

from .conftest import VENDORS, api_of, parse

VERSIONS = [(vendor, version.version) for vendor in VENDORS for version in api_of(vendor).versions]


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize(("vendor", "version"), VERSIONS)
def test_headers_parse_without_a_diagnostic(vendor: str, version: str, language: str) -> None:
    parsed = parse(vendor, version, language)
    assert parsed.diagnostics == ()
    assert len(parsed.functions) > 25


SIGNATURES = {
    ("mlu", "6.14.1"): [
        "cnrtRet_t cnrtGetDeviceCount(unsigned int *)",
        "cnrtRet_t cnrtMemcpy(void *, void *, size_t, cnrtMemTransDir_t)",
        "cnrtRet_t cnrtMemcpyAsync(void *, void *, size_t, cnrtQueue_t, cnrtMemTransDir_t)",
        (
            "cnrtRet_t cnrtMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, cnrtMemTransDir_t, "
            "cnrtQueue_t)"
        ),
        "cnrtRet_t cnrtMemAllocAsync(void **, size_t, cnrtQueue_t)",
        "cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t, cnrtQueue_t, unsigned int)",
        "cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t, cnrtNotifier_t, float *)",
        "cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t)",
        "cnrtRet_t cnrtDeviceSetMemPool(int, cnrtMemPool_t)",
        "cnrtRet_t cnrtDeviceGetMemPool(cnrtMemPool_t *, int)",
        "cnrtRet_t cnrtGetDeviceProperties_V3(cnrtDeviceProp_t *, int)",
        (
            "cnrtRet_t cnrtCastDataType_V2(const void *, cnrtDataType_V2_t, void *, cnrtDataType_V2_t, int, "
            "cnrtQuantizedParam_t, cnrtRoundingMode_t)"
        ),
        "cnnlStatus_t cnnlCreate(cnnlHandle_t *)",
        "cnnlStatus_t cnnlGetQueue(cnnlHandle_t, cnrtQueue_t *)",
        "void cnnlGetLibVersion(int *, int *, int *)",
        (
            "cnnlStatus_t cnnlCastDataType(cnnlHandle_t, const cnnlTensorDescriptor_t, const void *, "
            "const cnnlCastDataType_t, const cnnlTensorDescriptor_t, void *)"
        ),
        "cnclResult_t cnclInitComms(cnclComm_t *, int, const int *, const int *, int, const cnclCliqueId_t)",
        "cnclResult_t cnclSend(void *, const size_t, cnclDataType_t, const int, const cnclComm_t, cnrtQueue_t)",
        "cnclResult_t cnclGetCommCount(int *, const cnclComm_t)",
        "cnclResult_t cnclGetCommAsyncError(const cnclComm_t)",
    ],
    ("mlu", "6.0.2"): [
        "cnrtRet_t cnrtHostMalloc(void **, size_t)",
        "cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *, int)",
        (
            "cnrtRet_t cnrtCastDataType_V2(void *, cnrtDataType_V2_t, void *, cnrtDataType_V2_t, int, "
            "cnrtQuantizedParam_t, cnrtRoundingMode_t)"
        ),
    ],
    ("mlu", "4.3.0"): [
        "cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *)",
        "cnrtRet_t cnrtMallocHost(void **, size_t, cnrtMemType_t)",
        "cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *, int)",
        "cnrtRet_t cnrtGetLastErr()",
    ],
    ("maca", "3.5.3"): [
        "mcError_t mcMemcpyAsync(void *, const void *, size_t, mcMemcpyKind, mcStream_t)",
        "mcError_t mcStreamWaitEvent(mcStream_t, mcEvent_t, unsigned int)",
        "mcError_t mcEventElapsedTime(float *, mcEvent_t, mcEvent_t)",
        "mcError_t mcPointerGetAttributes(mcPointerAttribute_t *, const void *)",
        "mcError_t mcMallocHost(void **, size_t, unsigned int)",
        "mcblasStatus_t mcblasSetStream(mcblasHandle_t, mcStream_t)",
        (
            "mcblasStatus_t mcblasGemmEx(mcblasHandle_t, mcblasOperation_t, mcblasOperation_t, int, int, int, "
            "const void *, const void *, macaDataType, int, const void *, macaDataType, int, "
            "const void *, void *, macaDataType, int, mcblasComputeType_t, mcblasGemmAlgo_t)"
        ),
        "mcclResult_t mcclCommInitRank(mcclComm_t *, int, mcclUniqueId, int)",
        "mcclResult_t mcclCommCount(const mcclComm_t, int *)",
        "mcclResult_t mcclSend(const void *, size_t, mcclDataType_t, int, mcclComm_t, mcStream_t)",
        "mcclResult_t mcclCommGetAsyncError(mcclComm_t, mcclResult_t *)",
    ],
    # NVIDIA and DCU: test_real_headers.py compares all of them.
    ("nvidia", "11.8.89"): ["cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int)"],
    ("nvidia", "12.9.79"): ["cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp *, int)"],
    ("nvidia", "13.5.37"): [
        "cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int)",
        "cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long)",
    ],
    ("corex", "4.2.0"): [
        (
            "cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, "
            "const void *, const void *, cudaDataType_t, int, const void *, cudaDataType_t, int, "
            "const void *, void *, cudaDataType_t, int, cudaDataType_t, cublasGemmAlgo_t)"
        ),
        "cublasStatus_t cublasCreate(cublasHandle_t *)",
    ],
    ("dcu", "25.04.4"): [
        "hipError_t hipHostMalloc(void **, size_t, unsigned int)",
        (
            "hipblasStatus_t hipblasGemmEx(hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int, int, int, "
            "const void *, const void *, hipblasDatatype_t, int, const void *, hipblasDatatype_t, int, "
            "const void *, void *, hipblasDatatype_t, int, hipblasDatatype_t, hipblasGemmAlgo_t)"
        ),
        "ncclResult_t ncclCommCuDevice(const ncclComm_t, int *)",
    ],
    ("musa", "5.1.0"): [
        "musaError_t musaMemcpyAsync(void *, const void *, size_t, musaMemcpyKind, musaStream_t)",
        "musaError_t musaPointerGetAttributes(musaPointerAttributes *, const void *)",
        "mublasStatus_t mublasSetStream(mublasHandle_t, musaStream_t)",
        "mcclResult_t mcclCommMuDevice(const mcclComm_t, int *)",
        "mcclResult_t mcclCommInitRank(mcclComm_t *, int, mcclUniqueId, int)",
    ],
    ("gcu", "3.1.0"): [
        "topsError_t topsMallocAsync(void **, size_t, topsStream_t, uint64_t)",
        "topsError_t topsHostMalloc(void **, size_t, unsigned int)",
        "topsError_t topsPointerGetAttributes(topsPointerAttribute_t *, const void *)",
        "ecclResult_t ecclCommDevice(const ecclComm_t, int *)",
        "ecclResult_t ecclSend(const void *, size_t, ecclDataType_t, int, ecclComm_t, topsStream_t)",
    ],
}

ABSENT = {
    ("mlu", "6.14.1"): ["cnrtMallocAsync", "cnrtFreeAsync", "cnrtHostFree", "cnrtInit", "cnrtGetDeviceProperties"],
    ("mlu", "6.0.2"): [
        "cnrtMemAllocAsync",
        "cnrtMemFreeAsync",
        "cnrtMemcpyAsync_V2",
        "cnrtQueueGetPriority",
        "cnrtMemPoolCreate",
        "cnrtGetDeviceProperties_V3",
        "cnrtInvokeKernel",
        "cnnlSetTensorDescriptorPointerMode",
    ],
    ("mlu", "4.3.0"): [
        "cnrtQueueCreate",
        "cnrtMemGetInfo",
        "cnrtMemsetAsync",
        "cnrtSetDevice",
        "cnnlCreate",
        "cnclGroupStart",
    ],
    ("maca", "3.5.3"): ["mcMallocManagedAsync", "mcFreeHostAsync", "mcMemcpyPeer", "mcCommCuDevice"],
    ("nvidia", "11.8.89"): ["cudaGetDeviceProperties_v2", "cudaEventElapsedTime_v2", "cublasCreate"],
    ("nvidia", "12.9.79"): ["cudaGetDeviceProperties", "cudaInit"],
    ("nvidia", "13.5.37"): ["cudaGetDeviceProperties_v2", "cudaEventElapsedTime_v2"],
    # Names that nobody was seen to call there.
    ("corex", "4.2.0"): ["ncclGetVersion", "ncclGetLastError", "cublasCreate_v2"],
    ("dcu", "25.04.4"): ["hipMallocHost", "hipFreeHost", "hipblasGetStatusString", "hipEventRecordWithFlags"],
    ("musa", "5.1.0"): ["mcclGetVersion", "mcclGetLastError", "mcclCommFinalize", "mublasGetStatusString", "musaInit"],
    ("gcu", "3.1.0"): [
        "topsStreamCreateWithPriority",
        "topsDeviceGetStreamPriorityRange",
        "topsDeviceGetDefaultMemPool",
        "topsDeviceGetPCIBusId",
    ],
}


@pytest.mark.parametrize(("vendor", "version"), SIGNATURES)
def test_signatures_are_the_vendors(vendor: str, version: str) -> None:
    functions = parse(vendor, version, "c++").functions
    wrong = {
        expected: functions.get(function_name(expected))
        for expected in SIGNATURES[vendor, version]
        if functions.get(function_name(expected)) != expected
    }
    assert wrong == {}
    assert [name for name in ABSENT.get((vendor, version), ()) if name in functions] == []


VALUES = {
    ("mlu", "6.14.1"): {
        "cnrtSuccess": 0,
        "cnrtErrorNotReady": 1,
        "cnrtErrorSysNoMem": 100010,
        "cnrtErrorNoMem": 100100,
        "cnrtErrorBusy": 632014,
        "cnrtErrorInvalidSymbol": 632100,
        "cnrtMemcpyHostToDev": 0,
        "cnrtMemcpyDevToDev": 1,
        "cnrtMemcpyDevToHost": 2,
        "cnrtMemcpyNoDirection": 5,
        "cnrtAttrCodecH264Supported": 262,
        "cnrtAttrCanMapHostMemory": 16777216,
        "cnMemPoolAttrReservedMemHigh": 6,
        "cnrtMemPoolAttrUsedMemHigh": 8,
        "CNRT_NOTIFIER_DISABLE_TIMING_ALL": 4,
        "CNNL_STATUS_ALLOC_FAILED": 2,
        "CNNL_DTYPE_BFLOAT16": 17,
        "CNNL_CAST_HALF_TO_FLOAT_INF": 129,
        "CNCL_RET_ASYNC_ERROR": 22,
        "CNCL_RET_ERR_ARGUMENTS": 7,
        "cnclHalf": 16,
        "cnclFloat32": 18,
        "cnclMax": 2,
        "cnclMin": 3,
    },
    ("mlu", "6.0.2"): {"cnrtErrorNoMem": 100100, "cnrtAttrCodecH264Supported": 263, "cnrtAttrCanMapHostMemory": 1033},
    ("mlu", "4.3.0"): {"CNRT_RET_SUCCESS": 0, "CNRT_RET_ERR_NOMEM": 632008, "CNRT_RET_ERR_BUSY": 632014},
    ("maca", "3.5.3"): {
        "mcErrorMemoryAllocation": 2,
        "mcErrorNotReady": 600,
        "mcErrorNotSupported": 801,
        "mcMemcpyDeviceToHost": 2,
        "mcMemcpyDefault": 4,
        "MACA_R_16BF": 14,
        "MCBLAS_COMPUTE_32F": 68,
        "MCBLAS_GEMM_DEFAULT": -1,
        "mcclInProgress": 7,
        "mcclBfloat16": 9,
        "mcclMax": 2,
        "mcclMaxRedOp": 0x7FFFFFFF,
    },
    ("nvidia", "13.5.37"): {"cudaErrorVersionTranslation": 10, "cudaMemPoolAttrLocationId": 11, "ncclTimeout": 8},
    ("corex", "4.2.0"): {"cudaErrorMemoryAllocation": 2, "CUDA_R_16BF": 14, "CUBLAS_GEMM_DEFAULT_TENSOR_OP": 99},
    ("dcu", "25.04.4"): {"HIPBLAS_R_16B": 168, "HIPBLAS_OP_T": 112, "hipMemoryTypeDevice": 1, "hipErrorOutOfMemory": 2},
    ("musa", "5.1.0"): {"musaErrorNotReady": 600, "MUBLAS_STATUS_MEMORY_ERROR": 5, "mcclInProgress": 7, "mcclAvg": 4},
    ("gcu", "3.1.0"): {
        "topsErrorNotReady": 600,
        "topsErrorOutOfMemory": 2,
        "topsErrorNotSupported": 801,
        "topsMemoryTypeDevice": 2,
        "ecclUnhandledTopsError": 1,
        "ecclInProgress": 7,
        "ecclBfloat16": 9,
        "ecclAvg": 4,
    },
}


@pytest.mark.parametrize(("vendor", "version"), VALUES)
def test_enumerators_have_the_vendors_numbers(vendor: str, version: str) -> None:
    enumerators = parse(vendor, version, "c").enumerators
    expected = VALUES[vendor, version]
    assert {name: enumerators.get(name) for name in expected} == expected


def test_macros_rename_the_handles_and_the_property_call() -> None:
    new = parse("mlu", "6.14.1", "c", "void f(cnrtDeviceProp_t *p) { cnrtGetDeviceProperties(p, 0); }")
    assert new.diagnostics == ()
    assert new.typedefs["cnrtQueue_t"] == "struct CNqueue_st *"
    assert new.typedefs["cnclCliqueId_t"] == "struct cnclCliqueId *"
    assert parse("mlu", "4.3.0", "c").typedefs["cnrtQueue_t"] == "struct cnrtQueue *"


def test_version_macros_follow_the_version() -> None:
    code = "enum { kVersion = CNRT_VERSION, kOld = CNRT_RET_SUCCESS };"
    assert parse("mlu", "6.14.1", "c", code).enumerators["kVersion"] == 61401
    assert parse("mlu", "6.0.2", "c", code).enumerators["kVersion"] == 60002
    assert parse("mlu", "6.14.1", "c", "enum { kCncl = CNCL_VERSION };").enumerators["kCncl"] == 12500
    assert parse("maca", "3.5.3", "c", "enum { kMccl = MCCL_VERSION(2, 16, 5) };").enumerators["kMccl"] == 21605
    assert parse("musa", "5.1.0", "c", "enum { kMusa = MUSART_VERSION };").enumerators["kMusa"] == 50100
    assert parse("gcu", "3.1.0", "c", "enum { kEccl = ECCL_VERSION_CODE };").enumerators["kEccl"] == 30100
    for version, number in (("11.8", 11080), ("12.9", 12090), ("13.5", 13050)):
        found = parse("nvidia", version, "c", "enum { kCuda = CUDART_VERSION };").enumerators
        assert found["kCuda"] == number


CXX_CASES = [
    ("void f(float **p) { mcMalloc(p, 4); mcMallocHost(p, 4); }", True),
    ("void f(mcEvent_t *e) { mcEventCreate(e); mcEventCreate(e, 2u); }", True),
    ("auto f = mcMalloc;", False),
    ("auto f = mcblasGemmEx;", False),
    ("auto f = mcSetDevice;", True),
    ("void f(void *p, mcStream_t s) { mcMemcpyAsync(p, p, 4, 1, s); }", False),
    ("void f(mcStream_t s, mcEvent_t e) { mcStreamWaitEvent(s, e); mcEventRecordWithFlags(e); }", True),
]


@pytest.mark.parametrize(("code", "valid"), CXX_CASES)
def test_maca_has_the_overloads_of_the_real_one(code: str, valid: bool) -> None:
    assert (parse("maca", "3.5.3", "c++", code).diagnostics == ()) is valid


def test_default_arguments_are_for_cxx_only() -> None:
    code = "void f(void **p) { mcMallocHost(p, 4); }"
    assert parse("maca", "3.5.3", "c++", code).diagnostics == ()
    assert parse("maca", "3.5.3", "c", code).diagnostics != ()


@pytest.mark.parametrize(
    "code",
    [
        "cnrtRet_t f() { cnnlHandle_t h; return cnnlCreate(&h); }",
        "cnrtMemcpyKind_t f();",
        "cnrtRet_t f(void *d, void *s, cnrtQueue_t q) { return cnrtMemcpyAsync(d, s, 4, cnrtMemcpyHostToDev, q); }",
        "cnrtRet_t f() { int n = 0; return cnrtGetDeviceCount(&n); }",
        "cnrtRet_t f(void *d, const void *s) { return cnrtMemcpy(d, s, 4, cnrtMemcpyHostToDev); }",
        "cnrtRet_t f(void **p, cnrtQueue_t q) { return cnrtMallocAsync(p, 4, q); }",
        "cnrtRet_t f(cnrtQueue_t q, cnrtNotifier_t n) { return cnrtQueueWaitNotifier(q, n, 0); }",
    ],
)
def test_the_classic_mistakes_do_not_compile(code: str) -> None:
    assert parse("mlu", "6.14.1", "c++", code).diagnostics != ()


def test_every_file_says_that_it_is_simulated(api: Api) -> None:
    for path, text in render_sim_sdk(api).items():
        assert "SIMULATED SDK (a test double" in text.split("\n", 1)[0], path


def test_every_item_has_a_source_and_a_certainty(api: Api) -> None:
    for header in api.headers:
        for item in header.items():
            assert item.source, item.text
            assert item.certainty in ("certain", "inferred"), item.text
            assert all(e.certainty in ("certain", "inferred") for e in item.enumerators), item.text
    assert all(version.source and version.certainty in ("certain", "inferred") for version in api.versions)


def test_versions_are_chosen_by_their_start() -> None:
    api = api_of("mlu")
    assert api.find_version(None).version == "6.14.1"
    assert api.find_version("6").version == "6.14.1"
    assert api.find_version("6.0").version == "6.0.2"
    assert api.find_version("4.3.0").version == "4.3.0"
    for unknown in ("6.1", "7", "6.14.2"):
        with pytest.raises(ApiError, match=r"6\.14\.1, 6\.0\.2, 4\.3\.0"):
            api.find_version(unknown)


def test_a_group_that_a_version_lacks_is_left_out() -> None:
    assert sorted(render_headers(api_of("mlu"), "4.3")) == ["cnrt.h"]
    assert sorted(render_headers(api_of("mlu"), "6.0")) == ["cncl.h", "cnnl.h", "cnrt.h"]
    assert "src/cncl.cc" not in render_sim_sdk(api_of("mlu"), "4.3")


def test_numbers_of_a_short_version_are_filled_up() -> None:
    version = api_of("mlu").find_version("6.14")
    assert numbers(version, "cnrt") == {"major": "6", "minor": "14", "patch": "1"}


def test_rendering_is_repeatable(api: Api) -> None:
    fresh = load_api.__wrapped__(data_dir() / "schemas" / "vendors" / api.vendor / "api.yaml")
    assert render_sim_sdk(fresh) == render_sim_sdk(api)


def test_headers_are_cheap(api: Api) -> None:
    path = data_dir() / "schemas" / "vendors" / api.vendor / "api.yaml"
    start = time.process_time()
    render_headers(load_api.__wrapped__(path))
    assert time.process_time() - start < 0.2  # seconds of CPU; about 0.05 on an idle machine


def test_a_function_without_an_effect_is_refused() -> None:
    path = data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    functions = next(s for s in data["headers"][0]["sections"] if s["title"] == "functions")["items"]
    broken = next(item for item in functions if "cnrtMalloc(" in item.get("function", ""))
    del broken["sim"]
    with pytest.raises(ApiError, match="cnrtMalloc: needs either sim or body"):
        render_sim_sdk(parse_api(data))


def test_a_result_that_no_version_has_is_refused() -> None:
    path = data_dir() / "schemas" / "vendors" / "maca" / "api.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    data["domains"]["runtime"]["results"]["out_of_memory"] = ["mcErrorOutOfMemory"]
    with pytest.raises(ApiError, match="domain runtime: none of mcErrorOutOfMemory exists"):
        render_sim_sdk(parse_api(data))


def test_a_status_that_is_an_int_takes_its_codes_from_constants_and_macros() -> None:
    """ACL's shape: `typedef int aclError`, its codes are constants and, for some, macros."""
    data = {
        "vendor": "acl",
        "sdk": "ACL",
        "versions": [{"version": "1.0", "libraries": {"acl": "1.0"}, "certainty": "certain", "source": "a test"}],
        "layout": {"include": "include", "library": "lib", "version_file": "version.txt"},
        "profile": {
            "vendor": "acl",
            "device_name": "a device",
            "visible_devices": "ACL_DEVICES",
            "least_priority": 7,
            "greatest_priority": 0,
            "default_priority": 0,
        },
        "domains": {"runtime": {"type": "aclError", "results": {"success": ["ACL_OK"], "internal": ["ACL_BROKEN"]}}},
        "maps": [],
        "libraries": [{"name": "acl", "domain": "runtime", "headers": ["acl.h"]}],
        "headers": [
            {
                "path": "acl.h",
                "library": "acl",
                "guard": "ACL_H",
                "sections": [
                    {
                        "title": "codes",
                        "source": "a test",
                        "certainty": "certain",
                        "items": [
                            {"typedef": "int aclError"},
                            {"constant": "ACL_OK", "value": 0},
                            {"constant": "ACL_BYTES", "type": "unsigned", "value": 4108},
                            {"macro": "ACL_BROKEN", "value": "5"},
                            {"macro": "ACL_FLAG", "value": "0x1U"},
                            {"function": "aclError aclInit(const char *path)", "sim": "Result::kSuccess"},
                        ],
                    }
                ],
            }
        ],
    }
    files = render_sim_sdk(parse_api(data))
    assert "static const int ACL_OK = 0;" in files["include/acl.h"]
    assert "static const unsigned ACL_BYTES = 4108;" in files["include/acl.h"]
    source = files["src/acl.cc"]
    assert "case Result::kSuccess: return ACL_OK;" in source
    assert 'case 5: return "ACL_BROKEN";' in source
    assert "ACL_FLAG" not in source, "a flag is no code"
