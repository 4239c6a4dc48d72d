"""What is made of the ops: which files, and what stands in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.render.environment import FileRender, environment_for, render_file
from fl_gen.render.infinitrain import base_context
from fl_gen.render.kernels import kernel_files, native_files, scaffold_file
from fl_gen.resolve.model import Backend
from fl_gen.resolve.ops import resolve_ops
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.framework import Framework, make_framework
from fl_gen.schema.kernels import load_native_kernels
from fl_gen.schema.ops_spec import load_ops
from fl_gen.schema.paths import data_dir

MakeBackend = Callable[..., Backend]


def text_of(backend: Backend, file: FileRender) -> str:
    environment = environment_for((data_dir() / "templates" / "infinitrain",))
    context = {**base_context(backend), **file.context}
    return render_file(environment, FileRender(file.template, file.path, context, file.nodes))


def rendered(backend: Backend) -> dict[str, str]:
    return {file.path: text_of(backend, file) for file in kernel_files(backend)}


def wrapper(text: str, op: str) -> str:
    """The lines of one function, blanks at both ends removed."""
    head = text.index(f" {op}(")
    lines = text[text.rindex("\n", 0, head) + 1 : text.index("\n}\n", head)].splitlines()
    return "\n".join(line.strip() for line in lines[1:])


def with_op(framework: Framework, folder: Path, text: str) -> Framework:
    path = folder / "more.yaml"
    path.write_text(text, encoding="utf-8")
    return make_framework(framework.interface, [*framework.files, load_ops(path)])


NEW_OP = """\
schema: 1
category: more
ops:
  - name: GeluForward
    doc: Gaussian error linear unit.
    returns: "std::shared_ptr<Tensor>"
    params:
      - {name: input, type: "const std::shared_ptr<Tensor> &"}
      - {name: result, type: bool}
    strategy: fallback
    cpu: framework
    dtypes: [float32, bfloat16]
    output_dtype: same(input)
    source: a test
"""


def test_wrapper_of_a_plain_kernel(make_backend: MakeBackend) -> None:
    text = rendered(make_backend("mlu"))["src/kernels/fallback/elementwise.cc"]
    assert wrapper(text, "SinForward") == (
        "FallbackCall call(Op::kSinForward, input);\n"
        "const auto input_host = call.ToHost(input);\n"
        "const auto result = call.Cpu<decltype(SinForward)>(input_host);\n"
        "return call.ToDevice(result, input->Dtype());"
    )


def test_wrapper_of_a_kernel_that_promotes_and_has_exact_dtypes(make_backend: MakeBackend) -> None:
    text = rendered(make_backend("mlu"))["src/kernels/fallback/elementwise.cc"]
    assert wrapper(text, "SubForward") == (
        "FallbackCall call(Op::kSubForward, a);\n"
        "const DataType dtype = PromoteDataTypes(a->Dtype(), b->Dtype());\n"
        "const DataType compute = call.ComputeDtype(dtype);\n"
        "const auto a_host = call.ToHost(a, compute);\n"
        "const auto b_host = call.ToHost(b, compute);\n"
        "const auto result = compute == DataType::kFLOAT32 ? call.Cpu<decltype(SubForward)>(a_host, b_host)"
        " : host::SubForward(a_host, b_host);\n"
        "return call.ToDevice(result, dtype);"
    )


def test_wrapper_of_a_kernel_in_place(make_backend: MakeBackend) -> None:
    text = rendered(make_backend("mlu"))["src/kernels/fallback/accumulate_grad.cc"]
    assert wrapper(text, "AccumulateGrad") == (
        "FallbackCall call(Op::kAccumulateGrad, gradient);\n"
        "const auto gradient_host = call.ToHost(gradient);\n"
        "const auto tensor_host = call.ToHost(tensor);\n"
        "call.Cpu<decltype(AccumulateGrad)>(gradient_host, rate, tensor_host);\n"
        "call.CopyBack(tensor_host, tensor);"
    )


def test_tensors_of_which_only_the_shape_is_read_are_not_copied(make_backend: MakeBackend) -> None:
    files = rendered(make_backend("mlu"))
    assert "call.ShapeOnHost(bias)" in wrapper(files["src/kernels/fallback/layernorm.cc"], "LayerNormBackward")
    assert "call.ShapeOnHost(input)" in wrapper(files["src/kernels/fallback/slice.cc"], "SliceBackward")
    assert "ToHost" not in wrapper(files["src/kernels/fallback/fill.cc"], "Fill")


ODD_OP = """\
schema: 1
category: odd
ops:
  - name: OddForward
    doc: A kernel with every shape of argument.
    returns: "std::tuple<std::vector<std::shared_ptr<Tensor>>, std::optional<std::shared_ptr<Tensor>>>"
    params:
      - {name: extra, type: "const std::optional<std::shared_ptr<Tensor>> &"}
      - {name: lists, type: "const std::vector<std::vector<std::shared_ptr<Tensor>>> &"}
      - {name: index, type: "const std::shared_ptr<Tensor> &", role: index}
      - {name: call, type: double}
    strategy: fallback
    cpu: framework
    dtypes: [floating]
    index_dtypes: [int64]
    output_dtype: [same(lists), same(lists)]
    source: a test
"""


def test_wrapper_of_a_kernel_with_odd_arguments(
    make_backend: MakeBackend, framework: Framework, tmp_path: Path
) -> None:
    text = rendered(make_backend("mlu", with_op(framework, tmp_path, ODD_OP)))["src/kernels/fallback/odd.cc"]
    # `call` is a parameter here, so the wrapper's own variable is called otherwise.
    assert wrapper(text, "OddForward") == (
        "FallbackCall call_(Op::kOddForward, lists.front().front());\n"
        "const auto extra_host = call_.ToHost(extra);\n"
        "const auto lists_host = call_.ToHost(lists);\n"
        "const auto index_host = call_.IndexToHost(index);\n"
        "const auto result = call_.Cpu<decltype(OddForward)>(extra_host, lists_host, index_host, call);\n"
        "return call_.ToDevice(result, {lists.front().front()->Dtype(), lists.front().front()->Dtype()});"
    )


def test_every_kernel_is_registered_once(make_backend: MakeBackend, framework: Framework) -> None:
    for vendor in ("mlu", "maca"):
        lines = rendered(make_backend(vendor))["src/kernels/register_kernels.cc"].splitlines()
        names = [line.split(", ")[1] for line in lines if line.startswith("REGISTER_KERNEL(")]
        assert sorted(names) == sorted(framework.ops)


def test_library_and_native_kernels_are_routed(make_backend: MakeBackend) -> None:
    mlu = rendered(make_backend("mlu"))
    assert (
        "REGISTER_KERNEL(Device::DeviceType::kPrivateUse1, Cast, router::Cast)"
        in mlu["src/kernels/register_kernels.cc"]
    )
    assert (
        "REGISTER_KERNEL(Device::DeviceType::kPrivateUse1, Fill, router::Fill)"
        in mlu["src/kernels/register_kernels.cc"]
    )
    assert "library::TakesCast(input, dtype)" in wrapper(mlu["src/kernels/router.cc"], "Cast")
    assert wrapper(mlu["src/kernels/router.cc"], "Fill").startswith("#if INFINITRAIN_MLU_DEVICE_KERNELS\n")
    assert (
        "case Pair(kFLOAT32, kBFLOAT16):\n        return CNNL_CAST_FLOAT_TO_BFLOAT16;"
        in mlu["src/kernels/library/cast.cc"]
    )
    maca = rendered(make_backend("maca"))
    assert set(maca) - set(mlu) == {"src/kernels/library/gemm.cc"}
    assert "mcblasGemmStridedBatchedEx(" in maca["src/kernels/library/gemm.cc"]


def test_templates_of_library_kernels_name_no_vendor() -> None:
    folder = data_dir() / "templates" / "infinitrain" / "src" / "kernels" / "library"
    texts = [path.read_text(encoding="utf-8").lower() for path in sorted(folder.glob("*.j2"))]
    assert texts
    assert not any(word in text for text in texts for word in ("cnnl", "cnrt", "mcblas", "maca", "mlu"))


def test_a_library_call_that_the_sdk_lacks_leaves_the_host(make_backend: MakeBackend) -> None:
    files = rendered(make_backend("mlu", unbound=("library.cast",)))
    assert "src/kernels/library/cast.cc" not in files
    assert "Cast, fallback::Cast)" in files["src/kernels/register_kernels.cc"]


def test_batches_without_a_strided_call_are_multiplied_one_by_one(make_backend: MakeBackend) -> None:
    text = rendered(make_backend("maca", unbound=("library.gemm_strided_batched",)))["src/kernels/library/gemm.cc"]
    assert "for (int batch = 0; batch < p.batch_count; ++batch)" in text


def test_adding_an_op_changes_only_what_lists_ops(
    make_backend: MakeBackend, framework: Framework, tmp_path: Path
) -> None:
    before = rendered(make_backend("mlu"))
    after = rendered(make_backend("mlu", with_op(framework, tmp_path, NEW_OP)))
    changed = {path for path, text in after.items() if before.get(path) != text}
    assert changed == {
        f"src/kernels/{name}"
        for name in ("fallback/more.cc", "kernels.h", "op_table.h", "op_table.cc", "register_kernels.cc")
    }
    # `result` is a parameter here, so the wrapper's own variable is called otherwise.
    assert (
        "const auto result_ = call.Cpu<decltype(GeluForward)>(input_host, result);"
        in after["src/kernels/fallback/more.cc"]
    )


def test_an_op_whose_host_kernel_nobody_wrote_is_refused(
    make_backend: MakeBackend, framework: Framework, tmp_path: Path
) -> None:
    text = NEW_OP.replace("cpu: framework", "cpu: generated")
    backend = make_backend("mlu", with_op(framework, tmp_path, text))
    with pytest.raises(SchemaError, match="GeluForward asks for a generated host kernel"):
        kernel_files(backend)


def test_the_first_kernels_yaml_loads_and_gives_the_same_backend(make_backend: MakeBackend, tmp_path: Path) -> None:
    for vendor, expected in (("mlu", ["Fill"]), ("maca", [])):
        backend = make_backend(vendor)
        files = {file.path: text_of(backend, file) for file in native_files(backend)}
        path = tmp_path / f"{vendor}.yaml"
        path.write_text(files.pop("kernels.yaml"), encoding="utf-8")
        native = load_native_kernels(path).kernels
        assert [str(kernel.op) for kernel in native] == expected
        assert sorted(files) == [f"kernels/{kernel.file}" for kernel in native]
        assert rendered(make_backend(vendor, native=native)) == rendered(backend)


def test_a_hand_written_kernel_is_one_line_away(make_backend: MakeBackend, tmp_path: Path) -> None:
    path = tmp_path / "kernels.yaml"
    path.write_text(
        "schema: 1\nkernels:\n  - {op: AddForward, file: add_forward.mlu, dtypes: [float32]}\n", encoding="utf-8"
    )
    files = rendered(make_backend("mlu", native=load_native_kernels(path).kernels))
    text = wrapper(files["src/kernels/router.cc"], "AddForward")
    assert "DataTypeSet({DataType::kFLOAT32}).Contains(a->Dtype())" in text
    assert "return mlu::AddForward(a, b);" in text
    assert text.endswith("return fallback::AddForward(a, b);")
    assert "Fill, fallback::Fill)" in files["src/kernels/register_kernels.cc"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{op: AddForwrad, file: a.mlu}", "unknown op 'AddForwrad'"),
        ("{op: NoOpForward, file: a.mlu}", "NoOpForward is a view"),
    ],
)
def test_hand_written_kernels_that_cannot_be(
    make_backend: MakeBackend, tmp_path: Path, entry: str, message: str
) -> None:
    path = tmp_path / "kernels.yaml"
    path.write_text(f"schema: 1\nkernels:\n  - {entry}\n", encoding="utf-8")
    backend = make_backend("mlu")
    with pytest.raises(SchemaError, match=message) as caught:
        resolve_ops(backend.framework, backend.vendor, backend.choices, load_native_kernels(path).kernels)
    place = caught.value.diagnostics[0].location
    assert (place.line, place.column) == (3, 10)


def test_a_library_kernel_without_a_template_is_refused(make_backend: MakeBackend) -> None:
    backend = make_backend("mlu")
    cast = backend.vendor.kernels["Cast"]
    kernels = dict(backend.vendor.kernels) | {"AddForward": dataclasses.replace(cast, op="AddForward")}
    vendor = dataclasses.replace(backend.vendor, kernels=kernels)
    with pytest.raises(SchemaError, match="no template for a library kernel of AddForward"):
        resolve_ops(backend.framework, vendor, backend.choices)


def test_scaffold_has_the_exact_signature(make_backend: MakeBackend) -> None:
    backend = make_backend("mlu")
    file = scaffold_file(backend, "SigmoidBackward")
    assert file.path == "kernels/sigmoid_backward.mlu"
    text = text_of(backend, file)
    assert (
        "std::shared_ptr<Tensor> SigmoidBackward(const std::shared_ptr<Tensor> &output,\n"
        "                                        const std::shared_ptr<Tensor> &grad_output) {\n"
    ) in text
    assert max(len(line) for line in text.splitlines()) <= 120
    assert "- {op: SigmoidBackward, file: sigmoid_backward.mlu}" in text
    assert scaffold_file(make_backend("maca"), "Gemm").path == "kernels/gemm.maca"
    with pytest.raises(ValueError, match="view"):
        scaffold_file(backend, "NoOpForward")
