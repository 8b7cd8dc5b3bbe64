"""The likeliest next calls, with all their arguments and where each of them is from."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from math import prod
from typing import Final, NamedTuple

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.learning.core.prefetch.calibration import SURE, SURE_WISHED, Evidence, calibrated
from portico.learning.core.prefetch.derivations import Derivation, derive, read, written
from portico.learning.core.prefetch.forms import CallForm
from portico.learning.core.prefetch.layer import MADE, WAYS, Layer, summed
from portico.learning.core.prefetch.learning import EVER, scopes
from portico.learning.core.prefetch.predicted import Origin, Predicted
from portico.learning.core.prefetch.records import band_of, in_band, record_of
from portico.learning.core.prefetch.signs import Stand
from portico.learning.core.prefetch.sources import sources_of
from portico.learning.core.prefetch.transitions import END, known_share, likely
from portico.learning.core.prefetch.view import View
from portico.learning.core.prefetch.window import call_key

_LEAST_FORM: Final = 0.05
_LEAST_WAY: Final = 0.1
_FORMS: Final = 6
_VALUES: Final = 3
_TOGETHER: Final = 12
_WEIGHED: Final = 3
"""Guesses of one moment that are weighed against each other."""

Counts = Mapping[str, tuple[int, int]]


class Value(NamedTuple):
    accuracy: float
    value: JsonValue
    way: Derivation


class Guess(NamedTuple):
    form: CallForm
    arguments: JsonObject
    ways: Mapping[str, Derivation]
    raw: float

    @property
    def made(self) -> str:
        """Its derivations, all together."""
        whole = "\n".join(written(way) for _, way in sorted(self.ways.items()))
        return hashlib.blake2b(whole.encode(errors="surrogatepass"), digest_size=6).hexdigest()


class Foretold(NamedTuple):
    """A prediction, and what its outcome is noted under."""

    predicted: Predicted
    key: bytes
    made: str


def foretell(
    layers: Sequence[Layer],
    view: View,
    at: Stand,
    among: Callable[[ToolPlace], bool],
    known: AbstractSet[bytes],
) -> Sequence[Foretold]:
    """The surest first; none whose key is `known` already."""
    guesses = list(islice(_new(_guesses(layers, view, at, among), known), _WEIGHED))
    beside = sum(guess.raw for _, guess in guesses)
    found = [
        Foretold(_predicted(layers, view, at, guess, beside), key, guess.made)
        for key, guess in guesses
    ]
    return sorted(found, key=lambda it: -it.predicted.confidence)


def _new(guesses: Sequence[Guess], known: AbstractSet[bytes]) -> Iterator[tuple[bytes, Guess]]:
    once = {b"", *known}
    for guess in guesses:
        key = call_key(guess.form.tool, guess.arguments)
        if key not in once:
            once.add(key)
            yield key, guess


def _predicted(
    layers: Sequence[Layer], view: View, at: Stand, guess: Guess, beside: float
) -> Predicted:
    edge = at.edge(guess.form, band_of(guess.raw))
    band = in_band(layers, edge)
    made = summed(layers, MADE, str(guess.form)).get(guess.made, (0, 0))
    known = known_share(layers, at, str(guess.form))
    sure = calibrated(Evidence(guess.raw, beside, made, (band.tried, band.hit), known))
    sources = {
        name: sources_of(view, way, guess.arguments[name]) for name, way in guess.ways.items()
    }
    said = any(source.origin is Origin.WORDS for each in sources.values() for source in each)
    least = SURE_WISHED if said or view.wished else SURE
    return Predicted(
        form=guess.form,
        arguments=guess.arguments,
        confidence=sure,
        edge=edge,
        live=sure >= least and record_of(layers, edge).live,
        sources=sources,
    )


def _guesses(
    layers: Sequence[Layer], view: View, at: Stand, among: Callable[[ToolPlace], bool]
) -> Sequence[Guess]:
    shares = likely(layers, at)
    best = sorted(shares, key=lambda form: -shares[form])[:_FORMS]
    found: list[Guess] = []
    for text in best:
        if text != END and shares[text] >= _LEAST_FORM:
            form = CallForm.parse(text)
            found += _of_form(layers, view, at, form, shares[text]) if among(form.tool) else ()
    return sorted(found, key=lambda guess: -guess.raw)


def _of_form(
    layers: Sequence[Layer], view: View, at: Stand, form: CallForm, share: float
) -> Iterator[Guess]:
    each = [_values(layers, view, scopes(at, form, name)) for name in form.names]
    for chosen in islice(product(*each), _TOGETHER):
        named = dict(zip(form.names, chosen, strict=True))
        yield Guess(
            form,
            {name: it.value for name, it in named.items()},
            {name: it.way for name, it in named.items()},
            share * prod(it.accuracy for it in chosen),
        )


def _values(layers: Sequence[Layer], view: View, outers: Sequence[str]) -> Sequence[Value]:
    """Those that an argument has most likely, each once."""
    rows = [summed(layers, WAYS, outer) for outer in outers]
    best: dict[bytes, Value] = {}
    for text in dict.fromkeys(text for row in rows for text in row if text != EVER):
        accuracy = _accuracy(rows, text)
        value = derive(view, read(text)) if accuracy >= _LEAST_WAY else None
        key = _written(value)
        if key is not None and (key not in best or accuracy > best[key].accuracy):
            best[key] = Value(accuracy, value, read(text))
    return sorted(best.values(), key=lambda it: -it.accuracy)[:_VALUES]


def _written(value: JsonValue) -> bytes | None:
    try:
        return None if value is None else canonical(value)
    except NotCanonical:
        return None


def _accuracy(rows: Sequence[Counts], text: str) -> float:
    """From everywhere to here, each leaning on the one before; then what the caller's words say,
    which counts the more the surer it is."""
    everywhere, near, far, *worded = rows
    tried, hit = everywhere.get(text, (0, 0))
    accuracy = (hit + 0.5) / (tried + 3)
    for row in (near, far):
        accuracy = _leaning(row, text, accuracy)
    told = [(_sharpness(accuracy), accuracy)]
    for row in worded:
        if EVER in row:
            share = _leaning(row, text, accuracy)
            told.append((_sharpness(share) ** 3, share))
    return sum(weight * share for weight, share in told) / sum(weight for weight, _ in told)


def _leaning(row: Counts, text: str, on: float) -> float:
    """What was never right here is not noted, but was tried as often as anything."""
    tried, hit = row.get(text) or (row.get(EVER, (0, 0))[0], 0)
    return (hit + 2 * on) / (tried + 2)


def _sharpness(share: float) -> float:
    return 2 * abs(share - 0.5) + 0.1
