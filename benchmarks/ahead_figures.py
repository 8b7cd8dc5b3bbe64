"""Figures of many sessions, and how sure one can be of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from random import Random
from typing import Final, NamedTuple

from benchmarks.ahead_foretold import Foretold, Replayed
from benchmarks.ahead_sessions import Made, key_of
from benchmarks.ahead_time import Spent
from benchmarks.ahead_truth import TRULY_READS
from portico.kernel.json import JsonObject, JsonValue

_DRAWS: Final = 200
_TENTHS: Final = 10

Figure = Callable[[Sequence[Spent]], float]


def exact_hit_rate(spent: Sequence[Spent]) -> float:
    return _share(sum(each.exact for each in spent), sum(each.tried for each in spent))


def used_rate(spent: Sequence[Spent]) -> float:
    return _share(sum(each.served for each in spent), sum(each.tried for each in spent))


def waste_rate(spent: Sequence[Spent]) -> float:
    """Calls that nobody asked for, a call that somebody did."""
    return _share(sum(each.wasted for each in spent), sum(each.calls for each in spent))


def served_share(spent: Sequence[Spent]) -> float:
    return _share(sum(each.served for each in spent), sum(each.calls for each in spent))


def wall_change(spent: Sequence[Spent]) -> float:
    """-0.1: a tenth less."""
    return _share(sum(each.ahead - each.asked for each in spent), sum(e.asked for e in spent))


def of(spent: Sequence[Spent]) -> JsonObject:
    return {
        "tried": sum(each.tried for each in spent),
        "exact_hit_rate": round(exact_hit_rate(spent), 4),
        "used_rate": round(used_rate(spent), 4),
        "waste_rate": round(waste_rate(spent), 4),
        "served_share": round(served_share(spent), 4),
        "wall_change": round(wall_change(spent), 4),
    }


def interval(spent: Sequence[Spent], figure: Figure) -> JsonValue:
    """Of 95 %, by drawing sessions again."""
    chance = Random(8)  # noqa: S311 # a measure of spread
    drawn = sorted(figure(chance.choices(spent, k=len(spent))) for _ in range(_DRAWS))
    return [round(drawn[int(_DRAWS * at)], 4) for at in (0.025, 0.975)]


def kept_out(spent: Iterable[Spent]) -> JsonObject:
    counted: Counter[str] = sum((each.kept_out for each in spent), Counter())
    return dict(counted.most_common())


def reliability(replayed: Iterable[Replayed]) -> JsonObject:
    """In tenths of what was thought: how many, what was thought of them, and how many could have
    been served; and how far the two are from each other, weighed by how many (ECE)."""
    tenths: dict[int, list[tuple[float, bool]]] = {}
    for sure, came in _outcomes(replayed):
        tenths.setdefault(min(int(sure * _TENTHS), 9), []).append((sure, came))
    curve = [_tenth(tenth, seen) for tenth, seen in sorted(tenths.items())]
    apart = sum(each.times * abs(each.thought - each.came) for each in curve)
    return {
        "ece": round(_share(apart, sum(each.times for each in curve)), 4),
        "curve": [each.told() for each in curve],
    }


def limits(replayed: Iterable[Replayed]) -> JsonObject:
    """Of all calls, the share of each reason for which they could be served or not."""
    counted = Counter(
        _why(place, call, session.foretold)
        for session in replayed
        for place, call in enumerate(session.session.calls)
    )
    return {why: round(times / counted.total(), 4) for why, times in counted.most_common()}


def _why(place: int, call: Made, foretold: Sequence[Sequence[Foretold]]) -> str:
    if call.name not in TRULY_READS:
        return "changes something"
    before = [each for some in foretold[: place + 1] for each in some]
    same = [each for each in before if key_of(each.name, each.wanted.arguments) == call.key]
    if any(each.live for each in same):
        return "foretold"
    if same:
        return "foretold, not surely enough"
    if not place:
        return "the first call"
    if any(each.name == call.name for each in foretold[place]):
        return "its tool foretold, with other arguments"
    return "not foretold"


class _Tenth(NamedTuple):
    begin: float
    times: int
    thought: float
    came: float

    def told(self) -> JsonObject:
        return {
            "from": self.begin,
            "times": self.times,
            "thought": round(self.thought, 3),
            "came": round(self.came, 3),
        }


def _tenth(tenth: int, seen: Sequence[tuple[float, bool]]) -> _Tenth:
    thought, came = (sum(each) / len(seen) for each in zip(*seen, strict=True))
    return _Tenth(tenth / _TENTHS, len(seen), thought, came)


def _outcomes(replayed: Iterable[Replayed]) -> Iterator[tuple[float, bool]]:
    for session in replayed:
        for place, foretold in enumerate(session.foretold):
            later = _until_a_write(session.session.calls[place:])
            for each in foretold:
                yield each.confidence, key_of(each.name, each.wanted.arguments) in later


def _until_a_write(calls: Iterable[Made]) -> AbstractSet[str]:
    return {call.key for call in takewhile(lambda call: call.name in TRULY_READS, calls)}


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
