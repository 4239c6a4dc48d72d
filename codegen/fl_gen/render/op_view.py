"""A kernel as the templates of src/kernels see it: C++ text made from its schema node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fl_gen.resolve.ops import ResolvedOp
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.ops import DTYPE_GROUPS, DTypeRule, OpParam

T = TypeVar("T")

# Kernels whose wrapper is not made from the schema: they take bare addresses, cross devices, or are views.
BESPOKE: Mapping[str, tuple[str, ...]] = {
    "comm": ("Broadcast", "Scatter", "Gather", "ReduceAddCoalesced"),
    "gemm": ("Gemm",),
}
_BESPOKE_OPS = frozenset(name for names in BESPOKE.values() for name in names)
_WIDTH = 120  # columns of the framework's style
_GROUP_CONSTANTS = {"floating": "kFloating", "numeric": "kNumeric", "all": "kAll"}


def declare(type_: str, name: str) -> str:
    """`type name`; the star or ampersand belongs to the name."""
    return f"{type_}{name}" if type_.endswith(("*", "&")) else f"{type_} {name}"


class Once(Generic[T]):
    """A property that is computed once for each object, as `functools.cached_property`, whose lock costs more."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            raise AttributeError(self._name)
        value = self._function(instance)
        instance.__dict__[self._name] = value
        return value


@dataclass(frozen=True)
class Argument:
    """An argument that is needed on the host: its name and the expression that brings it there."""

    name: str
    bring: str


@dataclass(frozen=True)
class OpView:
    """`enumerators` maps a dtype's name to the framework's enumerator of it.

    What templates ask for again and again is looked up once: there may be thousands of kernels.
    """

    resolved: ResolvedOp
    enumerators: Mapping[str, str]
    name: str = field(init=False, repr=False, compare=False)
    strategy: str = field(init=False, repr=False, compare=False)
    category: str = field(init=False, repr=False, compare=False)
    returns: str = field(init=False, repr=False, compare=False)
    _names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        op = self.resolved.op
        names = frozenset(param.name for param in op.params)
        self.__dict__.update(name=op.name, strategy=op.strategy, category=op.category, returns=op.returns, _names=names)

    # -- declarations --------------------------------------------------------------------------------------------------

    @Once
    def declaration(self) -> str:
        params = ", ".join(declare(param.type, param.name) for param in self.resolved.op.params)
        return f"{self.returns} {self.name}({params})"

    @property
    def definition_head(self) -> str:
        return self.declaration

    @property
    def wrapped_head(self) -> str:
        """The declaration broken behind commas and aligned at the bracket, for files that no formatter sees."""
        opening = f"{self.returns} {self.name}("
        params = [declare(param.type, param.name) for param in self.resolved.op.params]
        lines, line = [], opening
        for position, param in enumerate(params):
            piece = param + (", " if position + 1 < len(params) else ")")
            if len(line + piece.rstrip()) + 2 > _WIDTH and line != opening:
                lines.append(line.rstrip())
                line = " " * len(opening)
            line += piece
        lines.append(line if params else line + ")")
        return "\n".join(lines)

    # -- the table -----------------------------------------------------------------------------------------------------

    @Once
    def dtype_set(self) -> str:
        return self._set(self.resolved.op.dtypes)

    @Once
    def exact_set(self) -> str:
        return self._set(self.resolved.op.exact_dtypes)

    @Once
    def index_set(self) -> str:
        return self._set(self.resolved.op.index_dtypes)

    def _set(self, dtypes: tuple[str, ...]) -> str:
        if not dtypes:
            return "kNone"
        for group, names in DTYPE_GROUPS.items():
            if dtypes == names:
                return _GROUP_CONSTANTS[group]
        return "{" + ", ".join(self.enumerators[dtype] for dtype in dtypes) + "}"

    # -- routing -------------------------------------------------------------------------------------------------------

    @property
    def native(self) -> bool:
        return self.resolved.native is not None

    @property
    def library(self) -> bool:
        return self.resolved.library is not None

    @property
    def routed(self) -> bool:
        return self.native or self.library

    @Once
    def registered(self) -> str:
        """What the dispatcher gets."""
        if self.routed:
            return f"router::{self.name}"
        return self.name if self.strategy == "host" else f"fallback::{self.name}"

    @property
    def native_condition(self) -> str | None:
        """Whether the native kernel takes the dtype of a call; None if it takes all of them, or no tensor shows it."""
        assert self.resolved.native is not None
        dtypes = self.resolved.native.dtypes
        tensors = [param for param in self.resolved.op.params if param.has_tensors and param.role != "index"]
        if dtypes is None or dtypes == DTYPE_GROUPS["all"] or not tensors:
            return None
        names = ", ".join(f"DataType::{self.enumerators[dtype]}" for dtype in dtypes)
        return f"DataTypeSet({{{names}}}).Contains({dtype_of(tensors[0])})"

    @property
    def library_condition(self) -> str:
        return f"library::Takes{self.name}({', '.join(param.name for param in self.resolved.op.params)})"

    def call(self, namespace: str, last: bool = False) -> list[str]:
        """The statements that pass a call on to the function in `namespace` and return."""
        arguments = ", ".join(
            f"std::move({param.name})" if _owning(param) else param.name for param in self.resolved.op.params
        )
        call = f"{namespace}{self.name}({arguments});"
        if self.returns != "void":
            return [f"return {call}"]
        return [call] if last else [call, "return;"]

    # -- the wrapper ---------------------------------------------------------------------------------------------------

    @Once
    def wrapped(self) -> bool:
        """Whether its wrapper is made from the schema."""
        return self.strategy == "fallback" and self.name not in _BESPOKE_OPS

    @Once
    def host_kernel(self) -> str | None:
        """The kind of generated host kernel that the wrapper calls: float32, exact, or None."""
        op = self.resolved.op
        if not self.wrapped:
            return None
        if op.exact_dtypes or (op.cpu == "generated" and op.precision == "exact"):
            return "exact"
        return "float32" if op.cpu == "generated" else None

    def local(self, name: str) -> str:
        """A local variable of the wrapper: `name`, or `name_` where a parameter is called that."""
        return name + "_" if name in self._names else name

    @Once
    def subject(self) -> str:
        """The argument whose device is the device of the call. Raises SchemaError when there is none."""
        roles = ("input", "index", "inout", "output")
        candidates = [param for param in self.resolved.op.params if param.has_tensors and param.role in roles]
        if not candidates:
            place, message = self.resolved.op.location, f"{self.name} falls back to the host and takes no tensor"
            hint = "write strategy: host, or give it the tensor that it works on"
            raise SchemaError([Diagnostic(place, message, hint, rule="invariant")])
        # An argument that may be left out tells nothing as long as there is another one.
        sure = [param for param in candidates if not param.bare_type.startswith("std::optional<")] or candidates
        return sure[0].name if sure[0].type.count("std::vector<") == 1 else _first_tensor(sure[0])

    @Once
    def dtype_lines(self) -> list[str]:
        """What must be known about dtypes before the arguments are brought."""
        op = self.resolved.op
        promoted = self._promoted()
        dtype, compute, call = self.local("dtype"), self.local("compute"), self.local("call")
        lines = []
        if promoted is not None:
            expression = self._dtype(promoted)
            checked = expression if op.exact_dtypes else f"{call}.Check({expression})"
            lines.append(f"const DataType {dtype} = {checked};")
        if op.exact_dtypes:
            subject = dtype if promoted is not None else self._dtype(op.output_dtype[0])
            lines.append(f"const DataType {compute} = {call}.ComputeDtype({subject});")
        return lines

    @Once
    def brought(self) -> list[Argument]:
        return [Argument(param.name, self._bring(param)) for param in self.resolved.op.params if param.has_tensors]

    def _bring(self, param: OpParam) -> str:
        op = self.resolved.op
        call = self.local("call")
        if param.role == "shape":
            return f"{call}.ShapeOnHost({param.name})"
        if param.role == "output":
            return f"{call}.ShapeOnHost({param.name}, {call}.Check({param.name}->Dtype()))"
        if param.role == "index":
            return f"{call}.IndexToHost({param.name})"
        if op.precision == "exact":
            return f"{call}.ToHostUnchanged({param.name})"
        if op.exact_dtypes:
            return f"{call}.ToHost({param.name}, {self.local('compute')})"
        promoted = self._promoted()
        if promoted is not None and param.name in promoted.arguments():
            return f"{call}.ToHost({param.name}, DataType::kFLOAT32)"
        return f"{call}.ToHost({param.name})"

    @Once
    def compute(self) -> str:
        """The expression that computes the kernel on the host."""
        op = self.resolved.op
        arguments = ", ".join(f"{param.name}_host" if param.has_tensors else param.name for param in op.params)
        generated = f"host::{self.name}({arguments})"
        framework = f"{self.local('call')}.Cpu<decltype({self.name})>({arguments})"
        if op.cpu == "generated":
            return generated
        if not op.exact_dtypes:
            return framework
        return f"{self.local('compute')} == DataType::kFLOAT32 ? {framework} : {generated}"

    @Once
    def changed(self) -> list[str]:
        return [param.name for param in self.resolved.op.params if param.role in ("inout", "output")]

    @Once
    def output_dtype(self) -> str:
        rules = self.resolved.op.output_dtype
        if self._promoted() is not None:
            return self.local("dtype")
        texts = [self._dtype(rule) for rule in rules]
        return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"

    def _promoted(self) -> DTypeRule | None:
        rules = self.resolved.op.output_dtype
        return rules[0] if len(rules) == 1 and rules[0].kind == "promote" else None

    def _dtype(self, rule: DTypeRule) -> str:
        """The dtype that a rule gives, as C++."""
        if rule.kind == "dtype":
            return f"DataType::{self.enumerators[str(rule.operands[0])]}"
        if rule.kind == "arg":
            return str(rule.operands[0])
        if rule.kind == "widen":
            inner = rule.operands[0]
            assert isinstance(inner, DTypeRule)
            return f"WidenedDtype({self._dtype(inner)})"
        texts = [dtype_of(self.resolved.op.param(str(operand))) for operand in rule.operands]
        return f"PromoteDataTypes({', '.join(texts)})" if rule.kind == "promote" else texts[0]


def dtype_of(param: OpParam) -> str:
    """The dtype of a tensor argument, of its first tensor if it holds several, as C++."""
    return f"{_first_tensor(param)}->Dtype()"


def _first_tensor(param: OpParam) -> str:
    """The first tensor in an argument."""
    if param.bare_type.startswith("std::optional<"):
        return f"{param.name}.value()"
    return param.name + ".front()" * param.type.count("std::vector<")


def _owning(param: OpParam) -> bool:
    """Passed by value and worth moving."""
    return not param.type.rstrip().endswith("&") and param.type.startswith(("std::shared_ptr<", "std::vector<"))
