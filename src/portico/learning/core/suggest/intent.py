"""What somebody wants, in their own words: its parts, and the values that stand in it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from portico.gateway.core.search import clauses, whole
from portico.kernel.json import JsonValue

_MOST: Final = 40
_BEFORE: Final = re.compile(r"([^\W\d_]+)\W{0,3}$")


class Kind(StrEnum):
    """Of a value, by its form."""

    EMAIL = "email"
    URL = "url"
    PATH = "path"
    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    NAME = "name"
    """Words that are written large, or put together as only names are."""
    QUOTED = "quoted"
    """Whatever else stands between quotes."""


_A_PATH: Final = (
    r"(?:(?:~|\.{1,2})?/[\w.@-]{1,100}(?:/[\w.@-]{1,100}){0,15}/?"
    r"|(?![ei]\.[ge]\b|[ap]\.m\b)[\w@-]{1,100}(?:/[\w.@-]{1,100}){0,15}\.[A-Za-z][A-Za-z0-9]{0,7})(?<![.,])(?!\w)"
)
_A_NAME: Final = (
    r"[\w-]{1,60}/[\w.-]{1,60}\w|[A-Za-z]\w{0,40}_\w{1,40}|[A-Z]{1,10}-?\d{1,10}(?!\w)"
    r"|[A-Z][\w-]{1,40}(?: [A-Z][\w-]{1,40}){0,4}"
)
_FORMS: Final = (
    (Kind.EMAIL, r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"),
    (Kind.URL, r"[a-z][a-z0-9+.-]{1,9}://[^\s\"'`<>]{1,500}[^\s\"'`<>.,;:!?)]"),
    (Kind.PATH, _A_PATH),
    (Kind.DATE, r"\d{4}-\d{2}-\d{2}(?!\d)|\d{1,2}[/.]\d{1,2}[/.]\d{4}(?!\d)"),
    (Kind.TIME, r"\d{1,2}:\d{2}(?::\d{2})?(?!\d)(?: ?[AaPp][Mm](?!\w))?"),
    (Kind.NUMBER, r"-?\d{1,15}(?:\.\d{1,10})?(?![\w/]|-\d)"),
    (Kind.NAME, _A_NAME),
)
_ALONE: Final = {kind: re.compile(form) for kind, form in _FORMS}
_ANY: Final = re.compile(
    r"(?P<quoted>\"[^\"\n]{1,500}\"|\u201c[^\u201d\n]{1,500}\u201d|`[^`\n]{1,500}`"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,500}'(?!\w))"
    r"|(?<![\w@/.+-])(?:" + "|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS) + ")"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A value as it stands in the intent: nothing is put in that is not there."""

    kind: Kind
    text: str
    value: JsonValue
    start: int
    before: str
    """The word before it, in lower case: `branch` of `on branch "main"`."""


def sub_steps(intent: str) -> Sequence[str]:
    """At least one, in the order in which they are said."""
    return clauses(intent)


def spans(intent: str) -> Sequence[Span]:
    text = whole(intent)
    return list(_spans(text))[:_MOST]


def in_general(intent: str) -> str:
    """What is wanted, whichever the values are: `copy <path> to <path>`."""
    return _with_values_as(intent, "<{}>".format)


def without_values(intent: str) -> str:
    """Only what says what is wanted, to be compared with what others want."""
    return _with_values_as(intent, lambda _: "")


def _with_values_as(intent: str, put: Callable[[Kind], str]) -> str:
    text, at, parts = whole(intent), 0, list[str]()
    for span in spans(intent):
        begins = text.index(span.text, span.start)
        parts += text[at:begins], put(span.kind)
        at = begins + len(span.text)
    return " ".join("".join((*parts, text[at:])).split())


def _spans(text: str) -> Iterator[Span]:
    for found in _ANY.finditer(text):
        kind, said, start = Kind(found.lastgroup or Kind.QUOTED), found[0], found.start()
        if kind is Kind.QUOTED:
            said = said[1:-1].strip()
            kind = _inside(said)
        elif kind is Kind.NAME and _begins_a_sentence(text, start):
            first, _, said = said.partition(" ")
            start += len(first) + 1
        if said:
            yield Span(kind, said, _value(kind, said), start, _before(text, start))


def _inside(said: str) -> Kind:
    """What is quoted is what it looks like; a name in quotes is merely quoted."""
    alike = (kind for kind, form in _ALONE.items() if form.fullmatch(said))
    kind = next(alike, Kind.QUOTED)
    return Kind.QUOTED if kind is Kind.NAME else kind


def _begins_a_sentence(text: str, start: int) -> bool:
    """There every word is written large: `List` is not anybody's name."""
    word = re.split(r"[^\w-]", text[start:], maxsplit=1)[0]
    plain = word.isalpha() and word[1:].islower()
    return plain and (not start or text[:start].rstrip(" ").endswith((".", "!", "?", ":", "\n")))


def _before(text: str, start: int) -> str:
    found = _BEFORE.search(text[max(0, start - 40) : start])
    return found[1].lower() if found else ""


def _value(kind: Kind, said: str) -> JsonValue:
    if kind is Kind.NUMBER:
        return float(said) if "." in said else int(said)
    return said
