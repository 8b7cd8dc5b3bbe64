"""Which way of weighing to trust: each is tried on past debates that it has not seen, and the one
that decides most of them right is used. So a team is not much worse than its best voice alone
(cross-validation in five parts, Stone 1974)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.fitting import Ballots, stretches
from portico.debate.core.outcome import Known
from portico.debate.core.reliability import Records, Tally, ages, first_answers, records_of
from portico.debate.core.scales import Rule, Scales, scales_of
from portico.debate.core.weights import among, log_odds

ENOUGH: Final = 20
"""Outcomes that two of the voices took part in, from which on anything is fitted."""
NEWEST: Final = 300
"""Outcomes that are looked at."""
_FOLDS: Final = 5
_LEAD: Final = 0.01
_PREFERRED: Final[Mapping[Rule, float]] = {Rule.FITTED: 0.5, Rule.COLD: 0.25}
"""Of equals, the one that is better calibrated."""


@dataclass(frozen=True, slots=True)
class Verdict:
    rule: Rule
    stretches: Mapping[str, float]
    right: Mapping[Rule, float]
    """How many each decided right, of those that it had not seen."""


def shared(known: Sequence[Known], targets: Sequence[str]) -> Sequence[Known]:
    """The newest that at least two of these took part in."""
    among_us = frozenset(targets)
    found = [
        each for each in known if len({one.voice for one in first_answers(each)} & among_us) > 1
    ]
    return found[-NEWEST:]


def trusted(known: Sequence[Known], targets: Sequence[str]) -> Verdict | None:
    """None while too little is known."""
    seen = shared(known, targets)
    if len(seen) < ENOUGH:
        return None
    right = dict.fromkeys(Rule, 0.0)
    for fold in range(_FOLDS):
        train = [each for at, each in enumerate(seen) if at % _FOLDS != fold]
        test = seen[fold::_FOLDS]
        records = records_of(train)
        fitted = fit(train, targets, records)
        for each in test:
            for rule, decided in _decided(each, targets, records, fitted).items():
                right[rule] += decided
    for rule, bonus in _PREFERRED.items():
        right[rule] += bonus
    records = records_of(seen)
    if not _one_leads(records, targets):
        right[Rule.BEST_SINGLE] = 0.0
    best = max(right, key=lambda rule: right[rule])
    return Verdict(best, fit(seen, targets, records), right)


def _one_leads(records: Records, targets: Sequence[str]) -> bool:
    """Of voices with the same record none is the best."""
    rates = sorted(records.voices.get(each, Tally()).towards(0.5) for each in set(targets))
    return rates[-1] - rates[-2] >= _LEAD


def fit(known: Sequence[Known], targets: Sequence[str], records: Records) -> Mapping[str, float]:
    among_us = frozenset(targets)
    ballots = [
        _ballots(each, among_us, records, much)
        for each, much in zip(known, ages(known), strict=True)
    ]
    return stretches(sorted(among_us), ballots)


def _ballots(known: Known, targets: frozenset[str], records: Records, much: float) -> Ballots:
    votes = [each for each in first_answers(known) if each.voice in targets]
    keys = list(dict.fromkeys(each.key for each in votes))
    k = among(known.choices, len(keys))
    options = tuple(
        {
            each.voice: log_odds(records.rate(each.voice, known.topic), k)
            for each in votes
            if each.key == key
        }
        for key in keys
    )
    right = keys.index(known.right) if known.right in keys else None
    return Ballots(options, k - len(keys), right, much)


def _decided(
    known: Known, targets: Sequence[str], records: Records, fitted: Mapping[str, float]
) -> Mapping[Rule, float]:
    """What each rule would have got for it: a tie that the right answer is in counts in part."""
    plain = scales_of(records, sorted(set(targets)), known.topic)
    votes = [each for each in first_answers(known) if each.voice in plain.rates]
    k = among(known.choices, len({each.key for each in votes}))
    found: dict[Rule, float] = {}
    for rule in Rule:
        scales = Scales(rule=rule, rates=plain.rates, stretches=fitted)
        scores: dict[str, float] = {}
        for each in votes:
            scores[each.key] = scores.get(each.key, 0.0) + scales.weight(each.voice, k)
        most = max(scores.values())
        top = [key for key, score in scores.items() if score >= most - 1e-9]
        found[rule] = (known.right in top) / len(top)
    return found
