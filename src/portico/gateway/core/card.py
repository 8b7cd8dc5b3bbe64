"""A tool rendered small for a model: what it takes, one line of what it does, how to call it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from portico.gateway.core.call import Verb, verb_for
from portico.gateway.core.learnt import SeenShape
from portico.gateway.core.plain_text import cut, first_sentence, plain
from portico.gateway.core.shape_text import line_of
from portico.gateway.core.signature import signature
from portico.gateway.core.tool import Definition, ToolRef
from portico.gateway.core.vague_schema import vague
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue

_LONGEST_LINE: Final = 160
_LONGEST_SIGNATURE: Final = 600
_MARKS: Final = {Verb.READ: "read", Verb.WRITE: "write", Verb.DESTRUCTIVE: "destructive"}


@dataclass(frozen=True, slots=True)
class Card:
    """What comes from the server is between the brackets after the name, or indented below: a
    line that begins at the margin, and the mark that ends it, are ours."""

    ref: ToolRef
    signature: str
    line: str
    mark: str
    why: str = ""

    @property
    def text(self) -> str:
        told = " ".join(filter(None, [self.line, f"({self.why})" if self.why else ""]))
        below = f"\n  {told}" if told else ""
        return f"{self.signature} [{self.mark}]{below}"

    @property
    def bare(self) -> str:
        return f"{self.ref} [{self.mark}]"


@dataclass(frozen=True, slots=True)
class Fitted:
    text: str
    tokens: int
    shown: int
    whole: int
    """How many of those shown are more than a name."""


def card(ref: ToolRef, definition: Definition, effect: Effect, *, why: str = "") -> Card:
    return Card(
        ref,
        cut(signature(ref, definition), _LONGEST_SIGNATURE),
        one_line(definition),
        _MARKS[verb_for(effect)],
        plain(why, _LONGEST_LINE),
    )


def one_line(definition: Definition) -> str:
    """The first sentence of what its server says of it."""
    said = first_sentence(definition.description) or definition.title
    return plain(said, _LONGEST_LINE)


def fit(
    cards: Sequence[Card],
    budget: int,
    count: Callable[[str], int],
    *,
    header: str = "",
    footer: Callable[[int], str] | None = None,
) -> Fitted:
    """As many as the budget has room for, with what stands above and below them: the last ones
    as bare names before any is left out. `footer` is told how many are. Never over: where
    not even the frame fits there is no text at all."""
    for shown, whole in _shapes(cards, budget, count):
        body = [*(each.text for each in cards[:whole]), *(each.bare for each in cards[whole:shown])]
        parts = [header, *body, footer(len(cards) - shown) if footer else ""]
        text = "\n".join(part for part in parts if part)
        tokens = count(text)
        if tokens <= budget:
            return Fitted(text, tokens, shown, whole)
    return Fitted("", 0, 0, 0)


def _shapes(
    cards: Sequence[Card], budget: int, count: Callable[[str], int]
) -> Iterator[tuple[int, int]]:
    """Ways to show them, best first, without those that are far too long."""
    wholes = [0, *accumulate(count(each.text) for each in cards)]
    bares = [0, *accumulate(count(each.bare) for each in cards)]
    for shown in range(len(cards), 0, -1):
        for whole in range(shown, -1, -1):
            if whole == 0 and shown > 1:
                continue  # rather fewer names than nothing but names
            # Joining two texts can save a token, hardly ever more.
            if wholes[whole] + bares[shown] - bares[whole] - shown <= budget:
                yield shown, whole
    yield 0, 0


def describe(
    ref: ToolRef, definition: Definition, effect: Effect, returns: SeenShape | None = None
) -> JsonObject:
    """All that is needed to call it, the schema as its server wrote it. `returns`: what has been
    learnt from its results, for where its server does not say it."""
    told: dict[str, JsonValue] = {
        "tool": str(ref),
        "description": definition.description or definition.title,
        "effect": effect.value,
        "call_with": verb_for(effect).value,
        "input_schema": definition.input_schema,
    }
    if definition.output_schema is not None:
        told["output_schema"] = definition.output_schema
    unsaid = definition.output_schema is None or vague(definition.output_schema)
    if unsaid and returns is not None and returns.times > 1:
        told["returns"] = {"seen": returns.times, "shape": line_of(returns.shape)}
    return told
