"""Fields of schemas: what they mean, and which flow into which."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search_text import split_identifier
from portico.gateway.core.tool_schemas import is_local, target
from portico.kernel.json import JsonObject, JsonValue

# Whether a value of one type could be given where another is asked for.

_SCALARS: Final = frozenset({"string", "number", "integer", "boolean", "null"})
_NUMBERS: Final = frozenset({"number", "integer"})


class Kinship(Enum):
    SAME = auto()
    UNKNOWN = auto()
    NEAR = auto()
    """It can be written in the other's way, or be one of many."""
    APART = auto()


def kinship(given: str | None, wanted: str | None) -> Kinship:
    if given is None or wanted is None:
        return Kinship.UNKNOWN
    if given == wanted or {given, wanted} == _NUMBERS:
        return Kinship.SAME
    if {given, wanted} <= _SCALARS or "array" in {given, wanted}:
        return Kinship.NEAR
    return Kinship.APART


Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Meanings:
    vectors: Mapping[str, Floats]

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Floats) -> Self:
        """One row a text, each of length one."""
        return cls(dict(zip(texts, vectors, strict=True)))

    @classmethod
    def none(cls) -> Self:
        """Everything is as far from everything."""
        return cls({})

    def rows(self, texts: Sequence[str]) -> Floats:
        """One a text; noughts where there is no vector."""
        found = [self.vectors.get(text) for text in texts]
        size = next((len(each) for each in found if each is not None), 1)
        nowhere = np.zeros(size, np.float32)
        return np.array([nowhere if each is None else each for each in found]).reshape(-1, size)

    def similarities(self, one: str, others: Sequence[str]) -> Floats:
        """Nought where either has no vector."""
        here = self.vectors.get(one)
        if here is None:
            return np.zeros(len(others), np.float32)
        rows = self.rows(others)
        return rows @ here if rows.shape[1] == len(here) else np.zeros(len(others), np.float32)


def nearness(some: Floats, others: Floats) -> Sequence[Sequence[float]]:
    """One list a row of the first, one number a row of the second."""
    if some.shape[1] != others.shape[1]:  # nothing is known of one of them
        return [[0.0] * len(others)] * len(some)
    found: Sequence[Sequence[float]] = (some @ others.T).tolist()
    return found


_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 300
_KEPT_S: Final = ("ss", "us", "is")

_WEAK_LIST: Final = """
id name key code number uuid value identifier type list data result info information detail
"""
_VERB_LIST: Final = """
get search list find fetch calculate create generate analyze analyse retrieve check convert the a
of to for in by and or api
"""
_OPEN_LIST: Final = """
text message content body data input query amount number value note comment description string
document prompt
"""
_CONTROL_LIST: Final = """
limit offset page sort count language currency unit format size max min order zoom region country
timezone filter
"""
WEAK: Final = frozenset(_WEAK_LIST.split())
"""Every kind of thing has one."""
VERBS: Final = frozenset(_VERB_LIST.split())
"""And little words: what a tool does, not what it is about."""
OPEN: Final = frozenset(_OPEN_LIST.split())
"""A parameter called so takes whatever there is to be sent, counted or asked."""
CONTROL: Final = frozenset(_CONTROL_LIST.split())
"""How something is to be done: whoever asks says it, hardly another tool."""
IDENTIFIERS: Final = frozenset({"id", "key", "code", "uuid", "identifier", "token"})
"""Nobody has these in mind: they come from another call."""


def words(name: str) -> tuple[str, ...]:
    """`originSkyIds` as `("origin", "sky", "id")`."""
    return tuple(
        _singular(word) for word in _WORD.findall(split_identifier(name[:_LONGEST]).lower())
    )


def spelled(name: str) -> str:
    """The same for `userId`, `user_id` and `USER-ID`."""
    return "".join(_WORD.findall(name[:_LONGEST].lower()))


def share(some: frozenset[str], others: frozenset[str]) -> float:
    """How many of all their words they have in common."""
    common = len(some & others)
    return common / (len(some) + len(others) - common) if common else 0.0


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    several = word == "ids" or (len(word) > 3 and word[-1] == "s" and word[-2:] not in _KEPT_S)
    return word[:-1] if several else word


# What was seen: which output really was which argument, and what that says about the next time.


@dataclass(frozen=True, slots=True)
class Flow:
    producer: str
    """`server.tool`."""
    path: str
    """As `OutputField.path`; empty if it is not known."""
    consumer: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Flows:
    exact: Mapping[Flow, int]
    by_name: Mapping[tuple[str, str], int]
    """Producer and how the parameter is called, whatever the consumer."""
    by_producer: Mapping[str, int]

    @classmethod
    def of(cls, counts: Mapping[Flow, int]) -> Self:
        names: Counter[tuple[str, str]] = Counter()
        producers: Counter[str] = Counter()
        for flow, count in counts.items():
            names[flow.producer, spelled(flow.parameter)] += count
            producers[flow.producer] += count
        return cls(dict(counts), names, producers)

    def seen(self, flow: Flow) -> int:
        """By this very path, or by one that was not noted."""
        return max(self.exact.get(flow, 0), self.exact.get(replace(flow, path=""), 0))

    def called_so(self, producer: str, parameter: str) -> int:
        return self.by_name.get((producer, spelled(parameter)), 0)

    def from_producer(self, producer: str) -> int:
        return self.by_producer.get(producer, 0)


NO_FLOWS: Final = Flows.of({})

_KEYS: Final = re.compile(r"\"((?:[^\"\\]|\\.)+)\"|([A-Za-z_][A-Za-z0-9_]*)")
_ROOTS: Final = frozenset({"json", "content", "structuredContent", "text", "items"})
"""What every step's document has: they say nothing about this one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputField:
    """One thing that a step gives."""

    path: str
    """JMESPath into the step's document: `json.items[0].id`."""
    type: str | None = None
    """As JSON Schema names it; none if it is not known."""
    description: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """`("owner", "id")` of `json.owner.id`: without what every document has."""
        found = [quoted or plain for quoted, plain in _KEYS.findall(self.path)]
        while len(found) > 1 and found[0] in _ROOTS:
            del found[0]
        return tuple(found)

    @property
    def name(self) -> str:
        return self.keys[-1] if self.keys else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    type: str | None = None
    description: str = ""
    required: bool = False
    choice: bool = False
    """One of a few values that are listed, or yes and no."""
    default: bool = False
    """It can be left out, and then it is known what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSignature:
    step: str
    tool: str
    description: str = ""
    """Of the tool: it stands in for a field's that has none."""
    outputs: Sequence[OutputField] = ()
    wanted: Sequence[Parameter] = ()
    """The parameters that nothing was said about: what edges are sought for."""
    given: frozenset[str] = frozenset()
    """The names of those that have a value or a reference."""


# What a schema says that a tool takes or gives, as a flat list.

_DEEPEST: Final = 6
_MOST: Final = 200
_PLAIN: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


def parameters_of(schema: JsonValue) -> Sequence[Parameter]:
    root = _object(schema)
    required = root.get("required")
    needed = required if isinstance(required, Sequence) and not isinstance(required, str) else ()
    found = _members(_plain(root, root))
    return [_parameter(name, _plain(each, root), name in needed) for name, each in found][:_MOST]


def fields_of(schema: JsonValue, root: str = "json") -> Sequence[OutputField]:
    """At most two hundred, the shallow ones first; of a list, what its first item has."""
    whole = _object(schema)
    found: list[OutputField] = []
    level = list(_inside(whole, whole, root))
    for _ in range(_DEEPEST):
        found += [_field(path, each) for path, each in level]
        if len(found) >= _MOST:
            break
        inner = (each for path, schema in level for each in _inside(schema, whole, path))
        level = list(islice(inner, _MOST))
    return found[:_MOST]


def type_of(schema: JsonObject) -> str | None:
    """None if nothing is said or several are possible; being absent is none of them."""
    told = schema.get("type")
    match told:
        case str():
            return told
        case Sequence():
            some = [each for each in told if isinstance(each, str) and each != "null"]
            return some[0] if len(some) == 1 else None
        case _:
            return "object" if "properties" in schema else None


def _inside(schema: JsonObject, root: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    here = _plain(schema, root)
    if isinstance(here.get("items"), Mapping):
        here, path = _plain(_object(here["items"]), root), f"{path}[0]"
        if not _members(here):
            yield path, here
    for name, each in _members(here):
        yield f"{path}.{_key(name)}", _plain(each, root)


def _members(schema: JsonObject) -> list[tuple[str, JsonObject]]:
    return [(name, _object(each)) for name, each in _object(schema.get("properties")).items()]


def _plain(schema: JsonObject, root: JsonObject) -> JsonObject:
    """With what it refers to, and as the one thing it is if it can also be absent."""
    ref = schema.get("$ref")
    if is_local(ref):
        schema = {**_object(target(root, str(ref))), **_without_ref(schema)}
    for keyword in ("anyOf", "oneOf"):
        some = schema.get(keyword)
        if isinstance(some, Sequence) and not isinstance(some, str):
            real = [_object(each) for each in some if _object(each).get("type") != "null"]
            if len(real) == 1:
                return {**_plain_ref(real[0], root), **_without_ref(schema)}
    return schema


def _plain_ref(schema: JsonObject, root: JsonObject) -> JsonObject:
    ref = schema.get("$ref")
    return _object(target(root, str(ref))) if is_local(ref) else schema


def _without_ref(schema: JsonObject) -> JsonObject:
    return {name: value for name, value in schema.items() if name != "$ref"}


def _parameter(name: str, schema: JsonObject, required: bool) -> Parameter:
    kind = type_of(schema)
    return Parameter(
        name=name,
        type=kind,
        description=_description(schema),
        required=required,
        choice="enum" in schema or "const" in schema or kind == "boolean",
        default="default" in schema,
    )


def _field(path: str, schema: JsonObject) -> OutputField:
    return OutputField(path=path, type=type_of(schema), description=_description(schema))


def _description(schema: JsonObject) -> str:
    told = schema.get("description")
    return told if isinstance(told, str) else ""


def _key(name: str) -> str:
    """As JMESPath writes it: in quotes unless it is a plain word."""
    if name and all(letter in _PLAIN for letter in name) and not name[0].isdigit():
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}
