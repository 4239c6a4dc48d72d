"""Names with all their casings, C++ identifiers, suggestions, and the values that models are made of."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_gen.schema.cxx import identifier_problem, qualified_problem, type_problem
from fl_gen.schema.frozen import frozen
from fl_gen.schema.location import Location
from fl_gen.schema.name import Name, collisions
from fl_gen.schema.suggest import closest, suggestion
from fl_gen.schema.values import Ref, Table

HERE = Location("f", 1, 1)


@pytest.mark.parametrize(
    ("text", "snake", "pascal", "upper", "camel", "concat"),
    [
        ("mlu", "mlu", "Mlu", "MLU", "mlu", "mlu"),
        ("memory.alloc_async", "memory_alloc_async", "MemoryAllocAsync", "MEMORY_ALLOC_ASYNC", "memoryAllocAsync",
         "memoryallocasync"),
        ("AddForward", "add_forward", "AddForward", "ADD_FORWARD", "addForward", "addforward"),
        ("TopKBackward", "top_k_backward", "TopKBackward", "TOP_K_BACKWARD", "topKBackward", "topkbackward"),
        ("NLLLoss", "nll_loss", "NLLLoss", "NLL_LOSS", "nllLoss", "nllloss"),
        ("Conv2DForward", "conv2_d_forward", "Conv2DForward", "CONV2_D_FORWARD", "conv2DForward", "conv2dforward"),
    ],
)  # fmt: skip
def test_casings(text: str, snake: str, pascal: str, upper: str, camel: str, concat: str) -> None:
    name = Name.of(text)
    assert (name.snake, name.pascal, name.upper, name.camel, name.concat) == (snake, pascal, upper, camel, concat)
    assert str(name) == snake


@given(st.from_regex(r"[A-Z][A-Za-z0-9]{0,30}", fullmatch=True))
def test_a_registered_name_comes_back_letter_by_letter(text: str) -> None:
    assert Name.of(text).pascal == text


@given(st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,5}){0,4}", fullmatch=True))
def test_a_snake_name_comes_back(text: str) -> None:
    assert Name.of(text).snake == text


@pytest.mark.parametrize("text", ["", "_a", "a__b", "a_", "9a", "a-b", "aB", "a b", "ä", "a.", "../a"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="a name is"):
        Name.of(text)


def test_names_that_collide_in_some_casing() -> None:
    names = [Name.of(text) for text in ("top_k", "add", "topk", "TopK", "a_1", "a1")]
    assert [(str(one), str(two)) for one, two in collisions(names)] == [("top_k", "topk"), ("a_1", "a1")]


@pytest.mark.parametrize("word", ["class", "co_await", "xor", "requires", "char8_t", "__x", "a__b", "_X", "_", "_x",
                                  "9a", "a-b", "a'b", 'a"b', "a\nb", "a/b", "../a", "", "ä", "a" * 200])  # fmt: skip
def test_what_is_no_identifier(word: str) -> None:
    assert identifier_problem(word)


@pytest.mark.parametrize("word", ["x", "X1", "final", "module", "a_b", "stream_"])
def test_what_is_an_identifier(word: str) -> None:
    assert identifier_problem(word) is None


def test_qualified_names_and_types() -> None:
    assert qualified_problem("a::b::C") is None
    assert qualified_problem("a::class") == "it is a C++ keyword"
    assert qualified_problem("a::") is not None
    assert type_problem("const std::vector<std::shared_ptr<Tensor>> &") is None
    assert type_problem("void (*)(void *)") is None
    assert type_problem("$stream *") is None
    assert type_problem("int); system(") is not None
    assert type_problem("std::vector<int") == "its brackets do not match"
    assert type_problem('"x"') is not None


def test_suggestions() -> None:
    assert closest("bindngs", ["bindings", "types"]) == "bindings"
    assert closest("Bind-Ings", ["bindings", "types"]) == "bindings"
    assert closest("zzz", ["bindings", "types"]) is None
    assert suggestion("zzz", ["b", "a"], "keys") == "keys: a, b"
    assert suggestion("zzz", []) is None
    assert suggestion("zzz", [f"w{n}" for n in range(99)], "words") == (
        "words: w0, w1, w10, w11, w12, w13, w14, w15, w16, w17, w18, w19, w2, w20, w21, w22, … (99 in all)"
    )


def test_a_table_cannot_be_changed() -> None:
    table = Table({"a": 1}, HERE, {"a": Location("f", 4, 2)})
    for change in (lambda: table.update(a=2), lambda: table.pop("a"), lambda: table.__setitem__("b", 1), table.clear):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert table.location_of("a") == Location("f", 4, 2)
    assert table.location_of("b") == HERE
    again = pickle.loads(pickle.dumps(table))
    assert (again, again.location_of("a")) == (table, Location("f", 4, 2))


def test_a_reference_is_text_with_a_place() -> None:
    ref = Ref("runtime", HERE)
    assert ref == "runtime"
    assert ref.location == HERE
    assert pickle.loads(pickle.dumps(ref)).location == HERE
    assert f"{ref}" == "runtime"


@frozen
class Point:
    """Two numbers."""

    x: int
    y: int = 7

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")


def test_frozen_classes_behave_like_frozen_dataclasses() -> None:
    assert Point(1) == Point(x=1, y=7) != Point(1, 8)
    assert hash(Point(1)) == hash(Point(1, 7))
    assert repr(Point(1)) == "Point(x=1, y=7)"
    assert dataclasses.replace(Point(1), y=9) == Point(1, 9)
    assert [item.name for item in dataclasses.fields(Point)] == ["x", "y"]
    assert pickle.loads(pickle.dumps(Point(3))) == copy.deepcopy(Point(3)) == Point(3)
    assert not hasattr(Point(1), "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Point(1).x
    with pytest.raises(ValueError, match="negative"):
        Point(-1)


@pytest.mark.parametrize(
    ("arguments", "values", "message"),
    [
        ((), {}, "needs x"),
        ((1, 2, 3), {}, "takes 2 values"),
        ((1,), {"x": 1}, "got 'x' twice"),
        ((1,), {"z": 1}, "has no z"),
    ],
)
def test_frozen_classes_refuse_wrong_arguments(
    arguments: tuple[int, ...], values: dict[str, int], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*arguments, **values)
