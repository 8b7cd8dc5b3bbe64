"""Predict the next read: transitions, course, trust, calibration."""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice, product, takewhile
from math import exp, log, log1p, prod, sqrt
from typing import Final, NamedTuple

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.learning.core.argument_derivations import (
    Derivation,
    derive,
    explained,
    read,
    same,
    sources_of,
    written,
)
from portico.learning.core.observation import (
    FOLLOWS,
    HINTS,
    MADE,
    RECORD,
    WAYS,
    Increment,
    LabelModel,
    summed,
)
from portico.learning.core.observed_calls import (
    LONGEST,
    START,
    CallForm,
    EdgeKey,
    ObservedCall,
    Origin,
    Predicted,
    RecentCalls,
    View,
    call_key,
    learnable,
    place_text,
    tokens,
)

_BUCKETS: Final = 4_096
_MOST_WORDS: Final = 24
_MOST_SIGNS: Final = 64
_WORDINGS: Final = 2
ANYWHERE: Final = "*"
"""Before a sign that is looked at wherever a task stands."""
_WHOLE: Final = "q"
"""Of a text of the caller's, all its words together."""


class Stand(NamedTuple):
    """What was called last, and before that."""

    before: ToolPlace | None
    last: ToolPlace | None
    failed: bool
    features: tuple[str, ...]

    @property
    def near(self) -> str:
        mark = "!" if self.failed else ""
        return START if self.last is None else place_text(self.last) + mark

    @property
    def far(self) -> str:
        return f"{START if self.before is None else place_text(self.before)}\t{self.near}"

    @property
    def wordings(self) -> Sequence[str]:
        """Those of the caller's latest texts, each as a whole."""
        return [sign for sign in self.features if sign.startswith(_WHOLE)][-_WORDINGS:]

    def edge(self, form: CallForm, band: int) -> EdgeKey:
        return EdgeKey(None, self.last, self.failed, form, band)


def stand(window: RecentCalls) -> Stand:
    calls = window.calls
    before = calls[-2].tool if len(calls) > 1 else None
    last = calls[-1].tool if calls else None
    failed = bool(calls) and calls[-1].failed
    found = dict.fromkeys(_signs_of_calls(window))
    far = Stand(before, last, failed, ()).far
    for text in window.words:
        found.update(dict.fromkeys(_signs_of_words(text, far)))
    return Stand(before, last, failed, tuple(found)[:_MOST_SIGNS])


def bucket(text: str) -> int:
    """One of so few numbers that many words share each: none can be told from its own."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest) % _BUCKETS


def _signs_of_words(text: str, far: str) -> Iterator[str]:
    words = list(dict.fromkeys(tokens(text)))[:_MOST_WORDS]
    whole = " ".join(sorted(words))
    yield f"{_WHOLE}{bucket(whole)}"
    yield f"p{bucket(far + whole)}"
    yield f"{ANYWHERE}{bucket(whole)}"
    for word in words:
        yield f"w{bucket(word)}"
        yield f"v{bucket(far + word)}"


def _signs_of_calls(window: RecentCalls) -> Iterator[str]:
    calls = window.calls
    if not calls:
        return
    yield f"n{bucket(','.join(calls[-1].form.names))}"
    yield f"h{bucket(' '.join(sorted(filter(_structural, calls[-1].places))))}"
    tools = [place_text(call.tool) for call in calls]
    yield f"s{bucket(' '.join(sorted(set(tools))))}"
    if len(calls) > 1:
        yield f"f{bucket(tools[0])}"
    if len(calls) > 2:  # the two last are looked at anyway
        yield f"t{bucket(tools[-3])}"


def _structural(place: str) -> bool:
    """Whether it is there because of how the answer is built, not of what its texts say."""
    return place.startswith("json") and not any(mark in place for mark in "|~<")


END: Final = "end"
"""In place of a form: nothing came any more."""
_SHRINK: Final = 2.0
"""Calls that what is known of less is worth, beside what was seen."""
_SHARPNESS: Final = 4.0

Counts = Mapping[str, tuple[int, int]]
Shares = Mapping[str, float]


def likely(layers: Sequence[LabelModel], at: Stand) -> Shares:
    """Of each form, as text, and of the end."""
    near, far = (summed(layers, FOLLOWS, where) for where in (at.near, at.far))
    many = 1 + sum(tried for tried, _ in near.values())
    base = _shrunken(far, {form: tried / many for form, (tried, _) in near.items()})
    rows = (summed(layers, HINTS, hinting(at, sign)) for sign in at.features)
    return _mixed([base, *(_shrunken(row, base) for row in rows if row)])


def known_share(layers: Sequence[LabelModel], at: Stand, form: str) -> float:
    """Of the signs, under how many this form was ever called: what is foretold of work that nobody
    has done before looks as sure, and is not."""
    seen = [
        any(form in layer.row(HINTS, hinting(at, sign)) for layer in layers) for sign in at.features
    ]
    return sum(seen) / len(seen)


def hinting(at: Stand, sign: str) -> str:
    return sign if sign.startswith(ANYWHERE) else f"{at.near}\t{sign}"


def _shrunken(row: Counts, towards: Shares) -> Shares:
    total = _SHRINK + sum(tried for tried, _ in row.values())
    return {
        form: (row.get(form, (0, 0))[0] + _SHRINK * towards.get(form, 0.0)) / total
        for form in {**towards, **row}
    }


def _mixed(told: Sequence[Shares]) -> Shares:
    """Each counts the more the surer it is. That several say the same adds nothing, for they are
    seldom independent."""
    weights = [exp(-_SHARPNESS * _entropy(shares)) for shares in told]
    total = sum(weights)
    mixed: dict[str, float] = {}
    for weight, shares in zip(weights, told, strict=True):
        for form, share in shares.items():
            mixed[form] = mixed.get(form, 0.0) + weight * share / total
    return mixed


def _entropy(shares: Shares) -> float:
    return -sum(share * log(share) for share in shares.values() if share)


EVER: Final = ""
"""In place of a derivation: how often any was looked for."""
_MOST_NEW: Final = 200
"""Counters that one call may make, however many arguments it has and however odd they are."""


def learn(layer: LabelModel, view: View, at: Stand, call: ObservedCall) -> Iterator[Increment]:
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


def follow(layer: LabelModel, at: Stand, form: str) -> Iterator[Increment]:
    outers = [(FOLLOWS, at.near), (FOLLOWS, at.far)]
    outers += [(HINTS, hinting(at, sign)) for sign in at.features]
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
    layer: LabelModel, view: View, outers: Sequence[str], value: JsonValue, own: AbstractSet[str]
) -> Iterator[Increment]:
    known = dict.fromkeys(text for outer in outers for text in layer.row(WAYS, outer) if text)
    found = {text: derive(view, read(text)) for text in known}
    judged = {text: same(it, value) for text, it in found.items() if it is not None}
    judged |= {written(way): True for way in explained(view, value, own)}
    for outer in outers:
        yield from _judged(layer, outer, judged)


def _judged(layer: LabelModel, outer: str, judged: Mapping[str, bool]) -> Iterator[Increment]:
    """How often anything was looked for, and what each that was ever right gave."""
    known = layer.row(WAYS, outer)
    kept = {text: right for text, right in judged.items() if right or text in known}
    for text, right in {EVER: True, **kept}.items():
        yield from layer.note(WAYS, outer, text, int(right))


# How likely a prediction is to be used, by how sure it looked and by what became of such ones.
#
# The weights were fitted on sessions of one seed, by logistic regression over what shadow records
# would have said, some of it of work that nobody had done before; what is quoted is measured on
# another seed (decision 0117).

SURE: Final = 0.42
"""That a prediction must reach to be acted on."""
SURE_WISHED: Final = 0.32
"""The same where the caller's words have named what is called for."""
_LEAST: Final = 0.01


class Evidence(NamedTuple):
    raw: float
    """At first sight: of its form, times of each argument."""
    beside: float
    """Of all that was predicted together with it, and of itself."""
    made: tuple[int, int]
    """Of the same form with the same derivations: how often predicted, how often used."""
    edge: tuple[int, int]
    """The same of its edge, as sure as it is."""
    known: float
    """Of the signs that are seen, the share under which its form was ever called."""


def calibrated(it: Evidence) -> float:
    odds = (
        -0.98
        + 0.40 * _odds(it.raw)
        - 0.91 * it.beside
        + 0.59 * _odds(_share(it.made))
        + 0.09 * log1p(it.made[0])
        + 0.60 * _odds(_share(it.edge))
        - 0.02 * log1p(it.edge[0])
        + 1.83 * it.known
    )
    return 1 / (1 + exp(-odds))


def _share(count: tuple[int, int]) -> float:
    tried, hit = count
    return (hit + 1) / (tried + 3)


def _odds(share: float) -> float:
    share = min(1 - _LEAST, max(_LEAST, share))
    return log(share / (1 - share))


# How well somebody's next calls were foretold of late: an edge that others have proved may lead
# nowhere in the work of one who does something else.

LATEST: Final = 20
ENOUGH: Final = 10
LEAST: Final = 0.35
"""Of the latest, that must have been asked for."""
_PATIENCE: Final = 4
"""Calls within which it must be asked for."""
_TASKS: Final = 64


@dataclass(slots=True)
class _Open:
    call: bytes
    left: int = _PATIENCE


@dataclass(slots=True)
class Trust:
    """Of one principal. Only what may be made counts, whether or not it is then made: so it comes
    back when what is foretold comes true again."""

    _latest: deque[bool] = field(default_factory=lambda: deque(maxlen=LATEST))
    _open: OrderedDict[Hashable, list[_Open]] = field(default_factory=OrderedDict)

    @property
    def good(self) -> bool:
        right = sum(self._latest)
        return len(self._latest) >= ENOUGH and right >= LEAST * len(self._latest)

    def note_predictions(self, task: Hashable, calls: Iterable[bytes]) -> None:
        """In this task, these, by their keys."""
        known = {each.call for each in self._open.get(task, ())}
        anew = [_Open(call) for call in calls if call not in known]
        if anew:
            self._open.setdefault(task, []).extend(anew)
            self._open.move_to_end(task)
        while len(self._open) > _TASKS:
            self.ended(next(iter(self._open)))

    def saw(self, task: Hashable, call: bytes, *, reads: bool) -> None:
        """This was called in it. What a change has overtaken can come true no more."""
        still = []
        for each in self._open.pop(task, ()):
            each.left -= 1
            if each.call == call:
                self._latest.append(True)
            elif each.left and reads:
                still.append(each)
            else:
                self._latest.append(False)
        if still:
            self._open[task] = still

    def ended(self, task: Hashable) -> None:
        """Nothing more will come in it."""
        self._latest.extend(False for _ in self._open.pop(task, ()))


LEAST_TRIED: Final = 20
GATE: Final = 0.1
"""That the lower bound of an edge must reach, over all that was predicted along it, however unsure.
How sure a single prediction must be is `calibration.SURE`."""
BANDS: Final = 5
_SURE: Final = 1.0
"""Standard deviations."""


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    edge: EdgeKey
    tried: int
    hit: int

    @property
    def bound(self) -> float:
        return lower_bound(self.hit, self.tried)

    @property
    def live(self) -> bool:
        return self.tried >= LEAST_TRIED and self.bound >= GATE


def lower_bound(hit: int, tried: int) -> float:
    """Wilson's: of a share that was seen, the least that it is likely to be."""
    if not tried:
        return 0.0
    share, square = hit / tried, _SURE * _SURE
    middle = share + square / (2 * tried)
    width = _SURE * sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    return max(0.0, (middle - width) / (1 + square / tried))


def band_of(raw: float) -> int:
    return min(BANDS - 1, int(raw * BANDS))


def in_band(layers: Sequence[LabelModel], edge: EdgeKey) -> EdgeRecord:
    """As sure as it is now."""
    rows = [layer.row(RECORD, str(edge)).get("", (0, 0)) for layer in layers]
    return EdgeRecord(edge, sum(tried for tried, _ in rows), sum(hit for _, hit in rows))


def record_of(layers: Sequence[LabelModel], edge: EdgeKey) -> EdgeRecord:
    """However sure it was."""
    bands = [in_band(layers, replace(edge, band=band)) for band in range(BANDS)]
    return EdgeRecord(edge, sum(it.tried for it in bands), sum(it.hit for it in bands))


_LEAST_FORM: Final = 0.05
_LEAST_WAY: Final = 0.1
_FORMS: Final = 6
_VALUES: Final = 3
_TOGETHER: Final = 12
_WEIGHED: Final = 3
"""Guesses of one moment that are weighed against each other."""


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


class Prediction(NamedTuple):
    """A prediction, and what its outcome is noted under."""

    predicted: Predicted
    key: bytes
    made: str


def foretell(
    layers: Sequence[LabelModel],
    view: View,
    at: Stand,
    among: Callable[[ToolPlace], bool],
    known: AbstractSet[bytes],
) -> Sequence[Prediction]:
    """The surest first; none whose key is `known` already."""
    guesses = list(islice(_new(_guesses(layers, view, at, among), known), _WEIGHED))
    beside = sum(guess.raw for _, guess in guesses)
    found = [
        Prediction(_predicted(layers, view, at, guess, beside), key, guess.made)
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
    layers: Sequence[LabelModel], view: View, at: Stand, guess: Guess, beside: float
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
    layers: Sequence[LabelModel], view: View, at: Stand, among: Callable[[ToolPlace], bool]
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
    layers: Sequence[LabelModel], view: View, at: Stand, form: CallForm, share: float
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


def _values(layers: Sequence[LabelModel], view: View, outers: Sequence[str]) -> Sequence[Value]:
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


_LESSONS: Final = 2
"""That one task gives about one edge in half an hour: one that is made to go in circles teaches
no more than any other."""
_MOST_TAUGHT: Final = 512
_SAID: Final = 8


@dataclass(slots=True)
class _CourseOpen:
    foretold: Prediction
    left: int = _PATIENCE

    @property
    def key(self) -> bytes:
        return self.foretold.key


@dataclass(slots=True)
class ContextHistory:
    window: RecentCalls = field(default_factory=RecentCalls)
    _open: list[_CourseOpen] = field(default_factory=list)
    _taught: dict[str, list[datetime]] = field(default_factory=dict)
    _said: list[str] = field(default_factory=list)
    """Since the last call."""
    _seen: tuple[View, Stand] | None = None

    def saw(self, call: ObservedCall, layer: LabelModel) -> Sequence[Increment]:
        """What it teaches, which `layer` has been taught already: that of the task's label once
        the call was made."""
        noted: list[Increment] = []
        if self.window.over(call.ended):
            noted += self._begin_anew(layer, call.ended)
        view, at = self._view()
        noted += self._scored(layer, call)
        if (
            call.key
            and learnable(call.form)
            and self._teaches(f"{at.far}\t{call.form}", call.ended)
        ):
            noted += learn(layer, view, at, call)
        self._move(self.window.then(call))
        self._said.clear()
        return noted

    def told(self, text: str) -> None:
        """The caller's words."""
        self._said = [*self._said, text][-_SAID:]
        self._move(self.window.told(text))

    def ahead(
        self, layers: Sequence[LabelModel], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]:
        """Likeliest first. They stay open until they are used, or cannot be any more. What was not
        sure enough may be foretold again, surer."""
        view, at = self._view()
        if not self.window.calls and not self.window.words:
            return []
        made = {it.key for it in self._open if it.foretold.predicted.live}
        known = self._known() | made
        found = foretell(layers, view, at, among, known)[:most]
        self._hold(found)
        return [it.predicted for it in found]

    def _hold(self, found: Sequence[Prediction]) -> None:
        """What is foretold once more from the same place is open once."""
        anew = {(it.key, it.predicted.edge.way) for it in found}
        kept = [it for it in self._open if (it.key, it.foretold.predicted.edge.way) not in anew]
        self._open = [*kept, *map(_CourseOpen, found)]

    def end(self, layer: LabelModel) -> Sequence[Increment]:
        """Nothing more will come: what is open was wrong."""
        if not self.window.calls:
            return []
        at, now = self._view()[1], self.window.calls[-1].ended
        noted = [it for held in self._open for it in self._outcome(layer, held, now, hit=0)]
        if self._teaches(f"{at.far}\t{END}", now):
            noted += follow(layer, at, END)
        self._open.clear()
        self._move(RecentCalls())
        return noted

    def _begin_anew(self, layer: LabelModel, now: datetime) -> Sequence[Increment]:
        noted = self.end(layer)
        for key in [key for key, times in self._taught.items() if now - times[-1] > LONGEST]:
            del self._taught[key]
        for text in self._said:
            self._move(self.window.told(text))
        return noted

    def _view(self) -> tuple[View, Stand]:
        if self._seen is None:
            self._seen = (View(self.window), stand(self.window))
        return self._seen

    def _move(self, window: RecentCalls) -> None:
        if window is not self.window:
            self.window, self._seen = window, None

    def _known(self) -> set[bytes]:
        """What was called, with nothing changed since."""
        known = set[bytes]()
        for call in self.window.calls:
            known = known | {call.key} if call.reads and not call.failed else set()
        return known

    def _scored(self, layer: LabelModel, call: ObservedCall) -> Iterator[Increment]:
        """Used, if it is what was called. After a change, or too late, it cannot be used."""
        still: list[_CourseOpen] = []
        key = call.key
        for held in self._open:
            held.left -= 1
            if held.key == key:
                yield from self._outcome(layer, held, call.ended, hit=1)
            elif held.left and call.reads:
                still.append(held)
            else:
                yield from self._outcome(layer, held, call.ended, hit=0)
        self._open = still

    def _outcome(
        self, layer: LabelModel, held: _CourseOpen, now: datetime, *, hit: int
    ) -> Iterator[Increment]:
        predicted = held.foretold.predicted
        if self._teaches(str(predicted.edge.way), now):  # however sure it was
            yield from layer.note(RECORD, str(predicted.edge), "", hit)
            yield from layer.note(MADE, str(predicted.form), held.foretold.made, hit)

    def _teaches(self, about: str, now: datetime) -> bool:
        times = [at for at in self._taught.pop(about, ()) if now - at <= LONGEST]
        teaches = len(times) < _LESSONS
        self._taught[about] = [*times, now] if teaches else times
        while len(self._taught) > _MOST_TAUGHT:
            del self._taught[next(iter(self._taught))]
        return teaches
