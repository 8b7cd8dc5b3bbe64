"""Text without secrets: for whatever is written down or shown, whoever wrote it.

Two ways to know a secret: by its form (a key, a token, what stands behind `password=`), and by its
value, where the house has loaded it. The patterns take time in proportion to the text, whatever
it is: their runs are bounded, or cannot begin inside one another.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from portico.kernel.json import JsonValue

BLACK: Final = "********"

_DEEPEST: Final = 100
_SHORTEST: Final = 8
_NAMED: Final = (dict, Mapping)
"""What is mostly a dict is told quickest by asking for that first."""
_LEAST: Final = 10 ** (_SHORTEST - 1)
_WORD: Final = re.compile(r"[a-z]{1,11}")

_TOKENS: Final[Sequence[tuple[str, str, int, str]]] = [
    ("sk-", r"\w-", 16, "provider-key"),  # OpenAI, Anthropic and many who followed
    ("sk_live_", r"\w", 10, "stripe-key"),
    ("rk_live_", r"\w", 10, "stripe-key"),
    ("ghp_", r"\w", 20, "github-token"),
    ("gho_", r"\w", 20, "github-token"),
    ("ghu_", r"\w", 20, "github-token"),
    ("ghs_", r"\w", 20, "github-token"),
    ("ghr_", r"\w", 20, "github-token"),
    ("github_pat_", r"\w", 20, "github-token"),
    ("glpat-", r"\w-", 16, "gitlab-token"),
    ("xoxa-", r"\w-", 10, "slack-token"),
    ("xoxb-", r"\w-", 10, "slack-token"),
    ("xoxe-", r"\w-", 10, "slack-token"),
    ("xoxp-", r"\w-", 10, "slack-token"),
    ("xoxr-", r"\w-", 10, "slack-token"),
    ("xoxs-", r"\w-", 10, "slack-token"),
    ("xapp-", r"\w-", 10, "slack-token"),
    ("AKIA", r"0-9A-Z", 16, "aws-key"),
    ("ASIA", r"0-9A-Z", 16, "aws-key"),
    ("AIza", r"\w-", 30, "google-key"),
    ("ya29.", r"\w-", 20, "google-token"),
    ("xai-", r"\w", 20, "xai-key"),
    ("gsk_", r"\w", 20, "groq-key"),
    ("hf_", r"\w", 20, "hugging-face-token"),
    ("npm_", r"\w", 30, "npm-token"),
    ("pypi-", r"\w-", 40, "pypi-token"),
]
"""How the tokens of well-known providers begin, of which letters they are, of how many, and what
they are called."""

_NAME: Final = (
    r"(?:pass(?:word|wd|phrase)|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|(?:access|auth|bearer|csrf|id|refresh|session)[_-]?token)"
)
_VAGUE_NAME: Final = r"(?:secret|token|credentials?)"
"""Also words of ordinary sentences: `unexpected token: }`."""
_QUOTED: Final = (
    r"""(?:\\+"(?>(?>(?:[^"\\]++|\\+[^"\\]){1,500})*)\\+\""""
    r"""|"(?>(?>(?:[^"\\]++|\\.){1,500})*)"|'(?>(?>(?:[^'\\]++|\\.){1,500})*)')"""
)
"""Five hundred at a time: all that is tried within one `(?>…)` is kept until it ends."""
_IS: Final = r"""\\*["']?\s{0,3}[=:]\s{0,3}(?:b(?=["']))?"""
_SURELY_IS: Final = r"""(?:\s{0,3}=\s{0,3}|\\*["']\s{0,3}:\s{0,3})(?:b(?=["']))?"""

_FORMS: Final[Sequence[tuple[str, str, re.Pattern[str], str]]] = [
    (name, marker, re.compile(pattern), shown)
    for name, marker, pattern, shown in [
        ("portico-key", "ptc_", r"ptc_([0-9A-Za-z]{12})_[0-9A-Za-z]+", rf"ptc_\1_{BLACK}"),
        (
            "private-key",
            "private key-----",
            (
                r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
                r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)"
            ),
            BLACK,
        ),
        ("json-web-token", "eyj", r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+", BLACK),
        *(
            (
                name,
                prefix.lower(),
                rf"(?<![\w-]){re.escape(prefix)}[{letters}]{{{least},}}+",
                BLACK,
            )
            for prefix, letters, least, name in _TOKENS
        ),
        (
            "bearer-token",
            "bearer",
            (
                r"(?i)\b(bearer[ \t]{1,8})(?!ptc_\w{12}_\*)"
                r"(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{8,}+"
            ),
            rf"\1{BLACK}",
        ),
        (
            "password-in-address",
            "://",
            r"""(://[^:/@\s"]*+:)(?!\d{1,5}(?:/|\s|\Z))(?:[^\s:"]|:(?!//))*(?=@)""",
            rf"\1{BLACK}",
        ),
        (
            "authorization-header",
            "authorization",
            rf"(?i)(authorization{_IS})(?:{_QUOTED}|(?:[a-z]{{1,20}} )?[^\s&\"']+)",
            rf"\1{BLACK}",
        ),
        ("cookie", "cookie", rf"(?i)(cookie{_IS})(?:{_QUOTED}|[^\r\n\"']+)", rf"\1{BLACK}"),
    ]
]
_PAIRS: Final[Sequence[tuple[str, re.Pattern[str]]]] = [
    (marker, re.compile(rf"(?i){pattern}"))
    for marker, pattern in [
        ("", rf"({_NAME}{_IS}|{_VAGUE_NAME}{_SURELY_IS})(?:{_QUOTED}|[^\s&]+)"),
        (
            ",",
            (
                rf"((?:[(\[]b?[\"']|[\"']--)[\w-]{{0,30}}"
                rf"(?:{_NAME}|{_VAGUE_NAME}|authorization|cookie)[\"'],\s?b?){_QUOTED}"
            ),
        ),
        ("--", rf"(--[a-z-]{{0,30}}(?:{_NAME}|{_VAGUE_NAME})\s{{1,3}})(?:{_QUOTED}|\S+)"),
    ]
]
"""A name and its value: `password=…`, `"password": "…"`; in a list of pairs; as a flag."""
_HINTS: Final = ("pass", "key", "token", "secret", "credential", "authorization", "cookie")
_SECRET_NAME: Final = re.compile(
    rf"(?is).{{0,60}}?(?:{_NAME}|{_VAGUE_NAME}|pwd|pepper|dsn|authorization|cookie)"
)


def blacked_out(text: str) -> str:
    """Without what has the form of a key or a password; a key of ours keeps its public id, so that
    whoever reads it can tell which one it was."""
    folded = text.lower()
    for _, marker, form, shown in _FORMS:
        if marker in folded:
            text = form.sub(shown, text)
    if any(hint in folded for hint in _HINTS):
        for marker, pair in _PAIRS:
            if marker in folded:
                text = pair.sub(rf"\1{BLACK}", text)
    return text


def forms_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Where something has the form of a key or a password: what it is called, where it begins and
    where it ends. In no order, and one may lie within another."""
    folded = text.lower()
    for name, marker, form, shown in _FORMS:
        if marker in folded:
            before = 1 if shown.startswith(r"\1") else None
            yield from _placed(name, form, text, before)
    if any(hint in folded for hint in _HINTS):
        for marker, pair in _PAIRS:
            if marker in folded:
                yield from _placed("password", pair, text, 1)


def _placed(
    name: str, form: re.Pattern[str], text: str, before: int | None
) -> Iterator[tuple[str, int, int]]:
    """`before` is the group that says what it is, and may stay."""
    for match in form.finditer(text):
        start = match.start() if before is None else match.end(before)
        if start < match.end():
            yield name, start, match.end()


def hidden(value: str) -> bool:
    """Whether it is looked for by itself, wherever it turns up."""
    return len(value) >= _SHORTEST and not _WORD.fullmatch(value)


class Redaction:
    """What must not be told: whatever has the form of a secret, and these very values.

    A value that could be a word (`postgres`, or anything under eight characters) is not looked for
    by itself, since that would black out the language; where it stands as a password, its place
    gives it away.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values = frozenset(value for value in values if hidden(value))
        spellings = {spelling for value in self.values for spelling in _spellings(value)}
        self._spellings = sorted(spellings, key=len, reverse=True)

    def clean(self, text: str) -> str:
        return blacked_out(self.hide(text))

    def known_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Where these very values stand, from where to where."""
        for spelling in self._spellings:
            place = text.find(spelling)
            while place >= 0:
                yield place, place + len(spelling)
                place = text.find(spelling, place + len(spelling))

    def hide(self, text: str) -> str:
        """Only these very values; whatever merely has the form of a secret stays."""
        return _without(self._spellings, text)

    def hide_json(self, value: JsonValue) -> JsonValue:
        """The same in names and values; the very same object if there is nothing to hide, which
        costs no more than to put its texts together once and to look through that."""
        if not self._spellings:
            return value
        said = "\n".join(_texts(value))
        there = [spelling for spelling in self._spellings if spelling in said]
        return _hidden(there, value) if there else value

    def clean_json(self, value: JsonValue) -> JsonValue:
        """Names as well as values; a text is black if its name says what it is, and so is
        whatever lies a hundred levels down."""
        return self._cleaned(value, 0)

    def _cleaned(self, value: JsonValue, depth: int) -> JsonValue:
        if depth > _DEEPEST:
            return BLACK
        match value:
            case str():
                return self.clean(value)
            case Mapping():
                return {
                    self.clean(name): self._member(name, item, depth + 1)
                    for name, item in value.items()
                }
            case Sequence():
                return [self._cleaned(item, depth + 1) for item in value]
            case _:
                return value

    def _member(self, name: str, value: JsonValue, depth: int) -> JsonValue:
        told = isinstance(value, str) and value and _SECRET_NAME.fullmatch(name)
        return BLACK if told else self._cleaned(value, depth)


def _without(spellings: Sequence[str], text: str) -> str:
    for spelling in spellings:
        if spelling in text:
            text = text.replace(spelling, BLACK)
    return text


def _texts(value: JsonValue) -> Sequence[str]:
    """All that stands in it, in no order; of numbers those that are long enough for a secret."""
    found: list[str] = []
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, int):
            found += [str(item)] if item >= _LEAST else []
        elif item is None or isinstance(item, float):
            continue
        elif isinstance(item, _NAMED):
            found += item
            left += item.values()
        else:
            left += item
    return found


def _hidden(spellings: Sequence[str], value: JsonValue) -> JsonValue:
    match value:
        case str():
            return _without(spellings, value)
        case int():
            return BLACK if value >= _LEAST and str(value) in spellings else value
        case Mapping():
            return {
                _without(spellings, name): _hidden(spellings, item) for name, item in value.items()
            }
        case Sequence():
            return [_hidden(spellings, item) for item in value]
        case _:
            return value


def _spellings(value: str) -> Iterator[str]:
    """As it stands in a text, an address, a form, a JSON string and a Python literal."""
    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
