"""What a question asks for: intents, with calibrated confidence."""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from types import MappingProxyType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search import clauses, whole
from portico.gateway.core.search_text import STOP_WORDS
from portico.gateway.core.surface import FEEDBACK_OUTCOMES
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.learning.core.dataflow_fields import Parameter, words

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


# What speaks for a tool: each sign a number, and how much each of them counts.

LEAST: Final = 1e-4
"""Of a search: what was not found is as good as this."""
LEAST_SHARE: Final = 0.01
"""Of plans."""


class IntentFeature(StrEnum):
    EITHER = "either"
    """That search finds it for the whole, or the nearest past plans had it, or a likely tool had
    it before it: any of these is enough. In log-odds."""
    SEARCH = "search"
    """What search says of the whole intent."""
    STEP = "step"
    """What it says of the sub-step that the tool answers best."""
    VOTE = "vote"
    """The share of the nearest past plans that had it."""
    FOLLOWS = "follows"
    """How often it came after what was done."""
    AFTER = "after"
    """How often it came after what was done, in the nearest past plans."""
    DONE = "done"
    """It is among what was done already."""


AGAINST: Final = frozenset({IntentFeature.DONE})

IntentFeatures = Mapping[IntentFeature, float]


@dataclass(frozen=True, slots=True)
class Weights:
    of: Mapping[IntentFeature, float]
    start: float = 0.0

    def weighed(self, signs: IntentFeatures) -> float:
        """Log-odds."""
        return self.start + sum(weight * signs[sign] for sign, weight in self.of.items())


def logarithm(share: float, least: float = LEAST_SHARE) -> float:
    return log(share + least)


def log_odds(share: float) -> float:
    within = min(max(share, 1e-5), 0.999)
    return log(within / (1 - within))


# How much each sign counts: learnt from published plans, by `just bench suggest`.
#
# UltraTool, whose licence is not clear, had no part in it.

LIKELY: Final = Weights(
    MappingProxyType({IntentFeature.EITHER: 0.8615, IntentFeature.STEP: 0.3227}), 0.4965
)
"""That a tool is in the plan, each by itself."""
UNPRECEDENTED: Final = Weights(
    MappingProxyType({IntentFeature.EITHER: 0.2283, IntentFeature.STEP: 0.7025}), 1.5
)
"""The same where nothing like it was done before."""
NEXT: Final = Weights(
    MappingProxyType(
        {
            IntentFeature.SEARCH: 0.2394,
            IntentFeature.STEP: 0.3194,
            IntentFeature.VOTE: 0.3572,
            IntentFeature.FOLLOWS: 0.3854,
            IntentFeature.AFTER: 0.6338,
            IntentFeature.DONE: -1.0019,
        }
    )
)
"""That it comes next, one of them being it."""

# How sure a suggestion has to be before its first reads are made ahead: what became of earlier ones
# says so, and only what their caller said or did counts, never how a tool said that it went.

LOWEST: Final = 0.85
HIGHEST: Final = 0.99
START: Final = 0.92
LATEST: Final = 200
"""Outcomes that count; it is worked out from these anew each time, and so never drifts off."""
ENOUGH: Final = 20
"""With fewer it stays where it starts."""
_AIM: Final = 0.80
"""Where at least so many are accepted, as far as one can be sure, it is where it starts."""
_SLOPE: Final = (START - LOWEST) / 0.15
"""Fifteen in a hundred more are the lowest, fifteen less are the highest."""
_NORMAL: Final = 1.96
"""Of 95 in a hundred."""


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MODIFIED = "modified"
    UNCLAIMED = "unclaimed"
    """Its time was over before anybody said or did anything."""


SAYABLE: Final = tuple(map(Outcome, FEEDBACK_OUTCOMES))
"""By its caller."""


def threshold(outcomes: Sequence[Outcome]) -> float:
    """`outcomes`: the latest first, of suggestions that were at least as sure as `LOWEST`."""
    latest = outcomes[:LATEST]
    if len(latest) < ENOUGH:
        return START
    accepted = sum(outcome is Outcome.ACCEPTED for outcome in latest)
    moved = START - _SLOPE * (wilson_lower(accepted, len(latest)) - _AIM)
    return min(max(moved, LOWEST), HIGHEST)


def wilson_lower(hits: int, tried: int) -> float:
    """The least share that so many hits are likely to stand for."""
    square = _NORMAL * _NORMAL
    share = hits / tried
    middle = share + square / (2 * tried)
    spread = _NORMAL * math.sqrt((share * (1 - share) + square / (4 * tried)) / tried)
    lower = (middle - spread) / (1 + square / tried)
    return min(max(0.0, lower), share)  # without hits, rounding leaves a trace above none


Floats = NDArray[np.float64]

_STEPS: Final = 25
_CLOSE: Final = 1e-6
"""Nearer than this is there."""
_PULL_OF_START: Final = 4.0
"""As many outcomes as it takes to believe a space more than what was published."""
_SURELY: Final = 30.0


@dataclass(frozen=True, slots=True)
class Judged:
    """What was suggested, and whether it was right."""

    raw: float
    right: bool
    backing: float = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The log-odds of being right are a straight line of what was made out beforehand; of that
    counts what the runs behind it allow."""

    slope: float
    start: float

    def confidence(self, raw: float, backing: float = 1.0) -> float:
        odds = np.clip(self.slope * raw + self.start, -_SURELY, _SURELY)
        return float(backing / (1 + np.exp(-odds)))

    def fitted(self, outcomes: Sequence[Judged]) -> "Calibration":
        """To what became of suggestions. From where it stands: a few outcomes move it little, and
        it never says less of what seemed more likely."""
        here = np.array([self.slope, self.start])
        fit = _Fit.of(outcomes, here)
        for _ in range(_STEPS):
            here = fit.closer(here)
        return Calibration(max(0.0, float(here[0])), float(here[1]))


SHIPPED: Final = Calibration(slope=0.7495, start=2.4154)
"""Learnt from published plans, by `just bench suggest`; UltraTool had no part in it."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """Fisher's scoring, half as far each time for as long as that is not closer."""

    table: Floats
    right: Floats
    backing: Floats
    before: Floats
    pull: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Judged], before: Floats) -> "_Fit":
        raw = np.array([each.raw for each in outcomes], float)
        spread = float((raw**2).mean()) + 1.0 if outcomes else 1.0
        return cls(
            np.stack([raw, np.ones(len(raw))], axis=1),
            np.array([each.right for each in outcomes], float),
            np.array([each.backing for each in outcomes], float),
            before,
            np.diag([_PULL_OF_START * spread, _PULL_OF_START]),
        )

    def closer(self, here: Floats) -> Floats:
        line = self._line(here)
        says, steep = self.backing * line, 1 - line
        slope = self.table.T @ ((says - self.right) * steep / (1 - says))
        bend = (self.table.T * (says * steep**2 / (1 - says))) @ self.table + self.pull
        step = np.linalg.solve(bend, slope + self.pull @ (here - self.before))
        while np.abs(step).max() > _CLOSE and self._loss(here - step) > self._loss(here):
            step = step / 2
        return np.asarray(here - step)

    def _line(self, here: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-np.clip(self.table @ here, -_SURELY, _SURELY))))

    def _loss(self, here: Floats) -> float:
        says, away = self.backing * self._line(here), here - self.before
        likely = self.right * np.log(says) + (1 - self.right) * np.log1p(-says)
        return float(away @ self.pull @ away / 2 - likely.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    tool: str
    """`server.tool`."""
    effect: Effect = Effect.UNKNOWN
    parameters: Sequence[Parameter] = ()
    listed: Mapping[str, Collection[JsonValue]] = field(default_factory=dict)
    """By `server.tool#parameter`: the values that its definition names."""

    @property
    def required(self) -> Sequence[Parameter]:
        return [each for each in self.parameters if each.required]

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)


NUMBERS: Final = frozenset({"integer", "number"})
_SAID_FORMS: Final[Mapping[str, Kind]] = {
    "email": Kind.EMAIL,
    "recipient": Kind.EMAIL,
    "url": Kind.URL,
    "uri": Kind.URL,
    "link": Kind.URL,
    "path": Kind.PATH,
    "file": Kind.PATH,
    "filename": Kind.PATH,
    "directory": Kind.PATH,
    "folder": Kind.PATH,
    "date": Kind.DATE,
    "day": Kind.DATE,
    "time": Kind.TIME,
}
"""By the last word of a parameter's name: what it is told has this form."""
_SHORTEST: Final = 3
_WORD: Final = re.compile(r"[\w-]+")


@dataclass(slots=True)
class IntentValues:
    spans: Sequence[Span]
    words: frozenset[str]
    used: set[int] = field(default_factory=set)
    """Which of the values were taken, by where they stand."""

    @classmethod
    def of(cls, intent: str) -> Self:
        return cls(spans(intent), frozenset(_WORD.findall(intent.casefold())))

    def number(self, kind: Kind, number: int) -> Span | None:
        alike = [span for span in self.spans if span.kind is kind]
        return self._taken(alike[number]) if number < len(alike) else None

    def for_parameter(self, tool: Offered, parameter: Parameter, within: str) -> Span | None:
        """By its name, or by its form: what stands in the part that the tool is for, or else
        anywhere. What may be left out is told only what stands there."""
        own = [span for span in self.spans if span.text in within]
        for some in (own, self.spans) if parameter.required else (own,):
            for span in (self._named(parameter, some), self._formed(tool, parameter, some)):
                if span is not None and _fits(span, parameter):
                    return self._taken(span)
        return None

    def listed(self, tool: Offered, parameter: str) -> str | None:
        """One of a few values, if the intent has the word for just one of them."""
        values = tool.listed.get(f"{tool.tool}#{parameter}", ())
        texts = [each for each in values if isinstance(each, str) and len(each) >= _SHORTEST]
        found = [each for each in dict.fromkeys(texts) if each.casefold() in self.words]
        return found[0] if len(found) == 1 else None

    def only_one(self, parameter: Parameter) -> Span | None:
        """The only one of its kind that is left."""
        kind = Kind.NUMBER if parameter.type in NUMBERS else form_of(parameter) or Kind.QUOTED
        free = [span for span in self._free if span.kind is kind and _fits(span, parameter)]
        return self._taken(free[0]) if len(free) == 1 else None

    def _named(self, parameter: Parameter, among: Sequence[Span]) -> Span | None:
        """`branch "main"` for a parameter that is called so."""
        last = last_word(parameter)
        found = [span for span in among if span.before == last and span.start not in self.used]
        return found[0] if len(found) == 1 and last not in STOP_WORDS else None

    def _formed(self, tool: Offered, parameter: Parameter, among: Sequence[Span]) -> Span | None:
        """The only address there is, for the only one that wants an address."""
        kind = form_of(parameter)
        found = [
            span
            for span in among
            if span.kind is kind and (parameter.required or span.start not in self.used)
        ]
        wanting = tool.required if parameter.required else tool.parameters
        alike = [each for each in wanting if form_of(each) is kind]
        return found[0] if len(found) == 1 >= len(alike) else None

    @property
    def _free(self) -> Sequence[Span]:
        return [span for span in self.spans if span.start not in self.used]

    def _taken(self, span: Span) -> Span:
        self.used.add(span.start)
        return span


def form_of(parameter: Parameter) -> Kind | None:
    return _SAID_FORMS.get(last_word(parameter))


def last_word(parameter: Parameter) -> str:
    """Of its name."""
    return (words(parameter.name) or ("",))[-1]


def _fits(span: Span, parameter: Parameter) -> bool:
    form = form_of(parameter)
    match parameter.type:
        case "integer":
            return isinstance(span.value, int)
        case "number":
            return isinstance(span.value, int | float)
        case kind:
            return kind in {None, "string"} and form in {None, span.kind}
