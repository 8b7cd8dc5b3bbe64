"""What an intent says for a parameter: a value that stands in it, and can be meant by it alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from portico.gateway.core.search_text import STOP_WORDS
from portico.learning.core.dataflow.shape import Parameter
from portico.learning.core.dataflow.words import words
from portico.learning.core.suggest.intent import Kind, Span, spans
from portico.learning.core.suggest.offered import Offered

NUMBERS: Final = frozenset({"integer", "number"})
_FORMS: Final[Mapping[str, Kind]] = {
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
class Said:
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
    return _FORMS.get(last_word(parameter))


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
