"""Plans as JSON and TOML files, with places for errors."""

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, cast

from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.workflows.core.plan import Expressions, InvalidPlan, Plan, PlanDiagnostic
from portico.workflows.core.plan_documents import plan_document, read_plan

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A list or an object that is being gone through."""

    pointer: str
    number: int | None
    """Of the item in a list; None in an object."""
    member: str | None = None
    """The pointer of the member in an object, once its name has been seen."""


@dataclass(frozen=True, slots=True)
class Places:
    starts: Mapping[str, int]
    """By JSON pointer: where the member's name begins, or the item."""
    twice: Sequence[tuple[str, int]] = ()
    """Members whose name was there before in the same object, and where."""


def json_places(text: str) -> Places:
    """Of a text that is JSON: it is not looked at whether it is."""
    starts: dict[str, int] = {"": 0}
    twice: list[tuple[str, int]] = []
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text):
        word, at = token[0], token.start()
        top = stack[-1] if stack else None
        if top is not None and top.number is None and top.member is None and word[0] == '"':
            top.member = pointed(top.pointer, json.loads(word))
            if top.member in starts:
                twice.append((top.member, at))
            starts[top.member] = at
        elif word == ",":
            _next(stack[-1])
        elif word in "}]":
            stack.pop()
        elif word != ":":
            pointer = _here(top, starts, at)
            if word in "{[":
                stack.append(_Open(pointer, 0 if word == "[" else None))
    return Places(starts, twice)


def _next(top: _Open) -> None:
    top.member = None
    if top.number is not None:
        top.number += 1


def _here(top: _Open | None, starts: dict[str, int], at: int) -> str:
    if top is None:
        starts[""] = at
        return ""
    if top.number is None:
        return top.member or ""
    pointer = f"{top.pointer}/{top.number}"
    starts[pointer] = at
    return pointer


_SPACE: Final = re.compile(r"(?:\s|#[^\n]*)*")
_WORD: Final = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_KEY: Final = re.compile(rf"{_WORD}(?:[ \t]*\.[ \t]*{_WORD})*")
_TEXT: Final = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"{3,5}|'''.*?'{3,5}|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL
)
_OTHER: Final = re.compile(r"[^,\]}#\n]+")


def toml_places(text: str) -> Mapping[str, int]:
    """By JSON pointer: where the key begins, or the item. Of a text that is TOML: it is not looked
    at whether it is."""
    return _Scan(text).places()


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: dict[str, int] = {"": 0}
        self._tables: dict[str, int] = {}
        """How many tables each `[[list]]` of them has so far."""

    def places(self) -> Mapping[str, int]:
        table, at = "", self._over_space(0)
        while at < len(self._text):
            if self._text[at] == "[":
                table, at = self._header(at)
            else:
                at = self._pair(at, table)
            at = self._over_space(at)
        return self._starts

    def _header(self, at: int) -> tuple[str, int]:
        """The pointer of the table that begins here, and where its header ends."""
        double = self._text.startswith("[[", at)
        names, end = self._key(self._over_space(at + 1 + double))
        pointer = self._reached("", names[:-1], at)
        pointer = pointed(pointer, names[-1])
        self._starts.setdefault(pointer, at)
        if double:
            self._tables[pointer] = self._tables.get(pointer, 0) + 1
        pointer = self._last(pointer)
        self._starts.setdefault(pointer, at)
        return pointer, self._over_space(end) + 1 + double

    def _pair(self, at: int, table: str) -> int:
        names, end = self._key(at)
        pointer = pointed(self._reached(table, names[:-1], at), names[-1])
        self._starts[pointer] = at
        return self._value(self._over_space(self._over_space(end) + 1), pointer)

    def _reached(self, pointer: str, names: Sequence[str], at: int) -> str:
        for name in names:
            pointer = self._last(pointed(pointer, name))
            self._starts.setdefault(pointer, at)
        return pointer

    def _last(self, pointer: str) -> str:
        """Of a list of tables, the one that was begun last."""
        count = self._tables.get(pointer)
        return pointer if count is None else f"{pointer}/{count - 1}"

    def _value(self, at: int, pointer: str) -> int:
        if self._text[at] == "[":
            return self._list(at + 1, pointer)
        if self._text[at] == "{":
            return self._inline_table(at + 1, pointer)
        found = _TEXT.match(self._text, at) or _OTHER.match(self._text, at)
        return at + 1 if found is None else found.end()

    def _list(self, at: int, pointer: str) -> int:
        number = 0
        while self._text[at := self._over_space(at)] != "]":
            if self._text[at] == ",":
                at, number = at + 1, number + 1
                continue
            self._starts[f"{pointer}/{number}"] = at
            at = self._value(at, f"{pointer}/{number}")
        return at + 1

    def _inline_table(self, at: int, pointer: str) -> int:
        while self._text[at := self._over_space(at)] != "}":
            at = at + 1 if self._text[at] == "," else self._pair(at, pointer)
        return at + 1

    def _key(self, at: int) -> tuple[Sequence[str], int]:
        found = _KEY.match(self._text, at)
        written = found[0] if found else ""
        return _names(tomllib.loads(f"{written} = 0")), at + len(written)

    def _over_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at


def _names(nested: object) -> Sequence[str]:
    """Of a dotted key, as TOML's own reader took it apart."""
    names: list[str] = []
    while isinstance(nested, dict):
        [(name, nested)] = nested.items()
        names.append(name)
    return names


_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def toml_text(document: JsonObject) -> str:
    """What `read_plan_text` reads the same plan from."""
    tables = ("inputs", "steps")
    lines = [_pair(name, value) for name, value in document.items() if name not in tables]
    inputs = cast("JsonObject", document.get("inputs", {}))
    if inputs:
        lines += ["", "[inputs]"]
        lines += [_pair(name, _json_if_null(schema)) for name, schema in inputs.items()]
    for step in cast("Sequence[JsonObject]", document["steps"]):
        lines += ["", "[[steps]]", *_step(step)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _step(step: JsonObject) -> Sequence[str]:
    lines = [_pair(name, value) for name, value in step.items() if name != "arguments"]
    given = cast("JsonObject", step.get("arguments", {}))
    if given:
        lines += ["", "[steps.arguments]"]
        lines += [_pair(name, value) for name, value in given.items()]
    return lines


def _pair(name: str, value: JsonValue) -> str:
    return f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _value(value: JsonValue) -> str:
    match value:
        case None:
            return '{ "$json" = "null" }'
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            return _table(value)
        case _:
            return f"[{', '.join(map(_value, value))}]"


def _table(value: JsonObject) -> str:
    if "$literal" in value and _has_null(value):
        value = {"$json": json.dumps(value["$literal"])}
    pairs = ", ".join(_pair(name, inner) for name, inner in value.items())
    return f"{{ {pairs} }}" if pairs else "{}"


def _json_if_null(schema: JsonValue) -> JsonValue:
    """A schema is taken as it stands, so that nothing can stand for a null inside it."""
    return {"$json": json.dumps(schema)} if _has_null(schema) else schema


def _has_null(value: JsonValue) -> bool:
    match value:
        case None:
            return True
        case Mapping():
            return any(map(_has_null, value.values()))
        case bool() | int() | float() | str():
            return False
        case _:
            return any(map(_has_null, value))


def _text(text: str) -> str:
    """In the form that is read most easily: as it stands where quotes or backslashes are in it,
    over several lines where it has some."""
    if ("\\" in text or '"' in text) and "'" not in text and not _CONTROL.search(text):
        return f"'{text}'"
    if "\n" in text:
        lines = "\n".join(_quoted(line)[1:-1] for line in text.split("\n"))
        return f'"""\n{lines}"""'
    return _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


LONGEST: Final = 4_000_000
_TOML_PLACE: Final = re.compile(
    r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL
)


class PlanFormat(StrEnum):
    JSON = "json"
    TOML = "toml"


def read_plan_text(text: str, form: PlanFormat, expressions: Expressions) -> Plan:
    """Raises `InvalidPlan`, its faults with line and column."""
    document = parse_plan_text(text, form)
    try:
        return read_plan(document, expressions)
    except InvalidPlan as error:
        raise InvalidPlan(placed(error.diagnostics, text, form)) from error


def parse_plan_text(text: str, form: PlanFormat) -> JsonValue:
    """What it says, whether or not that is a plan. Raises `InvalidPlan`."""
    text = text.removeprefix("\ufeff")
    if len(text) > LONGEST:
        raise InvalidPlan([PlanDiagnostic("", f"It has more than {LONGEST:,} characters.")])
    try:
        return _from_toml(text) if form is PlanFormat.TOML else _from_json(text)
    except RecursionError as error:
        raise InvalidPlan([PlanDiagnostic("", "It is nested too deep to be read.")]) from error


def plan_text(plan: Plan, form: PlanFormat) -> str:
    document = plan_document(plan)
    if form is PlanFormat.TOML:
        return toml_text(document)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def placed(
    faults: Iterable[PlanDiagnostic], text: str, form: PlanFormat
) -> Iterator[PlanDiagnostic]:
    """With the line and column of each, and in the order of the text."""
    text = text.removeprefix("\ufeff")
    starts = toml_places(text) if form is PlanFormat.TOML else json_places(text).starts
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    known = sorted(
        (_start(fault.place, starts), number, fault) for number, fault in enumerate(faults)
    )
    for at, _, fault in known:
        line = bisect_right(lines, at)
        yield replace(fault, line=line, column=at - lines[line - 1] + 1)


def _start(pointer: str, starts: Mapping[str, int]) -> int:
    """Of what is not there, that in which it should be."""
    while pointer not in starts:
        pointer = pointer.rpartition("/")[0]
    return starts[pointer]


def _from_json(text: str) -> JsonValue:
    try:
        document: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        fault = PlanDiagnostic("", f"It is not JSON: {error.msg}.", None, error.lineno, error.colno)
        raise InvalidPlan([fault]) from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise InvalidPlan([PlanDiagnostic("", f"It cannot be read: {error}.")]) from error
    twice = json_places(text).twice
    if twice:
        faults = [
            PlanDiagnostic(place, "It is there twice.", "Keep one of them.") for place, _ in twice
        ]
        raise InvalidPlan(placed(faults, text, PlanFormat.JSON))
    return document


def _from_toml(text: str) -> JsonValue:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = _TOML_PLACE.fullmatch(str(error))
        what = found[1] if found else str(error)
        line, column = (int(found[2]), int(found[3])) if found and found[2] else (None, None)
        raise InvalidPlan(
            [PlanDiagnostic("", f"It is not TOML: {what}.", None, line, column)]
        ) from error
