"""ops/torch.yaml and kernels.yaml: what is wrong is told at its place, and what is said decides where an operator goes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fl_gen.resolve.torch_ops import fallback_shards, needs_boxed, resolve_torch_ops
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.torch_kernels import TorchKernel, load_torch_kernels, with_torch_entry
from fl_gen.schema.torch_rules import TorchRules, load_rules
from fl_gen.sdk.torch_ops import TorchOp

from .conftest import MakeOp

BOUND: Any = {name: SimpleNamespace(bound=True) for name in ("library.gemm", "library.cast")}
UNBOUND: Any = {name: SimpleNamespace(bound=False) for name in BOUND}


@pytest.fixture
def ops(make_op: MakeOp) -> tuple[TorchOp, ...]:
    return (
        make_op("aten::relu"),
        make_op("aten::mm", composite="non_functional", structured=True),
        make_op("aten::addr", composite="explicit"),
        make_op("aten::silu_backward", composite="implicit"),
        make_op("aten::zeros_like", composite="explicit", cpu=False),
        make_op("aten::linear", composite="implicit", cpu=False),
        make_op("aten::view", view=True),
        make_op("aten::expand", view=True, composite="explicit"),
        make_op("aten::bernoulli_.float", tags=("nondeterministic_seeded",)),
    )


def rules(tmp_path: Path, text: str) -> tuple[TorchRules, ...]:
    path = tmp_path / "torch.yaml"
    path.write_text("schema: 1\n" + text)
    return (load_rules(path, "torch.yaml"),)


def kernels(tmp_path: Path, text: str) -> tuple[TorchKernel, ...]:
    path = tmp_path / "kernels.yaml"
    path.write_text("schema: 1\nkernels:\n" + text)
    return load_torch_kernels(path, "kernels.yaml").kernels


def test_what_a_composite_kernel_would_shadow_is_registered(ops: tuple[TorchOp, ...]) -> None:
    # Facts of the dispatcher: a backend's fallback is asked after composite kernels, and a view of a copy is none.
    boxed = {op.name for op in ops if needs_boxed(op)}
    assert boxed == {"aten::mm", "aten::addr", "aten::silu_backward"}
    resolved = {op.name: op.strategy for op in resolve_torch_ops(ops, (), {})}
    assert resolved == {
        "aten::relu": "fallback",
        "aten::mm": "fallback",
        "aten::addr": "fallback",
        "aten::silu_backward": "fallback",
        "aten::zeros_like": "composite",
        "aten::linear": "composite",
        "aten::view": "composite",
        "aten::expand": "composite",
        "aten::bernoulli_.float": "fallback",
    }


def test_shards_hold_a_hundred_and_nothing_twice(make_op: MakeOp) -> None:
    many = [make_op(f"aten::op{number}.out", composite="explicit") for number in range(201)]
    resolved = resolve_torch_ops(many, (), {})
    shards = fallback_shards(resolved, {"op7.out"})
    assert [len(shard) for shard in shards.values()] == [99, 100, 1]
    names = [name for shard in shards.values() for name in shard]
    assert len(set(names)) == 200
    assert "op7.out" not in names
    assert names[0] == "op0.out"


def test_an_operator_that_leaves_its_shard_moves_no_other(make_op: MakeOp, tmp_path: Path) -> None:
    many = [make_op(f"aten::op{number}.out", composite="explicit") for number in range(201)]
    before = fallback_shards(resolve_torch_ops(many, (), {}))
    listed = kernels(tmp_path, "  - {op: aten::op7.out, file: op7.cc, function: op7}\n")
    after = fallback_shards(resolve_torch_ops(many, (), {}, listed))
    assert (after[1], after[2]) == (before[1], before[2])
    assert set(before[0]) - set(after[0]) == {"op7.out"}
    # One that is empty is no file, and the others keep their numbers.
    assert list(fallback_shards(resolve_torch_ops(many, (), {}), {f"op{n}.out" for n in range(100)})) == [1, 2]


def test_a_kernel_in_c_stands_before_the_library_and_one_in_python_above_it(
    ops: tuple[TorchOp, ...], tmp_path: Path
) -> None:
    said = rules(tmp_path, "ops:\n  aten::mm: {strategy: library, operation: library.gemm, dtypes: [float32]}\n")
    text = "  - {op: aten::mm, file: mm.cc, function: mm, dtypes: [float16]}\n"
    mm = {op.name: op for op in resolve_torch_ops(ops, said, BOUND, kernels(tmp_path, text))}["aten::mm"]
    assert (mm.strategy, mm.compiled, mm.by_hand, mm.own) == ("native", "native", True, True)
    assert (mm.operation, mm.dtypes, mm.library_dtypes) == ("library.gemm", ("float16",), ("float32",))
    text = "  - {op: aten::mm, python: 'mm:mm'}\n"
    mm = {op.name: op for op in resolve_torch_ops(ops, said, BOUND, kernels(tmp_path, text))}["aten::mm"]
    assert (mm.strategy, mm.kind, mm.compiled, mm.by_hand, mm.own) == ("native", "python", "library", False, True)


def test_what_the_package_does_on_the_host_is_told_as_fallback(make_op: MakeOp) -> None:
    own = [make_op("aten::convolution_overrideable", composite="explicit", cpu=False), make_op("aten::zero_")]
    there: Any = {"memory.set_async": SimpleNamespace(bound=True)}
    assert [op.strategy for op in resolve_torch_ops(own, (), there)] == ["fallback", "runtime"]
    assert [op.strategy for op in resolve_torch_ops(own, (), {})] == ["fallback", "fallback"]
    assert not any(op.boxed or op.listed for op in resolve_torch_ops(own, (), {}))


RUNTIME = "ops:\n  aten::relu: {strategy: runtime, note: it is the allocator's}\n"


def test_what_no_kernel_can_be_written_for(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    text = "  - {op: aten::relu, python: 'a:f'}\n  - {op: aten::expand, file: e.cc, function: e}\n"
    with pytest.raises(SchemaError) as error:
        resolve_torch_ops(ops, rules(tmp_path, RUNTIME), {}, kernels(tmp_path, text))
    told = error.value.render()
    assert "kernels.yaml:3:10: aten::relu is of the package's runtime: it is the allocator's" in told
    assert "  = remove the entry: write kernels of the operators that compute" in told
    assert "kernels.yaml:4:10: aten::expand makes a view of its argument, which shares its memory" in told
    with pytest.raises(
        SchemaError, match="strategy: runtime needs 'note', which says why no kernel can take its place"
    ):
        rules(tmp_path, "ops:\n  aten::relu: {strategy: runtime}\n")


def test_a_library_kernel_needs_its_operation(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    said = rules(tmp_path, "ops:\n  aten::mm: {strategy: library, operation: library.gemm, dtypes: [float32]}\n")
    there = {op.name: op for op in resolve_torch_ops(ops, said, BOUND)}["aten::mm"]
    assert (there.strategy, there.boxed, there.operation, there.dtypes) == (
        "library",
        False,
        "library.gemm",
        ("float32",),
    )
    lost = {op.name: op for op in resolve_torch_ops(ops, said, UNBOUND)}["aten::mm"]
    assert (lost.strategy, lost.boxed, lost.unavailable) == (
        "fallback",
        True,
        "library.gemm has no binding in this SDK",
    )


def test_rules_change_what_pytorch_does(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    text = "ops:\n  aten::zeros_like: {strategy: fallback}\n  aten::addr: {strategy: composite}\n"
    resolved = {op.name: op for op in resolve_torch_ops(ops, rules(tmp_path, text), {})}
    assert (resolved["aten::zeros_like"].strategy, resolved["aten::zeros_like"].boxed) == ("fallback", True)
    assert (resolved["aten::addr"].strategy, resolved["aten::addr"].boxed) == ("composite", False)


def test_the_first_file_that_says_something_counts(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    own = rules(tmp_path, "ops:\n  aten::bernoulli_.float: {note: of the vendor}\n")
    shipped = rules(
        tmp_path,
        "categories:\n  random:\n    doc: They draw.\n    match: ['tag:nondeterministic_seeded']\n"
        "    tolerance: {float32: {rtol: 0.5, atol: 0.25}}\n    note: of the category\n",
    )
    found = resolve_torch_ops(ops, (*own, *shipped), {})[-1]
    assert found.note == "of the vendor"
    assert found.tolerance is not None
    assert (found.tolerance["float32"].rtol, found.tolerance["float32"].atol) == (0.5, 0.25)


def test_a_kernel_in_c_replaces_the_registration_and_one_in_python_does_not(
    ops: tuple[TorchOp, ...], tmp_path: Path
) -> None:
    listed = kernels(
        tmp_path,
        "  - {op: aten::mm, file: mm.cc, function: mm}\n  - {op: aten::addr, python: 'addr:addr', dtypes: [float32]}\n",
    )
    resolved = {op.name: op for op in resolve_torch_ops(ops, (), {}, listed)}
    assert (resolved["aten::mm"].strategy, resolved["aten::mm"].boxed) == ("native", False)
    assert (resolved["aten::addr"].strategy, resolved["aten::addr"].boxed) == ("native", True)


WRONG_RULES = {
    "unknown operator": (
        "ops:\n  aten::mmm: {note: x}\n",
        "torch.yaml:3:3: unknown operator 'aten::mmm'\n  = did you mean 'aten::mm'?",
    ),
    "unknown tag": (
        "categories:\n  c:\n    doc: d\n    match: ['tag:nondeterministic_seded']\n",
        "torch.yaml:5:13: unknown tag 'nondeterministic_seded'\n  = did you mean 'nondeterministic_seeded'?",
    ),
    "pattern without an operator": (
        "categories:\n  c:\n    doc: d\n    match: ['aten::_foreach_*']\n",
        "torch.yaml:5:13: no operator of this PyTorch matches 'aten::_foreach_*'\n  = remove it",
    ),
    "library kernel that no template makes": (
        "ops:\n  aten::relu: {strategy: library, operation: library.gemm}\n",
        "torch.yaml:3:46: there is no template for a library kernel of aten::relu by library.gemm\n"
        "  = the library kernels are aten::mm by library.gemm, aten::mm.out by library.gemm, "
        "aten::addmm by library.gemm, aten::addmm.out by library.gemm, aten::bmm by library.gemm_strided_batched, "
        "aten::bmm.out by library.gemm_strided_batched, aten::_to_copy by library.cast",
    ),
    "unknown operation": (
        "ops:\n  aten::mm: {strategy: library, operation: library.gem}\n",
        "torch.yaml:3:44: unknown operation 'library.gem'\n  = did you mean 'library.gemm'?",
    ),
    "composite without a kernel": (
        "ops:\n  aten::relu: {strategy: composite}\n",
        "torch.yaml:3:15: PyTorch has no composite kernel of aten::relu\n"
        "  = leave strategy out: it falls back to the CPU",
    ),
    "fallback of a view": (
        "ops:\n  aten::view: {strategy: fallback}\n",
        "torch.yaml:3:15: aten::view makes a view, and a view of a copy would be none\n  = leave strategy out",
    ),
}


@pytest.mark.parametrize("name", WRONG_RULES)
def test_rules_held_against_the_operators(name: str, ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    text, message = WRONG_RULES[name]
    with pytest.raises(SchemaError) as error:
        resolve_torch_ops(ops, rules(tmp_path, text), BOUND)
    lines = [line for line in error.value.render().split("\n") if not line.startswith((" ", "\t")) or "  = " in line]
    assert "\n".join(lines) == message


def test_an_optional_operator_may_be_absent(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    said = rules(tmp_path, "ops:\n  aten::of_tomorrow: {note: x, optional: true}\n")
    assert len(resolve_torch_ops(ops, said, {})) == len(ops)


def test_strategy_and_operation_go_together(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'dtypes' goes with strategy: library"):
        rules(tmp_path, "ops:\n  aten::mm: {strategy: fallback, dtypes: [float32]}\n")
    with pytest.raises(SchemaError, match="strategy: library needs 'operation'"):
        rules(tmp_path, "ops:\n  aten::mm: {strategy: library}\n")
    with pytest.raises(SchemaError, match="'operation' goes with strategy: library"):
        rules(tmp_path, "ops:\n  aten::mm: {strategy: fallback, operation: library.gemm}\n")
    with pytest.raises(SchemaError, match="must be the name of an operator, not 'mm'"):
        rules(tmp_path, "ops:\n  mm: {note: x}\n")


WRONG_KERNELS = {
    "both": ("  - {op: aten::relu, file: a.cc, function: f, python: 'a:f'}\n", "takes 'file' or 'python', not"),
    "neither": ("  - {op: aten::relu}\n", "needs 'file' or 'python'"),
    "no function": ("  - {op: aten::relu, file: a.cc}\n", "'file' and 'function' go together"),
    "no C++": ("  - {op: aten::relu, file: a.cu, function: f}\n", "a kernel in C++ stands in a .cc file"),
    "priority": (
        "  - {op: aten::relu, file: a.cc, function: f, priority: 1}\n",
        "'priority' goes with python: a kernel in C++ is the only one",
    ),
    "twice": (
        "  - {op: aten::relu, python: 'a:f'}\n  - {op: aten::relu, python: 'b:f'}\n",
        "the kernel of 'aten::relu' stands twice",
    ),
    "long module": (f"  - {{op: aten::relu, python: '{'a' * 125}:f'}}\n", "whose name has at most 124 characters"),
    "keyword": ("  - {op: aten::relu, python: 'a:def'}\n", "'def' is a keyword of Python: nothing can be called so"),
    "module": ("  - {op: aten::relu, python: 'a.b'}\n", "must be a Python function, not 'a.b'"),
}


@pytest.mark.parametrize("name", WRONG_KERNELS)
def test_a_kernels_file_that_is_wrong(name: str, tmp_path: Path) -> None:
    text, message = WRONG_KERNELS[name]
    with pytest.raises(SchemaError) as error:
        kernels(tmp_path, text)
    assert message in error.value.render()
    assert error.value.render().startswith("kernels.yaml:")


def test_kernels_held_against_the_operators(ops: tuple[TorchOp, ...], tmp_path: Path) -> None:
    listed = kernels(
        tmp_path, "  - {op: aten::rellu, python: 'a:f'}\n  - {op: aten::linear, file: l.cc, function: linear}\n"
    )
    with pytest.raises(SchemaError) as error:
        resolve_torch_ops(ops, (), {}, listed)
    text = error.value.render()
    assert "kernels.yaml:3:10: unknown operator 'aten::rellu'" in text
    assert "did you mean 'aten::relu'?" in text
    assert (
        "kernels.yaml:4:10: aten::linear is decomposed before a backend is asked: "
        "a kernel of it would break its gradient" in text
    )


def test_an_entry_is_added_and_every_other_byte_stays() -> None:
    text = "# mine\r\nschema: 1\r\nkernels:  # all of them\r\n  - {op: aten::relu, python: 'a:f'}\r\n# end\r\n"
    entry = "{op: aten::mm, file: mm.cc, function: mm}"
    assert with_torch_entry(text, "kernels.yaml", entry) == text.replace("# end", f"  - {entry}\r\n# end")
    assert with_torch_entry("schema: 1\nkernels: []\n", "kernels.yaml", entry) == (
        f"schema: 1\nkernels:\n  - {entry}\n"
    )
    with pytest.raises(SchemaError, match="must be 1, not 2"):
        with_torch_entry("schema: 2\nkernels: []\n", "kernels.yaml", entry)


def test_a_device_type_that_pytorch_has_itself_needs_another_name(tmp_path: Path) -> None:
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.name import Name

    assert Catalog().torch("xpu").device(Name.of("xpu")).snake == "kunlun"
    assert Catalog().torch("mlu").device(Name.of("mlu")).snake == "mlu"
    with pytest.raises(SchemaError, match="PyTorch has a device type xpu of its own"):
        Catalog().torch("mlu").device(Name.of("xpu"))
    own = tmp_path / "vendors" / "mlu" / "torch.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("schema: 1\ndevice: cuda\n")
    with pytest.raises(SchemaError, match=r"torch\.yaml:1:1: PyTorch has a device type cuda of its own"):
        Catalog([tmp_path]).torch("mlu").device(Name.of("mlu"))
    own.write_text("schema: 1\ndevice: lambda\n")
    with pytest.raises(SchemaError, match=r"yaml:1:1: torch\.lambda cannot be written: lambda is a keyword of Python"):
        Catalog([tmp_path]).torch("mlu").device(Name.of("mlu"))
