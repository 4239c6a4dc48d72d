"""Every kind of disagreement between the schema and a source tree, seeded, is reported once and at its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fl_gen.report.framework import framework_json, framework_markdown, framework_text
from fl_gen.sdk import clang
from fl_gen.tasks.framework_check import CheckRequest, check_framework
from fl_gen.tasks.framework_values import FrameworkCheck

from .conftest import CALLS, KERNELS, Files, call, needs_headers, texts

GUARD = "infini_train/include/core/runtime/device_guard.h"
RUNTIME = "infini_train/include/core/runtime/runtime_common.h"
CCL = "infini_train/include/core/ccl/ccl.h"
BACKEND = "infini_train/include/core/privateuse1_backend.h"
REDUCE = "infini_train/include/nn/parallel/reduce_op_type.h"
GEMM = "infini_train/src/kernels/common/gemm.h"
GLOBAL = "infini_train/include/nn/parallel/global.h"
COMMON = "infini_train/include/common/common.h"
GELU = "infini_train/src/kernels/cpu/gelu.cc"
FLASH = "infini_train/src/kernels/cuda/flash.cu"
MORE = "infini_train/src/autograd/more.cc"

pytestmark = needs_headers


def check(folder: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> FrameworkCheck:
    """The check of a tree that is written into `folder`, which becomes the current folder."""
    files.write(folder)
    monkeypatch.chdir(folder)
    return check_framework(CheckRequest("infinitrain", Path()))


def found(result: FrameworkCheck) -> dict[tuple[str, str], str]:
    """(kind, subject) -> place in the tree, else in the schema. Each must be there once."""
    keys = [(finding.kind, finding.subject) for finding in result.findings]
    assert len(keys) == len(set(keys)), keys
    return {(one.kind, one.subject): str(one.tree or one.schema).split("schemas/")[-1] for one in result.findings}


def test_a_tree_that_agrees(tmp_path: Path, files: Files) -> None:
    files.write(tmp_path)
    result = call("framework", "check", "infinitrain", "--source", tmp_path)
    assert result.code == 0
    assert result.err == ""
    count = len([line for line in texts()[KERNELS].splitlines() if line.startswith("REGISTER_CPU_KERNEL")])
    assert result.out == (
        f"tree     {tmp_path} (infinitrain)\n"
        f"checked  by {clang.version()}: 2 sources, 3 calls of kernels\n"
        f"kernels  registered: {count} for kCPU\n"
        + ("absent   read as empty or by a stand-in: format\n" if "absent" in result.out else "")
        + "agrees   the schema of infinitrain and the tree\n"
    )


def test_what_headers_declare(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.change(GUARD, "    virtual int DeviceCount() const;", "    virtual int DeviceCount();")
    files.change(GUARD, "void MallocAsync(void **dev_ptr, size_t size, Stream *stream)",
                 "void MallocAsync(void **dev_ptr, uint32_t size, Stream *stream, int pool)")  # fmt: skip
    files.change(GUARD, "virtual void ResetMemPoolHighWatermarks(", "virtual void ResetMemPoolHighWaterMarks(")
    files.change(GUARD, "virtual void Free(void *dev_ptr) = 0;", "virtual void Free(void *dev_ptr) {}")
    files.change(GUARD, "CreateStreamWithPriority(Device device, int priority)",
                 "CreateStreamWithPriority(Device device, int priority = 3)")  # fmt: skip
    files.change(GUARD, "    kInvalid = -1, // never passed", "    kInvalid = -2,")
    files.change(CCL, "    virtual void GroupEnd() const;",
                 "    virtual void GroupEnd() const;\n    virtual int Ranks(const CclComm *comm) const = 0;")  # fmt: skip
    files.change(RUNTIME, "    kInternal = -8,", "    kInternal = -8,\n    kBusy = -9,")
    files.change(RUNTIME, "enum class EventFlag : uint32_t {", "enum class EventFlag : uint64_t {")
    files.change(REDUCE, "    kProd = 1, // not used by the framework\n", "")
    files.change(GEMM, "    int k = 0;", "    int64_t k = 0;")
    files.change(GEMM, "    float beta = 0.0f;", "    float beta = 1.0f;\n    bool relu = false;")
    files.change(GEMM, "    DataType output_dtype; // dtype of C\n", "")
    files.change(CCL, "#define INFINI_TRAIN_REGISTER_CCL_IMPL(device_type, class_impl)",
                 "#define INFINI_TRAIN_REGISTER_CCL_IMPL(device_type, class_impl, ...)")  # fmt: skip
    files.change(BACKEND, "bool HasPrivateUse1Backend();", "int HasPrivateUse1Backend(bool quiet);")
    files.change(BACKEND, "    std::string name;", "    std::string name;\n    int version;")
    del files.files[GLOBAL]
    files.change(COMMON, "ComputeStrides(", "ComputeStride(")
    files.change(RUNTIME, "RuntimeStatusToString(", "RuntimeStatusText(")
    files.change(BACKEND, "std::string GetPrivateUse1BackendName();", "")
    result = check(tmp_path, files, monkeypatch)
    interface = "frameworks/infinitrain/interface.yaml"
    places = found(result)
    header = places.pop(("header-gone", f"header {GLOBAL}"))
    assert header.startswith(interface)
    assert places == {
        ("name-gone", "name ComputeStrides"): f"{COMMON}:1:1",
        ("function-gone", "function infini_train::core::RuntimeStatusToString"): f"{RUNTIME}:1:1",
        ("function-gone", "function infini_train::core::GetPrivateUse1BackendName"): f"{BACKEND}:1:1",
        ("method-changed", "DeviceGuardImpl::DeviceCount"): files.at(GUARD, "int DeviceCount();", "DeviceCount"),
        ("method-changed", "DeviceGuardImpl::MallocAsync"): files.at(GUARD, "void MallocAsync(", "MallocAsync"),
        ("method-gone", "DeviceGuardImpl::ResetMemPoolHighWatermarks"): files.at(GUARD, "class DeviceGuardImpl {", "DeviceG"),
        ("method-new", "DeviceGuardImpl::ResetMemPoolHighWaterMarks"): files.at(GUARD, "ResetMemPoolHighWaterMarks"),
        ("method-pure", "DeviceGuardImpl::Free"): files.at(GUARD, "Free(void *dev_ptr) {}"),
        ("default-argument", "DeviceGuardImpl::CreateStreamWithPriority"): files.at(GUARD, "int priority = 3", "priority"),
        ("enumerator-changed", "MemcpyKind::kInvalid"): files.at(GUARD, "kInvalid = -2"),
        ("method-new", "CclImpl::Ranks"): files.at(CCL, "Ranks(const CclComm *comm)"),
        ("enumerator-new", "RuntimeStatus::kBusy"): files.at(RUNTIME, "kBusy = -9"),
        ("enum-type", "infini_train::core::EventFlag"): files.at(RUNTIME, "enum class EventFlag", "EventFlag"),
        ("enumerator-gone", "ReduceOpType::kProd"): files.at(REDUCE, "enum class ReduceOpType", "ReduceOpType"),
        ("field-changed", "GemmParams::k"): files.at(GEMM, "int64_t k = 0;", "k ="),
        ("field-changed", "GemmParams::beta"): files.at(GEMM, "float beta = 1.0f;", "beta"),
        ("field-new", "GemmParams::relu"): files.at(GEMM, "bool relu", "relu"),
        ("field-gone", "GemmParams::output_dtype"): files.at(GEMM, "struct GemmParams", "GemmParams"),
        ("macro-changed", "INFINI_TRAIN_REGISTER_CCL_IMPL"): files.at(CCL, "#define INFINI_TRAIN_REGISTER_CCL", "INFINI"),
        ("function-changed", "HasPrivateUse1Backend"): files.at(BACKEND, "int HasPrivateUse1Backend", "HasP"),
        ("registration-new", "PrivateUse1BackendRegistration::version"): files.at(BACKEND, "int version", "version"),
    }  # fmt: skip
    said = {one.subject: one.message for one in result.findings}
    assert said["DeviceGuardImpl::MallocAsync"] == (
        "DeviceGuardImpl::MallocAsync has changed: it takes 4 parameters, 3 parameters in the schema; "
        "parameter 2 is uint32_t, size_t size in the schema"
    )
    assert said["DeviceGuardImpl::DeviceCount"] == (
        "DeviceGuardImpl::DeviceCount has changed: it is not const, const in the schema"
    )
    assert said["DeviceGuardImpl::ResetMemPoolHighWatermarks"] == (
        "DeviceGuardImpl has no virtual method ResetMemPoolHighWatermarks; did you mean 'ResetMemPoolHighWaterMarks'?"
    )
    assert said["HasPrivateUse1Backend"] == (
        "HasPrivateUse1Backend has changed: it returns int, bool in the schema; it takes 1 parameter, 0 parameters in the schema"
    )
    levels = {one.subject: one.level for one in result.findings}
    assert levels["CclImpl::Ranks"] == "error"  # pure: nothing compiles
    assert levels["DeviceGuardImpl::ResetMemPoolHighWaterMarks"] == "warning"


def with_kernel_faults(files: Files) -> None:
    """Seed what can be wrong with kernels and calls."""
    for name in ("TopKForward",):
        files.change(KERNELS, f"REGISTER_CPU_KERNEL({name})\n", "")
    files.change(KERNELS, "AddScalarForward(const std::shared_ptr<Tensor> & a, float scalar)",
                 "AddScalarForward(const std::shared_ptr<Tensor> & a, double scalar)")  # fmt: skip
    files.change(
        KERNELS, "NegForward(const std::shared_ptr<Tensor> & input)", "NegForward(std::shared_ptr<Tensor> input)"
    )
    files.change(
        KERNELS,
        "REGISTER_CPU_KERNEL(CosForward)\n",
        "REGISTER_CPU_KERNEL(CosForward)\nREGISTER_CPU_KERNEL( CosForward)\n",
    )
    files.files[GELU] = """#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
namespace infini_train::kernels::cpu {
std::shared_ptr<Tensor> GeluForward(const std::shared_ptr<Tensor> &input, bool exact) { return input; }
}
REGISTER_KERNEL(infini_train::Device::DeviceType::kCPU, GeluForward, infini_train::kernels::cpu::GeluForward)
"""
    files.files[FLASH] = """#include <cuda_runtime.h>
#include <cub/block/block_reduce.cuh>
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
#include "infini_train/src/kernels/common/gemm.h"
namespace infini_train::kernels::cuda {
template <typename T> __global__ void __launch_bounds__(256, 2) Kernel(T *__restrict__ data, int n) {
    __shared__ float tile[32];
    tile[0] = blockIdx.x;
}
std::shared_ptr<Tensor> FlashForward(const std::shared_ptr<Tensor> &q, int64_t heads) {
    cudaStream_t stream = nullptr;
    Kernel<float><<<dim3(1, 2), 256, 0, stream>>>(nullptr, 1);
    Dispatcher::Instance().Call<void>({q->GetDevice().type(), "Gemm"}, q->GetDevice(), GemmParams{.m = 1});
    return q;
}
std::shared_ptr<Tensor> SinForward(const std::shared_ptr<Tensor> &input, int64_t extra) { return input; }
std::shared_ptr<Tensor> Unread(const std::shared_ptr<Tensor> &input, NoSuchType extra) { return input; }
}
REGISTER_KERNEL(infini_train::Device::DeviceType::kCUDA, FlashForward, infini_train::kernels::cuda::FlashForward)
REGISTER_KERNEL(infini_train::Device::DeviceType::kCUDA, SinForward, infini_train::kernels::cuda::SinForward)
REGISTER_KERNEL(infini_train::Device::DeviceType::kCUDA, CosBackward, infini_train::kernels::cuda::Unread)
"""
    files.change(CALLS, '({device, "ExpBackward"}, x, x)', '({device, "ExpBackward"}, x)')
    files.change(CALLS, "kernel.Call<void>(x, 1.0f, x);", "kernel.Call<void>(x, 1.0, x);")
    files.files[MORE] = """#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
namespace infini_train {
using Pair = std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>>;
void More(const std::shared_ptr<Tensor> &x, Scalar value, Device::DeviceType device, const char *name) {
    /* é */ Dispatcher::Instance().Call<Pair>({device, "SigmoidForward"}, x);
    const Dispatcher::KeyT key{device, "Nowhere"};
    Dispatcher::Instance().GetKernel(key).Call<void>(x);
    Dispatcher::Instance().Call<void>({device, "Fill"}, x, value);
    Dispatcher::Instance().Call<void>({device, name}, x);
    Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({device, "GeluForward"}, x, true);
}
template <typename T> void Generic(const T &x) {
    Dispatcher::Instance().Call<T>({Device::DeviceType::kCPU, "NegForward"}, x);
}
// A comment: Dispatcher::Instance().Call<void>({device, "Commented"}, x);
}
"""


class Faulty(NamedTuple):
    """A tree with faulty kernels and calls, and its check in one process."""

    folder: Path
    files: Files
    result: FrameworkCheck


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    folder, files = tmp_path_factory.mktemp("faulty"), Files(dict(texts()))
    with_kernel_faults(files)
    with pytest.MonkeyPatch.context() as patch:
        return Faulty(folder, files, check(folder, files, patch))


def test_a_kernel_that_only_devices_have(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fallback runs the framework's kernel of the host: without one there is nothing to run."""
    files.change(KERNELS, "REGISTER_CPU_KERNEL(SinForward)",
                 "REGISTER_KERNEL(Device::DeviceType::kCUDA, SinForward, kernels::cpu::SinForward)")  # fmt: skip
    (finding,) = check(tmp_path, files, monkeypatch).findings
    assert (finding.kind, finding.subject, finding.level) == ("kernel-no-host", "SinForward", "error")
    assert finding.message == "SinForward is registered for kCUDA only, not for kCPU"
    assert str(finding.tree) == files.at(KERNELS, "REGISTER_KERNEL(Device::DeviceType::kCUDA,")
    assert str(finding.schema).rpartition("schemas/")[2].startswith("frameworks/infinitrain/ops/elementwise.yaml:")


def test_kernels_and_calls(faulty: Faulty) -> None:
    _, files, result = faulty
    places = found(result)
    topk = places.pop(("kernel-unregistered", "TopKForward"))
    assert topk.startswith("frameworks/infinitrain/ops/topk.yaml:")
    assert places == {
        ("kernel-changed", "AddScalarForward"): files.at(KERNELS, "AddScalarForward(const", "AddScalarForward"),
        ("kernel-text", "NegForward"): files.at(KERNELS, "NegForward(std", "NegForward"),
        ("kernel-twice", "CosForward"): files.at(KERNELS, "REGISTER_CPU_KERNEL( CosForward)"),
        ("kernel-new", "GeluForward"): files.at(GELU, "REGISTER_KERNEL("),
        ("kernel-new", "FlashForward"): files.at(FLASH, "REGISTER_KERNEL(infini_train::Device::DeviceType::kCUDA, Flash"),
        ("kernel-devices", "SinForward"): files.at(FLASH, "SinForward(const", "SinForward"),
        ("call-mismatch", "ExpBackward"): files.at(CALLS, 'Call<std::shared_ptr<Tensor>>({device, "ExpBackward"}'),
        ("call-mismatch", "AccumulateGrad"): files.at(CALLS, "x, 1.0, x", "1.0"),
        ("call-mismatch", "SigmoidForward"): files.at(MORE, "Call<Pair>"),
        ("call-unknown", "Nowhere"): files.at(MORE, "Call<void>(x);"),
    }  # fmt: skip
    said = {one.subject: one.message for one in result.findings}
    tensor = "const std::shared_ptr<Tensor> &"
    assert said["ExpBackward"] == (
        "this call passes (std::shared_ptr<infini_train::Tensor>) to ExpBackward, which is std::shared_ptr<Tensor> "
        f"({tensor}, {tensor}): 1 argument for 2 parameters"
    )
    assert said["AccumulateGrad"].endswith(": argument 2 is double, the parameter float")
    assert "the result is taken as" in said["SigmoidForward"]
    assert said["AddScalarForward"] == (
        f"AddScalarForward is std::shared_ptr<Tensor> ({tensor}, double), std::shared_ptr<Tensor> ({tensor}, float) "
        "in the schema"
    )
    meanings = {one.subject: one.meaning for one in result.findings}
    assert meanings["ExpBackward"].startswith("silent undefined behaviour")
    assert meanings["NegForward"] == "the same to the dispatcher; the text differs"
    assert meanings["GeluForward"] == (
        "no generated backend has it, and 1 call of it in the tree would end the program"
    )
    (gemm,) = result.by_name
    assert (gemm.kernel, [str(place) for place in gemm.callers]) == ("Gemm", [files.at(FLASH, "Call<void>({q")])
    assert {(str(one.place), one.what) for one in result.unjudged} == {
        (files.at(FLASH, "REGISTER_KERNEL(infini_train::Device::DeviceType::kCUDA, CosB"), "the registration"),
        (files.at(MORE, "Call<void>({device, name}"), "the call"),
        (files.at(MORE, "Call<T>("), "the call"),
    }
    lost = next(one for one in result.unjudged if one.what == "the registration")
    assert lost.why == "the compiler says at line 9: use of undeclared identifier 'blockIdx'"
    assert result.registered["kCUDA"] == 2
    assert set(result.absent) >= {"cuda_runtime.h", "cub/block/block_reduce.cuh"}
    reports(result)


def reports(result: FrameworkCheck) -> None:
    """The three forms hold every finding."""
    value: dict[str, Any] = json.loads(framework_json(result))
    assert value["agrees"] is False
    assert [one["subject"] for one in value["findings"]] == [one.subject for one in result.findings]
    exp = next(one for one in value["findings"] if one["subject"] == "ExpBackward")
    assert exp["schema"]["file"].endswith("schemas/frameworks/infinitrain/ops/elementwise.yaml")
    assert exp["mechanical"] is False
    text = framework_text(result)
    markdown = framework_markdown(result)
    for finding in result.findings:
        assert f"{finding.tree or finding.schema}: " in text
        assert f"| {finding.kind} |" in markdown
    assert "\n  = silent undefined behaviour: " in text
    assert "Gemm is called by name from other kernels: " in text
    assert "<" not in markdown.replace("<br>", "")
    assert text.endswith("run again with --update")


def test_reading_in_processes_is_the_same(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(faulty.folder)
    monkeypatch.setattr("fl_gen.tasks.framework_check._MANY", 1)
    steps: list[tuple[int, int]] = []
    again = check_framework(CheckRequest("infinitrain", Path(), jobs=2), lambda done, of, _: steps.append((done, of)))
    assert again == faulty.result
    assert steps == [(number, 5) for number in range(1, 6)]
