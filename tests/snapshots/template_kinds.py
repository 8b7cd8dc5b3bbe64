"""What a value in a template may be, as far as annotations and one rendering tell."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache, cached_property
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin

Kinds = frozenset[Any]
"""Classes, and the four below; of what is empty, it cannot be told what it is."""
UNKNOWN: Final[Kinds] = frozenset()
TEXT: Final[Kinds] = frozenset({str})
NUMBER: Final[Kinds] = frozenset({float})


@dataclass(frozen=True)
class Items:
    """Of a list or the like."""

    each: Kinds


@dataclass(frozen=True)
class Places:
    """Of a tuple."""

    each: tuple[Kinds, ...]


@dataclass(frozen=True)
class Keys:
    """Of a mapping; by name where they are known."""

    named: tuple[tuple[str, Kinds], ...] = ()
    others: Kinds = UNKNOWN

    @property
    def values(self) -> Kinds:
        return one_of([self.others, *(kinds for _, kinds in self.named)])


@dataclass(frozen=True)
class Calls:
    """What comes of a call."""

    result: Kinds


class Unnamed:
    """For a name in an annotation that is not there when a program runs."""

    def __class_getitem__(cls, _inner: object) -> type["Unnamed"]:
        return cls


class Missing(Exception):
    """There is no such name."""


def one_of(several: Iterable[Kinds]) -> Kinds:
    """Mappings of which the keys are known become one."""
    together = frozenset().union(*several)
    known = [each for each in together if isinstance(each, Keys) and each.named]
    if len(known) < 2:
        return together
    names = {name for each in known for name, _ in each.named}
    named = {
        name: one_of(kinds for each in known for its, kinds in each.named if its == name)
        for name in names
    }
    return together.difference(known) | {Keys(tuple(sorted(named.items(), key=lambda it: it[0])))}


def of_value(value: object) -> Kinds:
    match value:
        case str() | bytes() | Enum() | None:
            return frozenset({type(value)})
        case tuple() if 0 < len(value) < 7 and not hasattr(value, "_fields"):
            return frozenset({Places(tuple(map(of_value, value)))})
        case Mapping():
            if all(isinstance(key, str) for key in value):
                named = tuple((key, of_value(value[key])) for key in sorted(value))
                return frozenset({Keys(named)})
            return frozenset({Keys((), one_of(map(of_value, value.values())))})
        case list() | tuple() | set() | frozenset() if not hasattr(value, "_fields"):
            return frozenset({Items(one_of(map(of_value, value)))})
        case _ if inspect.isroutine(value):
            return frozenset({Calls(of_result(value))})
        case _:
            return frozenset({type(value)})


@cache
def of_hint(hint: Any) -> Kinds:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (None, NoneType):
        return frozenset({NoneType})
    if hint in (Any, object, Unnamed) or isinstance(hint, (TypeVar, str, typing.ForwardRef)):
        return UNKNOWN
    if isinstance(hint, NewType):
        return of_hint(hint.__supertype__)
    if origin is Annotated:
        return of_hint(inner[0])
    if origin is Literal:
        return frozenset(map(type, inner))
    if origin in (Union, UnionType):
        return one_of(map(of_hint, inner))
    if typing.is_typeddict(hint):
        named = typing.get_type_hints(hint).items()
        return frozenset({Keys(tuple((name, of_hint(each)) for name, each in named))})
    return _of_class(origin or hint, inner)


def _of_class(kind: Any, inner: Sequence[Any]) -> Kinds:
    if kind is Callable:
        return frozenset({Calls(of_hint(inner[-1]) if inner else UNKNOWN)})
    if not isinstance(kind, type):
        return UNKNOWN
    if kind is tuple and inner[-1:] != (...,):
        return frozenset({Places(tuple(map(of_hint, inner)))})
    if issubclass(kind, Mapping):
        return frozenset({Keys((), of_hint(inner[1]) if len(inner) > 1 else UNKNOWN)})
    if kind in _LISTS:
        return frozenset({Items(of_hint(inner[0]) if inner else UNKNOWN)})
    return frozenset({kind})


def of_result(function: Any) -> Kinds:
    return of_hint(_hints(function).get("return", Any))


@cache
def of_attribute(kind: Any, name: str) -> Kinds:
    """Raises `Missing`."""
    match kind:
        case Keys():
            return _of_key(kind, name)
        case Items() | Places():
            return _of_member(list if isinstance(kind, Items) else tuple, name)
        case type():
            return _of_member(kind, name)
        case _:
            raise Missing


def _of_key(kind: Keys, name: str) -> Kinds:
    pair = frozenset({Places((TEXT, kind.values))})
    methods = {"items": pair, "keys": TEXT, "values": kind.values}
    if name in methods:
        return frozenset({Calls(frozenset({Items(methods[name])}))})
    if name == "get":
        return frozenset({Calls(kind.values)})
    for its, found in kind.named:
        if its == name:
            return found
    if kind.named:
        raise Missing
    return kind.others


def _of_member(kind: type, name: str) -> Kinds:
    if name in (hints := _hints(kind)):
        return of_hint(hints[name])
    if (kind, name) in _OF_BUILTINS:
        return frozenset({Calls(_OF_BUILTINS[kind, name])})
    try:
        member = inspect.getattr_static(kind, name)
    except AttributeError:
        raise Missing from None
    match member:
        case property() | cached_property():
            return of_result(member.fget if isinstance(member, property) else member.func)
        case staticmethod() | classmethod() | FunctionType():
            return frozenset({Calls(of_result(getattr(member, "__func__", member)))})
        case _ if inspect.isroutine(member):
            return frozenset({Calls(TEXT if kind is str else UNKNOWN)})
        case _:
            return TEXT if issubclass(kind, Enum) else of_value(member)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    unknown: dict[str, Any] = {}
    while True:
        try:
            return typing.get_type_hints(kind, localns=unknown, include_extras=True)
        except NameError as error:
            unknown[str(error.name)] = Unnamed
        except TypeError:
            return {}


def each_of(kinds: Kinds) -> Kinds:
    """What a loop over it meets."""
    return one_of(map(_each, kinds))


def _each(kind: Any) -> Kinds:
    match kind:
        case Items():
            return kind.each
        case Places():
            return one_of(kind.each)
        case Keys():
            return TEXT
        case type() if issubclass(kind, str):
            return TEXT
        case type() if hasattr(kind, "__iter__"):
            return each_of(of_result(kind.__iter__))
        case _:
            return UNKNOWN


_LISTS: Final = {
    *(list, tuple, set, frozenset, typing.get_origin(typing.Iterator[int])),
    *map(get_origin, (Sequence[int], Iterable[int], typing.Collection[int])),
    *map(get_origin, (typing.AbstractSet[int], typing.Generator[int, None, None])),
}
_OF_BUILTINS: Final[Mapping[tuple[type, str], Kinds]] = {
    (str, "split"): frozenset({Items(TEXT)}),
    (str, "partition"): frozenset({Places((TEXT, TEXT, TEXT))}),
    (str, "rpartition"): frozenset({Places((TEXT, TEXT, TEXT))}),
    (datetime, "isoformat"): TEXT,
    (datetime, "strftime"): TEXT,
    (datetime, "timestamp"): NUMBER,
    (timedelta, "total_seconds"): NUMBER,
    (Decimal, "normalize"): frozenset({Decimal}),
}
