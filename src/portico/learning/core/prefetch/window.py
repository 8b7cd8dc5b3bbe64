"""What one task did last and said, for as long as it is at it; values are nowhere else."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from portico.gateway.core.calls import Answer
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.learning.core.prefetch.changes import all_changed
from portico.learning.core.prefetch.forms import CallForm, form_of
from portico.learning.core.prefetch.pools import Pool, Value, answered, given
from portico.learning.core.prefetch.readings import reading
from portico.workflows.core.plan_values import step_document

IDLE: Final = timedelta(minutes=10)
LONGEST: Final = timedelta(minutes=30)
_CALLS: Final = 32
_VALUES: Final = 4_000
_TEXTS: Final = 8
_TEXT: Final = 2_000
_LARGEST: Final = 200_000
"""Characters of an answer beyond which its values are not looked for."""

_LARGEST_CALL: Final = 20_000
"""Bytes of what is called beyond which it is not followed."""

Found = Mapping[Value, tuple[tuple[str, str], ...]]
"""At which place, changed how, a value is found."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    tool: ToolPlace
    arguments: JsonObject
    places: Mapping[str, Pool]
    """Of what it was given and of what it gave."""
    found: Found
    failed: bool
    ended: datetime
    reads: bool = True
    """It changed nothing, so that what others gave is still so."""
    own: AbstractSet[str] = frozenset()
    base: str | None = None
    """The path that it was made for."""
    key: bytes = b""
    """The same for the same call; empty for one that nothing is learnt from."""

    @property
    def form(self) -> CallForm:
        return form_of(self.tool, self.arguments)

    @property
    def values(self) -> int:
        return sum(len(pool.values) for pool in self.places.values())


def seen_call(  # noqa: PLR0913 # a call, and what its tool says of itself
    tool: ToolPlace,
    arguments: JsonObject,
    answer: Answer,
    *,
    ended: datetime,
    reads: bool,
    own: AbstractSet[str] = frozenset(),
    parameters: AbstractSet[str] | None = None,
) -> SeenCall:
    """`own` are values, and `parameters` names, that stand in the tool's definition; None: any."""
    key = call_key(tool, arguments) if parameters is None or arguments.keys() <= parameters else b""
    arguments = arguments if key else {}
    base = _base(arguments)
    small = answer.size <= _LARGEST
    value = reading(step_document(answer)) if small else ""
    places = {**given(arguments).places, **answered(value).places}
    found = where_found(places, base)
    return SeenCall(tool, arguments, places, found, answer.failed, ended, reads, own, base, key)


def call_key(tool: ToolPlace, arguments: JsonObject) -> bytes:
    """The same for the same call, and empty for one that cannot be written, or is too long."""
    whole: list[JsonValue] = [str(tool.server), tool.tool, arguments]
    try:
        written = canonical(whole)
    except NotCanonical:
        return b""
    return b"" if len(written) > _LARGEST_CALL else blake2b(written, digest_size=16).digest()


def where_found(places: Mapping[str, Pool], base: str | None) -> Found:
    found: dict[Value, dict[tuple[str, str], None]] = {}
    for place, pool in places.items():
        for value in dict.fromkeys(pool.values):
            for change, became in all_changed(value, base):
                found.setdefault(became, {})[place, change] = None
    return {value: tuple(where) for value, where in found.items()}


def _base(arguments: JsonObject) -> str | None:
    paths = (value for _, value in sorted(arguments.items()) if isinstance(value, str))
    return next((path for path in paths if "/" in path and len(path) <= 300), None)


@dataclass(frozen=True, slots=True)
class Window:
    calls: tuple[SeenCall, ...] = ()
    words: tuple[str, ...] = ()
    began: datetime | None = None

    def then(self, call: SeenCall) -> "Window":
        calls = (*self.calls, call)[-_CALLS:]
        held = sum(it.values for it in calls)
        while held > _VALUES and len(calls) > 1:
            held, calls = held - calls[0].values, calls[1:]
        return Window(calls, self.words, self.began or call.ended)

    def told(self, text: str) -> "Window":
        text = text.strip()[:_TEXT]
        if not text or text in self.words:
            return self
        return Window(self.calls, (*self.words, text)[-_TEXTS:], self.began)

    def over(self, now: datetime) -> bool:
        """Whether what comes now belongs to something else."""
        if not self.calls or self.began is None:
            return False
        return now - self.calls[-1].ended > IDLE or now - self.began > LONGEST
