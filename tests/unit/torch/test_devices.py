"""What CUDA asks of the devices of an operator's tensors, as it is read from PyTorch's own files."""

from __future__ import annotations

import pytest

from fl_gen.resolve.torch_ops import device_rules, resolve_torch_ops
from fl_gen.sdk.torch_ops import Argument, TorchOp, read_ops
from fl_gen.sdk.wheel import Wheel

from .conftest import MakeOp


def tensors(*types: str, by_name: tuple[str, ...] = ()) -> tuple[Argument, ...]:
    return (
        *(Argument(f"a{place}", type_, None, False) for place, type_ in enumerate(types)),
        *(Argument(f"k{place}", type_, "None", True) for place, type_ in enumerate(by_name)),
    )


def test_what_need_not_be_on_one_device_is_listed_by_rule(make_op: MakeOp) -> None:
    two = tensors("Tensor", "Tensor")
    ops = (
        make_op("aten::mm", devices="one", arguments=two),
        make_op("aten::add.Tensor", devices="iterator", arguments=two),
        make_op("aten::index.Tensor", devices="iterator", arguments=tensors("Tensor", "Tensor?[]")),
        make_op("aten::_fused_sgd_.tensor_lr", devices="any", arguments=tensors("Tensor[]")),
        # CUDA's kernel brings the second one to the device.
        make_op("aten::bernoulli_.Tensor", devices="iterator", arguments=two),
        # Nothing to compare, and nothing that the host could do.
        make_op("aten::relu_", devices="iterator", arguments=tensors("Tensor", "Scalar")),
        make_op("aten::bernoulli_.float", devices="iterator", arguments=tensors("Tensor", by_name=("Tensor?",))),
        make_op("aten::cudnn_thing", devices="any", cpu=False, arguments=two),
    )
    assert device_rules(resolve_torch_ops(ops, (), {})) == {
        "iterator": ("add.Tensor", "index.Tensor"),
        "any": ("_fused_sgd_.tensor_lr", "bernoulli_.Tensor"),
    }


@pytest.fixture(scope="module")
def ops(wheel: Wheel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TorchOp]:
    return {op.name.removeprefix("aten::"): op for op in read_ops(wheel, tmp_path_factory.mktemp("ops"))}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("mm", "one"),  # structured: what its group says
        ("mm.out", "one"),
        ("cat", "one"),
        ("index_select", "one"),  # has kernels of its own
        ("native_layer_norm", "one"),
        ("_stack", "one"),  # CUDA makes it of cat, which wants one device
        ("gcd", "one"),  # goes element by element, and compares before all the same
        ("add.Tensor", "iterator"),  # told by a tag
        ("mse_loss", "iterator"),  # by the class of the structured kernel
        ("masked_fill_.Tensor", "iterator"),  # by a comment
        ("_index_put_impl_", "iterator"),
        ("binary_cross_entropy", "iterator"),
        ("_fused_adam_", "one"),
        ("_fused_adam_.tensor_lr", "any"),
        ("copy_", "any"),
        ("linear", "any"),  # made of others
        ("_foreach_add.List", "any"),
    ],
)
def test_rules_of_the_real_wheel(ops: dict[str, TorchOp], name: str, rule: str) -> None:
    assert ops[name].devices == rule


def test_each_rule_has_operators_in_the_real_wheel(ops: dict[str, TorchOp]) -> None:
    rules = device_rules(resolve_torch_ops(tuple(ops.values()), (), {}))
    assert len(rules["iterator"]) > 200
    assert "bernoulli_.Tensor" in rules["any"]
    assert len(rules["any"]) < 20
