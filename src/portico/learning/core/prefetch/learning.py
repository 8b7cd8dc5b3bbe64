"""What one more call teaches: what follows what, and where its arguments came from."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, takewhile
from typing import Final

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.derivations import derive, read, written
from portico.learning.core.prefetch.explain import explained, same
from portico.learning.core.prefetch.forms import CallForm, place_text
from portico.learning.core.prefetch.layer import FOLLOWS, HINTS, WAYS, Increment, Layer
from portico.learning.core.prefetch.signs import Stand
from portico.learning.core.prefetch.transitions import hinting
from portico.learning.core.prefetch.view import View
from portico.learning.core.prefetch.window import SeenCall

EVER: Final = ""
"""In place of a derivation: how often any was looked for."""
_MOST_NEW: Final = 200
"""Counters that one call may make, however many arguments it has and however odd they are."""


def learn(layer: Layer, view: View, at: Stand, call: SeenCall) -> Iterator[Increment]:
    """From a call that was made where `view` was what its task had seen."""
    most = layer.made + _MOST_NEW
    lessons = chain(
        follow(layer, at, str(call.form)),
        *(
            _ways(layer, view, scopes(at, call.form, name), call.arguments[name], call.own)
            for name in call.form.names
        ),
    )
    yield from takewhile(lambda _: layer.made <= most, lessons)


def follow(layer: Layer, at: Stand, form: str) -> Iterator[Increment]:
    outers = [(FOLLOWS, at.near), (FOLLOWS, at.far)]
    outers += [(HINTS, hinting(at, sign)) for sign in at.signs]
    for kind, outer in outers:
        yield from layer.note(kind, outer, form)


def scopes(at: Stand, form: CallForm, name: str) -> Sequence[str]:
    """Where derivations of an argument are counted: wherever it is given; after what; after what
    and in which words of the caller's."""
    after = f"{at.near}\t{form}\t{name}"
    return (
        f"{place_text(form.tool)}\t{name}",
        after,
        f"{at.far}\t{form}\t{name}",
        *(f"{after}\t{sign}" for sign in at.wordings),
    )


def _ways(
    layer: Layer, view: View, outers: Sequence[str], value: JsonValue, own: AbstractSet[str]
) -> Iterator[Increment]:
    known = dict.fromkeys(text for outer in outers for text in layer.row(WAYS, outer) if text)
    found = {text: derive(view, read(text)) for text in known}
    judged = {text: same(it, value) for text, it in found.items() if it is not None}
    judged |= {written(way): True for way in explained(view, value, own)}
    for outer in outers:
        yield from _judged(layer, outer, judged)


def _judged(layer: Layer, outer: str, judged: Mapping[str, bool]) -> Iterator[Increment]:
    """How often anything was looked for, and what each that was ever right gave."""
    known = layer.row(WAYS, outer)
    kept = {text: right for text, right in judged.items() if right or text in known}
    for text, right in {EVER: True, **kept}.items():
        yield from layer.note(WAYS, outer, text, int(right))
