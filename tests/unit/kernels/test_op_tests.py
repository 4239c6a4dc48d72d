"""The generated tests of kernels: that there is one for every kernel, and that it calls the kernel as the framework does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.render.environment import FileRender, environment_for, render_file
from fl_gen.render.infinitrain import base_context
from fl_gen.render.op_tests import BY_HAND, REFERENCES, families_of, op_test_files
from fl_gen.resolve.model import Backend
from fl_gen.resolve.ops import resolve_ops
from fl_gen.schema.framework import Framework, make_framework
from fl_gen.schema.ops_spec import load_ops
from fl_gen.schema.paths import data_dir

MakeBackend = Callable[..., Backend]
TEMPLATES = data_dir() / "templates" / "infinitrain"


def rendered(backend: Backend) -> dict[str, str]:
    environment = environment_for((TEMPLATES,))
    texts = {}
    for file in op_test_files(backend):
        context = {**base_context(backend), **file.context}
        texts[file.path] = render_file(environment, FileRender(file.template, file.path, context, file.nodes))
    return texts


def plain(name: str, backend: Backend) -> str:
    """A template that needs nothing but the base context."""
    file = FileRender(f"tests/{name}.j2", f"tests/{name}", base_context(backend))
    return render_file(environment_for((TEMPLATES,)), file)


def body_of(text: str, op: str) -> str:
    """The body of one test, one statement a line."""
    start = text.index(f"OpsTest, {op})")
    return "\n".join(line.strip() for line in text[start : text.index("\n}\n", start)].splitlines()[1:])


def with_ops(backend: Backend, framework: Framework, path: Path, text: str) -> Backend:
    import dataclasses

    path.write_text(text, encoding="utf-8")
    more = make_framework(framework.interface, [*framework.files, load_ops(path)])
    return dataclasses.replace(backend, framework=more, ops=resolve_ops(more, backend.vendor, backend.choices))


def test_every_kernel_has_a_test(make_backend: MakeBackend) -> None:
    backend = make_backend("mlu")
    texts = rendered(backend)
    generated = "".join(text for path, text in texts.items())
    for op in backend.ops:
        assert op.name in BY_HAND or f"OpsTest, {op.name})" in generated, op.name
    assert "GTEST_SKIP" not in "".join(
        text for path, text in texts.items() if path.endswith(("elementwise.cc", "layout.cc", "math.cc", "other.cc"))
    )


@pytest.mark.parametrize("op", sorted(BY_HAND))
def test_tests_by_hand_call_their_kernel(op: str, make_backend: MakeBackend) -> None:
    texts = rendered(make_backend("mlu"))
    assert f'"{op}"' in texts["tests/test_ops_convert.cc"] + texts["tests/test_ops_device.cc"]


def test_references_are_those_of_the_header(make_backend: MakeBackend) -> None:
    header = plain("op_reference.h", make_backend("mlu"))
    assert set(re.findall(r"^Arrays (\w+)\(", header, re.MULTILINE)) == REFERENCES


def test_a_test_sweeps_the_dtypes_of_the_schema(make_backend: MakeBackend) -> None:
    text = rendered(make_backend("mlu"))["tests/test_ops_elementwise.cc"]
    lines = body_of(text, "MulBackward").splitlines()
    assert lines[:7] == [
        'const Sweep sweep{"MulBackward", 3, {kBFLOAT16, kFLOAT16, kFLOAT32}};',
        "sweep.Run([](OpTest &test) {",
        "const auto grad_output = test.Uniform(Dims{2, 3});",
        "const auto a = test.Uniform(Dims{2, 3});",
        "const auto b = test.Uniform(Dims{2, 3}, 0.25, 4.0);",
        "const auto result = test.Call<std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>>>"
        "(grad_output.tensor, a.tensor, b.tensor);",
        "test.Expect(result, reference::MulBackward(grad_output.array, a.array, b.array));",
    ]
    # Two operands that are promoted to a common dtype may also be of one that the op does not list.
    assert body_of(text, "AddForward").startswith(
        'const Sweep sweep{"AddForward", 2, {kBFLOAT16, kFLOAT16, kFLOAT32}, {kINT64}, true};'
    )


def test_scalars_have_exactly_the_types_of_the_call_sites(make_backend: MakeBackend) -> None:
    texts = rendered(make_backend("mlu"))
    # int64_t, float, bool and int: a literal of another type would be undefined behaviour that nothing reports.
    assert "(a.tensor, 2.0f)" in body_of(texts["tests/test_ops_elementwise.cc"], "AddScalarForward")
    assert "(input.tensor, int64_t{2}, 1)" in body_of(texts["tests/test_ops_layout.cc"], "SplitForward")
    assert "(input.tensor, int64_t{-1}, false)" in body_of(texts["tests/test_ops_other.cc"], "MeanForward")
    assert "1e-08f, int64_t{3})" in body_of(texts["tests/test_ops_other.cc"], "AdamAccumulateGrad")
    concat = body_of(texts["tests/test_ops_layout.cc"], "ConcatBackward")
    assert "const auto input_dims_list = std::vector<Dims>{Dims{2, 3}, Dims{2, 1}};" in concat
    assert "(grad_output.tensor, input_dims_list, int64_t{1})" in concat


def test_arguments_that_change_are_compared_in_place(make_backend: MakeBackend) -> None:
    body = body_of(rendered(make_backend("mlu"))["tests/test_ops_other.cc"], "AccumulateGrad")
    assert "test.Call<void>(gradient.tensor, 0.5f, tensor.tensor);" in body
    assert "test.ExpectInPlace({tensor}, reference::AccumulateGrad(gradient.array, 0.5f, tensor.array));" in body


def test_tensors_of_every_kind(make_backend: MakeBackend) -> None:
    texts = rendered(make_backend("mlu"))
    assert "test.List({Dims{2, 3}, Dims{2, 1}})" in body_of(texts["tests/test_ops_layout.cc"], "ConcatForward")
    assert "test.Binary(Dims{3, 4})" in body_of(texts["tests/test_ops_layout.cc"], "MaskForward")
    assert "test.PermutationOf(Dims{3, 2}, 5)" in body_of(texts["tests/test_ops_layout.cc"], "ScatterForward")
    assert "test.Null()" in body_of(texts["tests/test_ops_math.cc"], "LinearForward")
    assert "test.SoftmaxOf(Dims{2, 3, 4}, 1)" in body_of(texts["tests/test_ops_math.cc"], "SoftmaxBackward")
    target = body_of(texts["tests/test_ops_math.cc"], "CrossEntropyForward")
    assert "test.Below(Dims{3}, 5)" in target
    assert "{kUINT8, kINT64}" in target
    largest = body_of(texts["tests/test_ops_other.cc"], "MaxBackward")
    assert "test.MaxOf(input, 1, false)" in largest
    assert "test.MaxOf(input, -1, true)" in largest


NEW_OP = """\
schema: 1
category: more
ops:
  - name: GeluForward
    doc: Gaussian error linear unit.
    returns: "std::shared_ptr<Tensor>"
    params:
      - {name: input, type: "const std::shared_ptr<Tensor> &"}
    strategy: fallback
    cpu: framework
    dtypes: [float32]
    output_dtype: same(input)
    source: a test
    cases:
      - {input: [2, 3]}
"""


def test_a_kernel_without_a_reference_is_said_to_have_none(
    make_backend: MakeBackend, framework: Framework, tmp_path: Path
) -> None:
    backend = make_backend("mlu")
    before = rendered(backend)
    after = rendered(with_ops(backend, framework, tmp_path / "more.yaml", NEW_OP))
    assert [path for path in after if after[path] != before[path]] == ["tests/test_ops_other.cc"]
    assert 'GTEST_SKIP() << "GeluForward: no reference is known' in after["tests/test_ops_other.cc"]


def test_variables_do_not_clash_with_those_of_the_test(framework: Framework, tmp_path: Path) -> None:
    text = NEW_OP.replace("GeluForward", "SinForward").replace("name: input", "name: result")
    path = tmp_path / "more.yaml"
    path.write_text(text.replace("same(input)", "same(result)").replace("{input:", "{result:"), encoding="utf-8")
    (family,) = (family for family in families_of(load_ops(path).ops, {"float32": "kFLOAT32"}) if family.ops)
    (case,) = family.ops[0].cases
    assert case.operands[0].name == "result_"
    assert case.call == ("result_.tensor",)


def test_what_depends_on_the_vendor(make_backend: MakeBackend) -> None:
    mlu, maca = rendered(make_backend("mlu")), rendered(make_backend("maca"))
    assert "BlacklistSendsCastToTheHost" in mlu["tests/test_ops_router.cc"]
    assert "BlacklistSendsGemmToTheHost" in maca["tests/test_ops_router.cc"]
    assert "BlacklistSendsCastToTheHost" not in maca["tests/test_ops_router.cc"]
    assert mlu["tests/test_ops_math.cc"].replace("mlu", "maca") == maca["tests/test_ops_math.cc"]
