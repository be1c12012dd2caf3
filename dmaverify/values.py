"""`dataclass` as the standard library's, whose methods are written when they are first called.

Knows: the fields of a class and how they are set, compared and shown. Does not know: what any class is for.
Law: a class behaves as `dataclasses.dataclass` would make it. Most classes that a command imports it never makes a
value of; of these nothing is compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
else:
    from dataclasses import asdict, field, fields, is_dataclass

    def replace(value, /, **changes):
        """As the standard library's; which fields a class takes is looked up once."""
        cls = value.__class__
        names = _taken.get(cls)
        if names is None:
            fields = getattr(cls, "__dataclass_fields__", {}).values()
            if not fields or any(one._field_type is not dataclasses._FIELD or not one.init for one in fields):
                return dataclasses.replace(value, **changes)
            names = _taken[cls] = tuple(one.name for one in fields)
        for name in names:
            if name not in changes:
                changes[name] = getattr(value, name)
        return cls(**changes)

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, kw_only=False):
        """The decorator, with the options that are used."""

        def decorated(cls):
            return _made(cls, frozen, slots, eq, kw_only)

        return decorated if cls is None else decorated(cls)


_taken: dict[type, tuple[str, ...]] = {}
"""Per class, the fields that make a value of it, where these are all that it has."""


def _made(cls: type, frozen: bool, slots: bool, eq: bool, kw_only: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # the standard library would write the signature, and load what does
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__init__": _later(made, "__init__", _init), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _later(made, "__eq__", _eq)
        methods["__hash__"] = _later(made, "__hash__", _hash) if frozen else None
    if frozen:
        methods |= _unchanging(made)
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _restored}
    for name, method in methods.items():
        if name not in made.__dict__ or (name == "__hash__" and made.__dict__[name] is None):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _later(made: Any, name: str, write: Callable[[Any, list[Any]], Any]) -> Callable[..., Any]:
    """A method that is written when it is first called, and takes its own place."""

    def method(self: Any, *args: Any, **named: Any) -> Any:
        written = write(made, list(dataclasses.fields(made)))
        setattr(made, name, written)
        return written(self, *args, **named)

    return method


def _compiled(text: str, known: dict[str, Any]) -> Any:
    exec(text, known)
    return known["method"]


def _init(made: Any, fields: list[Any]) -> Any:
    known: dict[str, Any] = {"_missing": dataclasses.MISSING, "_set": object.__setattr__}
    takes, does = ["self"], []
    by_name: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_new_{name}"] = field.default_factory
            value = f"_new_{name}() if {name} is _missing else {name}" if field.init else f"_new_{name}()"
        elif field.default is not dataclasses.MISSING:
            known[f"_is_{name}"] = field.default
            value = name if field.init else f"_is_{name}"
        elif not field.init:
            continue
        if field.init:
            default = "_missing" if f"_new_{name}" in known else f"_is_{name}"
            (by_name if field.kw_only else takes).append(f"{name}={default}" if default in known else name)
        slot = getattr(made, name, None)
        if isinstance(slot, MemberDescriptorType):
            known[f"_set_{name}"] = slot.__set__
            does.append(f"_set_{name}(self, {value})")
        else:
            does.append(f"_set(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        does.append("self.__post_init__()")
    takes += ["*", *by_name] if by_name else []
    return _compiled(f"def method({', '.join(takes)}):\n " + "\n ".join(does or ["pass"]), known)


def _eq(made: Any, fields: list[Any]) -> Any:
    compared = [field.name for field in fields if field.compare]
    own, other = (f"({''.join(f'{it}.{name}, ' for name in compared)})" for it in ("self", "other"))
    return _compiled(
        f"def method(self, other):\n return {own} == {other} if other.__class__ is self.__class__ else NotImplemented",
        {},
    )


def _hash(made: Any, fields: list[Any]) -> Any:
    hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    return _compiled(f"def method(self):\n return hash(({''.join(f'self.{name}, ' for name in hashed)}))", {})


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _unchanging(made: Any) -> dict[str, Any]:
    """What a value whose fields are set once answers to a change."""
    names = frozenset(made.__dataclass_fields__)

    def set_it(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete_it(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return {"__setattr__": set_it, "__delattr__": delete_it}


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restored(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
