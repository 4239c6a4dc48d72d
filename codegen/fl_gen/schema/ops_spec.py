"""The declaration of ops files, and their loader."""

from __future__ import annotations

import os
from typing import Any

from .location import Location
from .nodes import Node, Scalar, plain_data
from .ops import (
    DTYPE_GROUPS,
    ROLES,
    DTypeRule,
    Op,
    OpParam,
    OpsFile,
    Role,
    TestCase,
    default_role,
    expand_dtypes,
    parse_rule,
)
from .scalars import CXX_TYPE, DOC, IDENTIFIER, WORD, Bool, Choice, Int, Str
from .spec import ByShape, Check, Definitions, Field, Json, ListOf, MapOf, Record, Spec, validate
from .values import Table
from .vendor import DTYPES
from .yaml_loader import load

_DTYPE_LIST = ListOf(Choice((*DTYPES, *DTYPE_GROUPS)), at_least=1, unique=True)
_RULE = Str(
    "a dtype rule", None, "same(x), promote(x, y), widen(x), arg(x), view(x), in_place or a dtype", refine=parse_rule
)
_OP_NAME = Str("an op's name", "[A-Z][A-Za-z0-9]*", "PascalCase, as it is registered", refine=IDENTIFIER.refine)


class _Plain(Spec):
    """Any data: shapes, numbers, words, maps of them. Whether it suits the argument, the op checks."""

    __slots__ = ()

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and node.kind == "int" and len(node.value) > 20:
            return check.report(node, f"{label} is too large a number")
        return plain_data(node)

    def json(self, definitions: Definitions) -> Json:
        return {}


class _Case(Spec):
    """One test case: a value per argument."""

    __slots__ = ()

    _map = MapOf(IDENTIFIER, _Plain())

    def check(self, node: Node, check: Check, label: str) -> Any:
        arguments = self._map.check(node, check, label)
        return TestCase(arguments, node.location) if isinstance(arguments, Table) else arguments

    def json(self, definitions: Definitions) -> Json:
        return self._map.json(definitions)


def _param(name: str, type: str, role: Role | None, location: Location) -> OpParam:
    return OpParam(name, type, role or default_role(type), location)


def _op(
    dtypes: tuple[str, ...],
    exact_dtypes: tuple[str, ...],
    index_dtypes: tuple[str, ...],
    output_dtype: DTypeRule | tuple[DTypeRule, ...],
    **rest: Any,
) -> Op:
    rules = output_dtype if isinstance(output_dtype, tuple) else (output_dtype,)
    return Op(
        dtypes=expand_dtypes(dtypes),
        exact_dtypes=expand_dtypes(exact_dtypes),
        index_dtypes=expand_dtypes(index_dtypes),
        output_dtype=rules,
        category="",
        **rest,
    )


_PARAM = Record(
    "an op's parameter",
    _param,
    {
        "name": Field(IDENTIFIER, "its name"),
        "type": Field(CXX_TYPE, "its exact C++ type in the framework's declaration"),
        "role": Field(Choice(ROLES), "what it is for, when that does not follow from the type", None),
    },
)
_OP = Record(
    "an op",
    _op,
    {
        "name": Field(_OP_NAME, "the registered name"),
        "doc": Field(DOC, "what it computes"),
        "required": Field(Bool(), "true: a backend cannot be registered without it", False),
        "returns": Field(CXX_TYPE, "exact C++ return type"),
        "params": Field(ListOf(_PARAM), "parameters in order"),
        "strategy": Field(Choice(("fallback", "host")), "where the kernel comes from if the vendor has nothing better"),
        "cpu": Field(Choice(("framework", "generated")), "which host kernel computes"),
        "precision": Field(Choice(("float32", "exact")), "in which type the host kernel computes", "float32"),
        "dtypes": Field(_DTYPE_LIST, "dtypes that it takes, or groups: floating, numeric, all"),
        "exact_dtypes": Field(_DTYPE_LIST, "dtypes that float32 cannot hold; generated code computes in them", ()),
        "index_dtypes": Field(_DTYPE_LIST, "dtypes of the arguments with role index", ()),
        "output_dtype": Field(
            ByShape(scalar=_RULE, sequence=ListOf(_RULE, at_least=1)), "rule for all results, or one for each"
        ),
        "note": Field(DOC, "what is surprising about it", None),
        "source": Field(DOC, "where the facts are from"),
        "cases": Field(ListOf(_Case()), "arguments for generated tests", ()),
    },
    title="op",
)


def _file(category: str, ops: tuple[Op, ...], version: int, location: Location) -> OpsFile:
    for op in ops:  # which nobody has seen yet; to make each anew would check it a second time
        object.__setattr__(op, "category", category)
    return OpsFile(category, ops, version, location)


SPEC = Record(
    "an ops file",
    _file,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "category": Field(WORD, "what the ops have in common; also the name of generated files"),
        "ops": Field(ListOf(_OP, at_least=1), "the kernels"),
    },
    title="ops",
)


def load_ops(path: str | os.PathLike[str], name: str | None = None) -> OpsFile:
    """The ops of a file. Raises SchemaError with everything that is wrong with it, taken by itself."""
    ops: OpsFile = validate(SPEC, load(path, name), "an ops file")
    return ops
