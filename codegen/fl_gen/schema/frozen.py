"""`@frozen`: what `@dataclass(frozen=True, slots=True)` gives, ten times cheaper to define.

`dataclass` compiles the text of up to six methods for each class, about a millisecond. With some eighty classes that
was half of the time that a command spends before it does anything. Here one set of methods serves every class.
`fields`, `replace` and `is_dataclass` work as usual; `default_factory`, `InitVar` and ordering are not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # Python 3.10 has no dataclass_transform, and only a type checker looks at it

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        return lambda function: function


T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """A class whose annotations are its fields: slotted, immutable, compared and hashed by value.

    `__post_init__` is called when there is one. Every class needs a docstring.
    """
    for name, function in _METHODS.items():
        setattr(cls, name, function)
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__defaults__ = {item.name: item.default for item in fields(made) if item.default is not MISSING}
    made.__names__ = tuple(item.name for item in fields(made))
    made.__keys__ = frozenset(made.__names__)
    made.__setters__ = tuple((name, getattr(made, name).__set__) for name in made.__names__)
    made.__checked__ = hasattr(made, "__post_init__")
    result: type[T] = made
    return result


def _init(self: Any, *args: Any, **values: Any) -> None:
    cls = type(self)
    names = cls.__names__
    if args:
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__}() takes {len(names)} values, not {len(args)}")
        for name, value in zip(names, args, strict=False):
            if name in values:
                raise TypeError(f"{cls.__name__}() got {name!r} twice")
            values[name] = value
    if values.keys() != cls.__keys__:
        values = _completed(cls, values)
    for name, store in cls.__setters__:
        store(self, values[name])
    if cls.__checked__:
        self.__post_init__()


def _completed(cls: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The values with defaults for those that are not given."""
    unknown = sorted(values.keys() - cls.__keys__)
    if unknown:
        raise TypeError(f"{cls.__name__}() has no {', '.join(unknown)}")
    values = {**cls.__defaults__, **values}
    missing = [name for name in cls.__names__ if name not in values]
    if missing:
        raise TypeError(f"{cls.__name__}() needs {', '.join(missing)}")
    return values


def _repr(self: Any) -> str:
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__names__)
    return f"{type(self).__qualname__}({inside})"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in type(self).__names__])


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _setstate(self: Any, state: tuple[Any, ...]) -> None:
    for name, value in zip(type(self).__names__, state, strict=True):
        object.__setattr__(self, name, value)


_METHODS: dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _values,
    "__setstate__": _setstate,
}
