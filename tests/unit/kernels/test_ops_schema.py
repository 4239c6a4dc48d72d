"""The shipped ops of InfiniTrain. The signatures below are written down here and not read from the schema."""

from __future__ import annotations

from fl_gen.render.op_view import OpView
from fl_gen.resolve.ops import ResolvedOp
from fl_gen.schema.framework import Framework
from fl_gen.schema.ops import DTYPE_GROUPS

T = "std::shared_ptr<Tensor>"
R = "const std::shared_ptr<Tensor> &"
DIMS = "const std::vector<int64_t> &"

# Where a wrong guess is easy: order of arguments, int against int64_t, pair against tuple, by value against reference.
TRAPS = {
    "SigmoidBackward": f"{T} SigmoidBackward({R}output, {R}grad_output)",
    "TanhBackward": f"{T} TanhBackward({R}grad_output, {R}output)",
    "ExpBackward": f"{T} ExpBackward({R}grad_output, {R}output)",
    "LinearBackwardInput": (
        f"{T} LinearBackwardInput({R}weight, {R}grad_output, bool transpose, int64_t in_features, "
        f"int64_t out_features, {DIMS}input_dims)"
    ),
    "LinearForward": f"{T} LinearForward({R}input, {R}weight, bool transpose, {R}bias)",
    "MatmulBackwardInput": f"{T} MatmulBackwardInput({R}other, {R}grad_output, {DIMS}input_dims)",
    "MatmulBackwardOther": f"{T} MatmulBackwardOther({R}input1, {R}grad_output, {DIMS}other_dims)",
    "NoOpForward": f"{T} NoOpForward({R}input, {DIMS}dims)",
    "NoOpBackward": f"{T} NoOpBackward({DIMS}dims, {R}grad_output)",
    "SplitForward": f"std::vector<{T}> SplitForward({R}input, int64_t split_size, int dim)",
    "SplitBackward": (
        f"{T} SplitBackward({DIMS}input_dims, int64_t split_size, int dim, const std::vector<{T}> &grad_outputs)"
    ),
    "StackBackward": f"std::vector<{T}> StackBackward({DIMS}input_dims, int64_t dim, {R}grad_output)",
    "EmbeddingBackward": f"{T} EmbeddingBackward({R}input, {DIMS}weight_dims, {R}grad_output)",
    "AddBackward": f"std::pair<{T}, {T}> AddBackward({R}grad_output, {DIMS}a_dims, {DIMS}b_dims)",
    "OuterBackward": f"std::tuple<{T}, {T}> OuterBackward({R}input, {R}other, {R}grad_output)",
    "LayerNormForward": f"std::tuple<{T}, {T}, {T}> LayerNormForward({R}input, {R}weight, {R}bias, const float eps)",
    "Cast": f"{T} Cast({T} input, DataType dtype)",
    "Fill": f"void Fill({T} tensor, Scalar scalar)",
    "Gemm": "void Gemm(Device device, GemmParams p)",
    "AdamAccumulateGrad": (
        f"void AdamAccumulateGrad({R}grad, {R}param, {R}m, {R}v, float learning_rate, float beta1, float beta2, "
        "float eps, int64_t t)"
    ),
    "Broadcast": (
        f"std::vector<{T}> Broadcast(const std::vector<{T}> &input_tensors, const std::vector<Device> &devices)"
    ),
    "ReduceAddCoalesced": (
        f"std::vector<{T}> ReduceAddCoalesced(const std::vector<std::vector<{T}>> &grads, Device destination)"
    ),
    "GatherBackward": f"{T} GatherBackward({R}grad_output, {R}index, int64_t dim, {DIMS}input_dims)",
    "TopKForward": f"std::vector<{T}> TopKForward({R}input, int64_t topk, int64_t dim, bool largest, bool sorted)",
}


def test_every_kernel_of_the_framework_is_there(framework: Framework) -> None:
    names = set(framework.ops)
    assert len(names - {"TopKForward", "TopKBackward"}) == 103
    assert len(names) == 105
    assert {op.name for op in framework.ops.values() if op.required} == {"Cast", "Fill", "NoOpForward", "NoOpBackward"}


def test_signatures_that_are_easy_to_get_wrong(framework: Framework) -> None:
    declared = {name: OpView(ResolvedOp(framework.op(name)), {}).declaration for name in TRAPS}
    assert declared == TRAPS


def test_trivial_types_are_passed_by_value(framework: Framework) -> None:
    # The dispatcher passes what it deduced by value; a reference to one of these would read garbage.
    trivial = {"float", "bool", "int", "int64_t", "DataType", "Scalar", "GemmParams"}
    for op in framework.ops.values():
        for param in op.params:
            if param.bare_type in trivial:
                assert not param.type.rstrip().endswith("&"), f"{op.name}: {param.name}"


def test_arguments_that_change_are_said_to(framework: Framework) -> None:
    changed = {
        op.name: [param.name for param in op.params if param.role in ("inout", "output")]
        for op in framework.ops.values()
    }
    assert {name: params for name, params in changed.items() if params} == {
        "AccumulateGrad": ["tensor"],
        "AdamAccumulateGrad": ["param", "m", "v"],
        "Fill": ["tensor"],
        "Gemm": ["p"],
    }


def test_index_arguments(framework: Framework) -> None:
    index = {(op.name, param.name) for op in framework.ops.values() for param in op.params if param.role == "index"}
    assert index == {
        ("CrossEntropyForward", "target"),
        ("CrossEntropyBackward", "target"),
        ("EmbeddingForward", "input"),
        ("EmbeddingBackward", "input"),
        ("GatherForward", "index"),
        ("GatherBackward", "index"),
        ("ScatterForward", "indices"),
        ("ScatterBackward", "indices"),
        ("TopKBackward", "indices"),
        ("VocabParallelCrossEntropyBackward", "masked_target"),
    }


def test_result_dtypes_that_do_not_follow_the_first_argument(framework: Framework) -> None:
    rules = {op.name: [str(rule) for rule in op.output_dtype] for op in framework.ops.values()}
    assert rules["AddForward"] == ["promote(a, b)"]
    assert rules["MulBackward"] == rules["DivBackward"] == ["promote(a, b)"]
    assert rules["LinearBackwardInput"] == ["widen(weight)"]
    assert rules["LinearBackwardBias"] == ["widen(grad_output)"]
    assert rules["OuterBackward"] == ["widen(promote(input, other))"]
    assert rules["LayerNormForward"] == ["same(input)", "float32", "float32"]
    assert rules["CrossEntropyBackward"] == ["same(grad_output)"]
    assert rules["EmbeddingForward"] == ["same(weight)"]
    assert rules["VocabParallelCrossEntropyBackward"] == ["same(softmax_local)"]
    assert rules["TopKForward"] == ["same(input)", "int64"]
    assert rules["Cast"] == ["arg(dtype)"]


def test_what_the_cpu_kernels_cannot_do_is_generated(framework: Framework) -> None:
    generated = {op.name for op in framework.ops.values() if op.cpu == "generated"}
    reductions = {f"{kind}{way}" for kind in ("Mean", "Sum", "Max", "Min") for way in ("Forward", "Backward")}
    missing = {"Gemm", "VocabParallelCrossEntropyBackward", "Broadcast", "Scatter", "Gather", "ReduceAddCoalesced"}
    assert reductions | missing | {"MaskForward", "MaskBackward", "TopKForward", "TopKBackward"} <= generated


def test_integers_never_go_through_float32(framework: Framework) -> None:
    wide = {"int32", "uint32", "int64", "uint64"}
    for op in framework.ops.values():
        if op.precision == "float32":
            assert wide.intersection(op.dtypes) <= set(op.exact_dtypes), op.name


def test_fill_and_cast_serve_every_dtype(framework: Framework) -> None:
    for name in ("Fill", "Cast", "NoOpForward", "NoOpBackward"):
        assert framework.op(name).dtypes == DTYPE_GROUPS["all"]


def test_kernels_have_cases_but_for_those_that_need_several_devices(framework: Framework) -> None:
    bare = {op.name for op in framework.ops.values() if not op.cases}
    assert bare == {"Broadcast", "Scatter", "Gather", "ReduceAddCoalesced", "Gemm"}
