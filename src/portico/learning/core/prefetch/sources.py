"""Where the value of an argument is from: what a gate asks that must not let a stranger steer."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.derivations import Derivation, Fixed, Taken, derive
from portico.learning.core.prefetch.predicted import Origin, Source
from portico.learning.core.prefetch.view import View


def sources_of(view: View, way: Derivation, value: JsonValue) -> AbstractSet[Source]:
    """What somebody said, or gave to an earlier call, is named together with every result that it
    stood in as well: they may have had it from there."""
    match way:
        case Fixed():
            return frozenset({Source(Origin.CONSTANT)})
        case Taken():
            return frozenset(_taken(view, way, value))
        case _:
            found = {Source(Origin.CONSTANT)}
            return found.union(*(_taken(view, slot, derive(view, slot)) for slot in way.slots))


def _taken(view: View, way: Taken, value: JsonValue) -> Iterator[Source]:
    call = view.seats[way.origin].call
    if call is None:
        yield Source(Origin.WORDS)
        yield from _standing_in(view, value)
    elif way.place.startswith("given"):
        yield Source(Origin.ARGUMENT, call.tool)
        yield from _standing_in(view, value)
    else:
        yield Source(Origin.RESULT, call.tool)


def _standing_in(view: View, value: JsonValue) -> Iterator[Source]:
    values = value if isinstance(value, list) else [value]
    texts = [it for it in values if isinstance(it, (str, int, float))]
    for call in view.window.calls:
        places = (place for it in texts for place, _ in call.found.get(it, ()))
        if any(not place.startswith("given") for place in places):
            yield Source(Origin.RESULT, call.tool)
