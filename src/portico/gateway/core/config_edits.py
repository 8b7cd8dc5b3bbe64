"""Edits of JSON and TOML that keep layout and comments."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from portico.gateway.core.config_documents import (
    line_comment_at,
    without_comments,
    without_last_commas,
)
from portico.kernel.json import JsonObject, JsonValue

Cut = tuple[int, int, str]
"""From where to where of a text, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Trace:
    made: int = 0
    """How many objects around the entry were made for it; they go with it if nothing else is in
    them by then."""
    inside: str = ""
    """The space that was between the braces of the object that was there already and had nothing
    in it; if all objects were made, all that was in the file."""


@dataclass(frozen=True, slots=True)
class Edited:
    text: str
    trace: Trace


def cut(text: str, cuts: Sequence[Cut]) -> str:
    for start, end, instead in sorted(cuts, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def newline_of(text: str) -> str:
    """As its first line ends."""
    first = text.partition("\n")[0]
    return "\r\n" if first.endswith("\r") and "\n" in text else "\n"


SPACE: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    key: int
    """Where its name begins."""
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Braces:
    open: int
    close: int
    members: Sequence[Member]

    def last(self, name: str) -> Member | None:
        """Of several members of one name, the last one counts."""
        return next((each for each in reversed(self.members) if each.name == name), None)


class JsonPlaces:
    """Of a text that can be read, and is an object."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = without_comments(text)
        self._plain = without_last_commas(self._bare)
        self.root = self.braces(self._skip(0))

    def braces(self, place: int) -> Braces:
        members: list[Member] = []
        at = self._skip(place + 1)
        while self._plain[at] != "}":
            name, after = _DECODER.raw_decode(self._plain, at)
            value = self._skip(after)
            end = _DECODER.raw_decode(self._plain, value)[1]
            members.append(Member(name, at, value, end))
            at = self._skip(end)
        return Braces(place, at, members)

    def at(self, names: Sequence[str]) -> Sequence[Braces]:
        """The root, and below it the object under each of the names, as far as they are there."""
        found = [self.root]
        for name in names:
            member = found[-1].last(name)
            if member is None:
                break
            found.append(self.braces(member.value))
        return found

    def member(self, names: Sequence[str]) -> tuple[Braces, Member] | None:
        """What stands under the last of the names, and the object that it stands in."""
        there = self.at(names[:-1])
        found = there[-1].last(names[-1]) if len(there) == len(names) else None
        return None if found is None else (there[-1], found)

    def comma(self, start: int, end: int) -> int | None:
        """Where there is one between two places."""
        found = self._bare.find(",", start, end)
        return None if found < 0 else found

    def blank(self, braces: Braces) -> bool:
        """Whether it holds nothing at all: no member and no comment."""
        return not self.text[braces.open + 1 : braces.close].strip(SPACE)

    def _skip(self, place: int) -> int:
        while self._plain[place] in f"{SPACE},:":
            place += 1
        return place


_USUAL: Final = "  "
_INDENT: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Style:
    """For what is added to one object."""

    newline: str
    unit: str
    indent: str | None
    """Before each member; None for an object on one line."""
    spaced: bool = True

    @property
    def lead(self) -> str:
        return (" " if self.spaced else "") if self.indent is None else self.newline + self.indent

    def written(self, value: JsonValue) -> str:
        if self.indent is None:
            marks = (", ", ": ") if self.spaced else (",", ":")
            return json.dumps(value, ensure_ascii=False, separators=marks)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).splitlines()
        return f"{self.newline}{self.indent}".join(lines)

    def member(self, name: str, value: JsonValue) -> str:
        between = ": " if self.spaced or self.indent is not None else ":"
        return f"{json.dumps(name, ensure_ascii=False)}{between}{self.written(value)}"


def style_in(places: JsonPlaces, braces: Braces) -> Style:
    text = places.text
    first = places.root.members[:1]
    unit = _unit(places) or ("\t" if "\n\t" in text else _USUAL)
    return Style(
        newline=newline_of(text),
        unit=unit,
        indent=_indent(places, braces, unit),
        spaced=not first or text[first[0].value - 1] in SPACE,
    )


def _unit(places: JsonPlaces) -> str:
    """By the first member of the whole that begins a line: one may stand beside the brace, or
    behind a comment."""
    text, outer = places.text, indent_of_line(places.text, places.root.open)
    indents = (_own_indent(text, each.key) for each in places.root.members)
    return next((each for each in indents if each is not None), "").removeprefix(outer)


def indent_of_line(text: str, place: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, place) + 1)
    return found[0] if found else ""


def _indent(places: JsonPlaces, braces: Braces, unit: str) -> str | None:
    text = places.text
    if braces.members and (own := _own_indent(text, braces.members[-1].key)) is not None:
        return own
    nothing_yet = not places.root.members
    within = text[braces.open : braces.close] if braces.members else text.strip(SPACE)
    several_lines = "\n" in within or nothing_yet
    return indent_of_line(text, braces.open) + unit if several_lines else None


def _own_indent(text: str, key: int) -> str | None:
    """What stands before a name that is the first on its line."""
    line = text.rfind("\n", 0, key) + 1
    before = text[line:key]
    return before if line and not before.strip(" \t") else None


# One member of an object in a file of JSON with comments: put in, changed, taken out.
#
# Only its own bytes change, with the comma that it needs and the space before it.

_LINE_ENDS: Final = re.compile(r"[ \t]*,?[ \t]*(?:\r?\n|\Z)")


def put_in_json(text: str, names: Sequence[str], value: JsonValue) -> Edited:
    """`names` lead to it: what is missing of them is made, what is there is an object."""
    if not text.strip():
        for name in reversed(names[1:]):
            value = {name: value}
        body = Style("\n", "  ", "").written({names[0]: value})
        return Edited(f"{body}\n", Trace(len(names), text))
    places = JsonPlaces(text)
    there = places.at(names[:-1])
    depth = len(there) - 1
    for name in reversed(names[depth + 1 :]):
        value = {name: value}
    made = len(names) - len(there)
    return _added(places, there[-1], names[depth], value, made)


def change(text: str, names: Sequence[str], value: JsonValue) -> str:
    """With `value` instead of what is there under `names`; as it is if nothing is."""
    places = JsonPlaces(text)
    found = places.member(names)
    if found is None:
        return text
    braces, member = found
    return cut(text, [(member.value, member.end, style_in(places, braces).written(value))])


def take_out_json(text: str, names: Sequence[str], trace: Trace) -> str:
    """As it is if there is no such thing."""
    for above in range(len(names)):
        outermost = above == trace.made
        below = names[: len(names) - above]
        text = _without(text, below, trace.inside if outermost else "")
        if outermost or not _blank(text, below[:-1]):
            return text
    return trace.inside


def _added(places: JsonPlaces, braces: Braces, name: str, value: JsonValue, made: int) -> Edited:
    text, style = places.text, style_in(places, braces)
    member = style.member(name, value)
    if places.blank(braces):
        inside = text[braces.open + 1 : braces.close]
        ends = "" if style.indent is None else style.newline + indent_of_line(text, braces.open)
        lead = "" if style.indent is None else style.lead
        whole = (braces.open + 1, braces.close, lead + member + ends)
        return Edited(cut(text, [whole]), Trace(made, inside))
    place = len(text[: braces.close].rstrip(SPACE))
    cuts: list[Cut] = []
    if braces.members:
        end = braces.members[-1].end
        if places.comma(end, braces.close) is None:
            cuts.append((end, end, ","))
        else:
            member += ","
    after = style.lead + member
    if cuts and place == cuts[0][0]:  # both at one place: in this order
        after, cuts = f",{after}", []
    return Edited(cut(text, [*cuts, (place, place, after)]), Trace(made))


def _without(text: str, names: Sequence[str], inside: str) -> str:
    places = JsonPlaces(text)
    found = places.member(names)
    return text if found is None else _taken(places, *found, inside)


def _blank(text: str, names: Sequence[str]) -> bool:
    places = JsonPlaces(text)
    there = places.at(names)
    return len(there) > len(names) and places.blank(there[-1])


def _taken(places: JsonPlaces, braces: Braces, member: Member, inside: str) -> str:
    text, number = places.text, braces.members.index(member)
    before = braces.members[number - 1].end if number else None
    after = braces.members[number + 1].key if member != braces.members[-1] else None
    comma = places.comma(member.end, braces.close if after is None else after)
    if before is None and after is not None and comma is not None:
        gap = len(text) - len(text[comma + 1 :].lstrip(SPACE))
        return cut(text, [(member.key, member.end, ""), (comma, gap, "")])
    if comma is None and before is not None:
        comma = places.comma(before, member.key)
    cuts = [(_gap_before(text, member), member.end, "")]
    if comma is not None:
        cuts.append((comma, comma + 1, ""))
    return _rid_of(cut(text, cuts), braces, inside) if len(braces.members) == 1 else cut(text, cuts)


def _rid_of(text: str, braces: Braces, inside: str) -> str:
    """Nothing is left in it: then it looks as it did."""
    left = JsonPlaces(text).braces(braces.open)
    held = text[left.open + 1 : left.close]
    return text if held.strip(SPACE) else cut(text, [(left.open + 1, left.close, inside)])


def _gap_before(text: str, member: Member) -> int:
    """Where the space before it begins; it stays if a comment would swallow what comes next."""
    start = len(text[: member.key].rstrip(SPACE))
    goes_on = _LINE_ENDS.match(text, member.end) is None
    return member.key if goes_on and line_comment_at(text, start - 1) else start


_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY: Final = re.compile(r"""(?:[ \t.A-Za-z0-9_-]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')+""")
_TOKEN: Final = re.compile(
    r'"""(?>(?>(?:[^"\\]++|\\[\s\S]|"{1,2}(?!")){1,500})*)"{3,5}'
    r"|'''(?>(?>(?:[^']++|'{1,2}(?!')){1,500})*)'{3,5}"
    r'|"(?>(?>(?:[^"\\\n]++|\\.){1,500})*)"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"""|[^"'#\[\]{},\r\n]+"""
    r"|[\s\S]"
)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A head of a table, or a key with its value, on whole lines."""

    path: Path
    start: int
    end: int
    value: int | None = None
    """Where its value begins; None for a head."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A key with its value in the braces of another."""

    path: Path
    key: int
    end: int


def statements(text: str) -> Iterator[Statement]:
    """Of a text that can be read."""
    table: Path = ()
    at = _after(_BETWEEN, text, 0)
    while at < len(text):
        start = text.rfind("\n", 0, at) + 1
        if text[at] == "[":
            first = at + 1 + (text[at + 1] == "[")
            end = _after(_KEY, text, first)
            table = _path(text[first:end])
            yield Statement(table, start, _line_end(text, end))
        else:
            equals = _after(_KEY, text, at)
            value = _value_after(text, equals)
            end = value_end(text, value)
            yield Statement(table + _path(text[at:equals]), start, _line_end(text, end), value)
        at = _after(_BETWEEN, text, _line_end(text, end))


def pairs(text: str, brace: int) -> tuple[Sequence[Pair], int]:
    """What is in the braces that open there, and where they close."""
    found: list[Pair] = []
    at = _after(_BETWEEN, text, brace + 1)
    while text[at] != "}":
        equals = _after(_KEY, text, at)
        end = value_end(text, _value_after(text, equals))
        found.append(Pair(_path(text[at:equals]), at, end))
        at = _after(_BETWEEN, text, end)
        if text[at] == ",":
            at = _after(_BETWEEN, text, at + 1)
    return found, at


def value_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        token = found[0] if found else ""
        if depth == 0 and token[0] in ",]}#\r\n":
            break
        depth += (token in {"[", "{"}) - (token in {"]", "}"})
        at += len(token)
    return len(text[:at].rstrip(" \t\r"))


def _value_after(text: str, equals: int) -> int:
    return equals + 1 + len(text[equals + 1 :]) - len(text[equals + 1 :].lstrip(" \t"))


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _path(key: str) -> Path:
    """The names of a dotted key, as the reader of the standard library understands them."""
    names: list[str] = []
    found: object = tomllib.loads(f"{key} = 0")
    while isinstance(found, dict):
        name, found = next(iter(found.items()))
        names.append(name)
    return tuple(names)


# One table in a file of TOML: put in and taken out, however it is written there.
#
# It is added as a table of its own at the end of the file, which TOML allows wherever its siblings
# are, or between the braces that its siblings stand in.

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_EMPTY_LINE: Final = re.compile(r"(?:(?<=\n)|\A)\r?\n\Z")
_TWO_ENDS: Final = re.compile(r"(?:\r?\n){1,2}\Z")
_FIRST_EMPTY: Final = re.compile(r"\A\r?\n")


def put_in_toml(text: str, names: Sequence[str], value: JsonObject) -> Edited:
    """`names` lead to it; what is there of them is a table."""
    holder = _holder(text, names)
    if holder is not None:
        return _put_between(text, holder, names, value)
    newline = newline_of(text)
    lines = [f"[{'.'.join(map(_key, names))}]"]
    lines += [f"{_key(name)} = {_written(each)}" for name, each in value.items()]
    lead = newline if text.endswith("\n") else newline * 2
    ends = newline if not text or text.endswith("\n") else ""
    body = newline.join(lines) + ends
    return Edited(text + (lead if text else "") + body, Trace())


def take_out_toml(text: str, names: Sequence[str], trace: Trace) -> str:
    """As it is if there is no such thing."""
    holder = _holder(text, names)
    if holder is not None:
        return _take_from_between(text, holder, names, trace)
    for first, last in reversed(list(_runs(text, names))):
        text = _without_lines(text, first, last.end)
    return text


def _holder(text: str, names: Sequence[str]) -> int | None:
    """The brace in which the siblings stand, if they do."""
    for each in statements(text):
        if each.value is not None and each.path == tuple(names[:-1]):
            return each.value
    return None


def _put_between(text: str, brace: int, names: Sequence[str], value: JsonObject) -> Edited:
    found, close = pairs(text, brace)
    pair = f"{_key(names[-1])} = {_written(value)}"
    if found:
        return Edited(cut(text, [(found[-1].end, found[-1].end, f", {pair}")]), Trace())
    inside = text[brace + 1 : close]
    return Edited(cut(text, [(brace + 1, close, f" {pair} ")]), Trace(inside=inside))


def _take_from_between(text: str, brace: int, names: Sequence[str], trace: Trace) -> str:
    found, close = pairs(text, brace)
    own = [number for number, each in enumerate(found) if each.path[:1] == tuple(names[-1:])]
    if len(own) == len(found):
        return cut(text, [(brace + 1, close, trace.inside)]) if own else text
    for number in reversed(own):
        pair = found[number]
        if number:
            text = cut(text, [(found[number - 1].end, pair.end, "")])
        else:
            text = cut(text, [(pair.key, pairs(text, brace)[0][1].key, "")])
    return text


def _runs(text: str, names: Sequence[str]) -> Iterator[tuple[Statement, Statement]]:
    """The first and the last of statements that follow each other and are all about it."""
    wanted = tuple(names)
    for ours, run in groupby(statements(text), lambda it: it.path[: len(wanted)] == wanted):
        if ours:
            each = list(run)
            yield each[0], each[-1]


def _without_lines(text: str, first: Statement, end: int) -> str:
    before, after = text[: first.start], text[end:]
    if not after and not text.endswith("\n"):
        return _TWO_ENDS.sub("", before)
    if first.value is None:
        before = _EMPTY_LINE.sub("", before)
        after = after if before else _FIRST_EMPTY.sub("", after)
    return before + after


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(value: JsonValue) -> str:
    match value:
        case str():
            return _text(value)
        case Mapping():
            inner = ", ".join(f"{_key(name)} = {_written(each)}" for name, each in value.items())
            return f"{{ {inner} }}"
        case Sequence():
            return f"[{', '.join(map(_written, value))}]"
        case _:
            return json.dumps(value)
