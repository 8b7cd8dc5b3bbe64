"""Weights of votes, learned from the record of each debater."""

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from math import exp, inf, log, sqrt
from typing import Final

from portico.debate.core.canonical_answers import canonical
from portico.debate.core.debates import (
    Ballot,
    Debate,
    DebaterAnswer,
    KnownOutcome,
    Note,
    NoteKind,
    Outcome,
    WholeDebate,
)
from portico.debate.core.questions import Question, QuestionKind

# Weights from what is known: three small fits, each the same on every run.
#
# `stretches`: a conditional logit of votes, never below nothing, ridged to what it starts from
# (McFadden 1974; the ridge as a prior, Hoerl and Kennard 1970). `choose_between`: the same over
# many sparse signs, by AdaGrad (Duchi, Hazan and Singer 2011). `least_squares`: ridge regression.

Signs = Mapping[str, float]

RIDGE: Final = 2.0
_STEPS: Final = 10
_FARTHEST: Final = 0.5
_STILL: Final = 1e-4
_STEP: Final = 0.3
_SHRINK: Final = 3e-3
_SHRINK_ALL: Final = 20.0
"""Of all cases together: the fewer there are, the less each sign may count."""
_FIRST: Final = 1e-2


@dataclass(frozen=True, slots=True)
class Ballots:
    """Of one debate: what each option got of whom, at the weights that one starts from."""

    options: tuple[Signs, ...]
    """Weights by voice."""
    unsaid: int
    """How many options nobody named."""
    right: int | None
    """None: one of those."""
    much: float = 1.0


def probabilities(scores: Sequence[float]) -> Sequence[float]:
    highest = max(scores)
    lifted = [exp(each - highest) for each in scores]
    total = sum(lifted)
    return [each / total for each in lifted]


def stretches(voices: Sequence[str], ballots: Sequence[Ballots], ridge: float = RIDGE) -> Signs:
    """By what to multiply the weight of each voice: 1 where nothing tells otherwise. By Newton's
    steps, of all voices at once: those with the same past get the same."""
    found = dict.fromkeys(voices, 1.0)
    held = {each: ridge * _mean_weight(each, ballots) ** 2 + _STILL for each in voices}
    for _ in range(_STEPS):
        slopes, bends = _slopes(voices, ballots, found)
        table = [
            [bends[one][other] + (held[one] if one == other else 0.0) for other in voices]
            for one in voices
        ]
        right = [slopes[each] - held[each] * (found[each] - 1.0) for each in voices]
        moved = 0.0
        for voice, step in zip(voices, solved(table, right), strict=True):
            then = max(0.0, found[voice] + max(-_FARTHEST, min(_FARTHEST, step)))
            moved = max(moved, abs(then - found[voice]))
            found[voice] = then
        if moved < _STILL:
            break
    return found


def _mean_weight(voice: str, ballots: Sequence[Ballots]) -> float:
    seen = [
        option[voice] for each in ballots for option in each.options if option.get(voice, 0.0) > 0
    ]
    return sum(seen) / len(seen) if seen else 0.0


def _slopes(
    voices: Sequence[str], ballots: Sequence[Ballots], at: Signs
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Of the likelihood, and how it bends: what each gave the right answer, beyond what it was
    expected to."""
    slopes = dict.fromkeys(voices, 0.0)
    bends = {each: dict.fromkeys(voices, 0.0) for each in voices}
    for each in ballots:
        scores = [score(at, option) for option in each.options]
        chances = probabilities([*scores, *([0.0] * each.unsaid)])
        mine = [
            (name, place, much)
            for place, option in enumerate(each.options)
            for name, much in option.items()
        ]
        for name, place, much in mine:
            slopes[name] += each.much * much * ((place == each.right) - chances[place])
            for other, there, more in mine:
                both = (chances[place] if place == there else 0.0) - chances[place] * chances[there]
                bends[name][other] += each.much * much * more * both
    return slopes, bends


@dataclass(frozen=True, slots=True)
class Case:
    """Some options with their signs, and which was right."""

    options: tuple[Signs, ...]
    right: int


def score(weights: Signs, signs: Signs) -> float:
    return sum(weights.get(name, 0.0) * much for name, much in signs.items())


def choose_between(cases: Sequence[Case], rounds: int) -> Signs:
    """What each sign counts."""
    weights: dict[str, float] = defaultdict(float)
    seen: dict[str, float] = defaultdict(lambda: _FIRST)
    shrink = max(_SHRINK, _SHRINK_ALL / max(len(cases), 1))
    for _ in range(rounds):
        for case in cases:
            chances = probabilities([score(weights, each) for each in case.options])
            for at, (chance, signs) in enumerate(zip(chances, case.options, strict=True)):
                _learn(weights, seen, signs, chance - (at == case.right), shrink)
    return dict(weights)


def _learn(
    weights: dict[str, float], seen: dict[str, float], signs: Signs, off: float, shrink: float
) -> None:
    for name, much in signs.items():
        slope = off * much + shrink * weights[name]
        seen[name] += slope * slope
        weights[name] -= _STEP * slope / sqrt(seen[name])


def least_squares(rows: Sequence[tuple[Signs, float]], ridge: float) -> Signs:
    """What each sign adds, shrunk to nothing."""
    places: dict[str, int] = {}
    for signs, _ in rows:
        for name in signs:
            places.setdefault(name, len(places))
    size = len(places)
    table = [[ridge if at == column else 0.0 for column in range(size)] for at in range(size)]
    right = [0.0] * size
    for signs, aim in rows:
        there = [(places[name], much) for name, much in signs.items()]
        for at, much in there:
            right[at] += much * aim
            line = table[at]
            for column, other in there:
                line[column] += much * other
    return dict(zip(places, solved(table, right), strict=True))


def solved(table: list[list[float]], right: list[float]) -> Sequence[float]:
    """By Gauss, without looking for pivots: a ridge makes every one of them positive."""
    size = len(right)
    for at in range(size):
        for below in range(at + 1, size):
            share = table[below][at] / table[at][at]
            if share:
                upper, lower = table[at], table[below]
                for column in range(at, size):
                    lower[column] -= share * upper[column]
                right[below] -= share * right[at]
    found = [0.0] * size
    for at in reversed(range(size)):
        rest = sum(table[at][column] * found[column] for column in range(at + 1, size))
        found[at] = (right[at] - rest) / table[at][at]
    return found


USUAL: Final = 0.7
"""Of a voice that nothing is known of."""
SHRINK: Final = 60.0
"""As many outcomes as what is usual counts for: of everybody, of a topic, and of a voice."""
SHRINK_BOTH: Final = 40.0
"""The same of a voice on a topic. Each step is shrunk to the one before it and sees only what that
one left to tell, so that one outcome counts for as much as about 1 in 14 in all, and a few dozen
for most of it."""
HALF_LIFE: Final = 200
"""Outcomes after which an older one counts half."""


@dataclass(frozen=True, slots=True)
class Tally:
    right: float = 0.0
    asked: float = 0.0

    def plus(self, right: bool, much: float) -> "Tally":
        return Tally(self.right + (much if right else 0.0), self.asked + much)

    def towards(self, usual: float, strength: float = SHRINK) -> float:
        """(right + strength · usual) / (asked + strength)."""
        return (self.right + strength * usual) / (self.asked + strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    usual: float = USUAL
    """Of everybody, on anything."""
    topics: Mapping[str, float] = field(default_factory=dict)
    """How often everybody is right there."""
    leads: Mapping[str, float] = field(default_factory=dict)
    """How much oftener each voice is right than others on the same topics."""
    debaters: Mapping[str, Tally] = field(default_factory=dict)
    both: Mapping[tuple[str, str], Tally] = field(default_factory=dict)
    """By voice and topic."""

    def rate(self, voice: str, topic: str) -> float:
        """Of the voice on the topic: what it has to show there, shrunk to how all do there and to
        how it does elsewhere."""
        here = self.topics.get(topic, self.usual) + self.leads.get(voice, 0.0)
        shifted = min(max(here, 0.0), 1.0)
        return self.both.get((voice, topic), Tally()).towards(shifted, SHRINK_BOTH)


def ages(known: Sequence[KnownOutcome]) -> Sequence[float]:
    """What each still counts, the newest last: half after so many newer ones."""
    newest = len(known) - 1
    return [0.5 ** ((newest - at) / HALF_LIFE) for at in range(len(known))]


def first_answers(known: KnownOutcome) -> Iterable[Ballot]:
    """A record is of what a voice says by itself."""
    return (each for each in known.ballots if each.round == 1)


def records_of(known: Sequence[KnownOutcome]) -> Records:
    """Oldest first. However many voices took part, one outcome tells of everybody and of a topic
    once: they err together."""
    everyone = Tally()
    topics: dict[str, Tally] = defaultdict(Tally)
    voices: dict[str, Tally] = defaultdict(Tally)
    both: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for one, much in zip(known, ages(known), strict=True):
        ballots = list(first_answers(one))
        for ballot in ballots:
            right, part = ballot.key == one.right, much / len(ballots)
            everyone = everyone.plus(right, part)
            topics[one.topic] = topics[one.topic].plus(right, part)
            voices[ballot.voice] = voices[ballot.voice].plus(right, much)
            at = (ballot.voice, one.topic)
            both[at] = both[at].plus(right, much)
    usual = everyone.towards(USUAL)
    there = {topic: each.towards(usual) for topic, each in topics.items()}
    return Records(
        usual=usual, topics=there, leads=_leads(there, voices, both), debaters=voices, both=both
    )


def _leads(
    topics: Mapping[str, float],
    voices: Mapping[str, Tally],
    both: Mapping[tuple[str, str], Tally],
) -> Mapping[str, float]:
    beyond: dict[str, float] = defaultdict(float)
    for (voice, topic), each in both.items():
        beyond[voice] += each.right - each.asked * topics[topic]
    return {voice: beyond[voice] / (each.asked + SHRINK) for voice, each in voices.items()}


# What a vote weighs, from how often its voice is right.
#
# Sources: Nitzan and Paroush 1982 (log-odds are the best weights of independent voters); arXiv
# 2510.01499 (the same among K options).

_SUREST: Final = 0.98
_ABOVE_CHANCE: Final = 0.01
_FREE: Final = 4
"""Of a question without choices: so many answers at least are taken to be plausible."""


def among(choices: int | None, distinct: int) -> int:
    """K: how many answers there could have been."""
    return max(_FREE, distinct + 1) if choices is None else max(choices, distinct, 2)


def log_odds(q: float, k: int) -> float:
    """log(q (K-1) / (1-q)): never below nothing, as who is worse than chance is not believed the
    contrary of what it says."""
    held = min(max(q, 1 / k + _ABOVE_CHANCE), _SUREST)
    return log(held * (k - 1) / (1 - held))


def rightness(weight: float, k: int) -> float:
    """How often a voice is right whose vote weighs this."""
    return exp(weight) / (exp(weight) + k - 1)


# What a voice's own confidence is worth: how often it was right when it was about as sure.
#
# A confidence moves a vote by a tenth at most. So f liars that are as sure as can be never outweigh
# f+1 honest voices with the same record, for any team of nine.

BANDS: Final = (0.5, 0.7, 0.8, 0.9, 0.97)
CONFIDENCE_SHRINKAGE: Final = 20.0
MOST: Final = 0.1


def band_of(confidence: float) -> int:
    return bisect_right(BANDS, confidence)


@dataclass(frozen=True, slots=True)
class Calibration:
    bands: Mapping[tuple[str, int], Tally] = field(default_factory=dict)
    """By voice and band."""

    def rate(self, voice: str, confidence: float | None, usual: float) -> float:
        """q = (hits + λ p) / (n + λ); p itself where it did not say how sure it is."""
        if confidence is None:
            return usual
        seen = self.bands.get((voice, band_of(confidence)), Tally())
        return seen.towards(usual, CONFIDENCE_SHRINKAGE)

    def stretch(self, voice: str, confidence: float | None, usual: float, k: int) -> float:
        """By how much its vote weighs more or less for how sure it is: 0.9 to 1.1."""
        plain = log_odds(usual, k)
        sure = log_odds(self.rate(voice, confidence, usual), k)
        return min(max(sure / plain, 1 - MOST), 1 + MOST)


def calibration_of(known: Sequence[KnownOutcome]) -> Calibration:
    bands: dict[tuple[str, int], Tally] = defaultdict(Tally)
    for one, much in zip(known, ages(known), strict=True):
        for ballot in first_answers(one):
            if ballot.confidence is not None:
                at = (ballot.voice, band_of(ballot.confidence))
                bands[at] = bands[at].plus(ballot.key == one.right, much)
    return Calibration(bands)


@dataclass(frozen=True, slots=True)
class Posterior:
    likely: Mapping[str, float]
    """By key; likeliest first, and of equals the one that was given first."""
    other: float
    """Of all that nobody said."""

    @property
    def top(self) -> str | None:
        return next(iter(self.likely), None)

    @property
    def sureness(self) -> float:
        """Of the likeliest."""
        return next(iter(self.likely.values()), 0.0)

    @property
    def runner_up(self) -> float:
        return [*self.likely.values(), 0.0, 0.0][1]


def softmax(scores: Mapping[str, float], other: float) -> Posterior:
    """P(k) = exp S(k) / (Σ exp S + exp S(other)); `other` may be -inf."""
    highest = max([*scores.values(), other], default=0.0)
    if highest == -inf:
        return Posterior({}, 1.0)
    lifted = {key: exp(score - highest) for key, score in scores.items()}
    rest = exp(other - highest)
    total = sum(lifted.values()) + rest
    ordered = sorted(lifted, key=lambda key: -lifted[key])
    return Posterior({key: lifted[key] / total for key in ordered}, rest / total)


def unsaid(k: int, distinct: int) -> float:
    """What the answers weigh together that could have been given and were not."""
    return log(k - distinct) if k > distinct else -inf


# How many voters that know nothing of each other would weigh as much: those that err together count
# for fewer.
#
# n_eff = n / (1 + (n-1) r), with r the mean correlation of the errors of two (Kish's design
# effect).

SAME_FAMILY: Final = 0.6
ACROSS: Final = 0.4
"""Fitted to the answers of 71 models (HELM); what is learnt of two voices is shrunk to it."""
CORRELATION_SHRINKAGE: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Both:
    """Two voices that answered the same questions."""

    times: int = 0
    one: int = 0
    other: int = 0
    both: int = 0
    """Errors."""

    @property
    def correlation(self) -> float:
        one, other = self.one / self.times, self.other / self.times
        spread = sqrt(one * (1 - one) * other * (1 - other))
        return (self.both / self.times - one * other) / spread if spread else 0.0


@dataclass(frozen=True, slots=True)
class Kinship:
    """How much voices err together."""

    learned: Mapping[tuple[str, str], _Both] = field(default_factory=dict)

    def of(self, one: tuple[str, str], other: tuple[str, str]) -> float:
        """Each a target and its family."""
        usual = SAME_FAMILY if one[1] == other[1] else ACROSS
        seen = self.learned.get((min(one[0], other[0]), max(one[0], other[0])))
        if seen is None:
            return usual
        found = (seen.times * seen.correlation + CORRELATION_SHRINKAGE * usual) / (
            seen.times + CORRELATION_SHRINKAGE
        )
        return min(max(found, 0.0), 1.0)


def kinship_of(known: Iterable[KnownOutcome]) -> Kinship:
    seen: dict[tuple[str, str], _Both] = defaultdict(_Both)
    for each in known:
        wrong = {one.voice: one.key != each.right for one in first_answers(each)}
        for one, other in combinations(sorted(wrong), 2):
            was = seen[one, other]
            seen[one, other] = _Both(
                was.times + 1,
                was.one + wrong[one],
                was.other + wrong[other],
                was.both + (wrong[one] and wrong[other]),
            )
    return Kinship(seen)


def effective(voters: Sequence[tuple[str, str]], kinship: Kinship) -> float:
    """n_eff of these targets and families."""
    n = len(voters)
    pairs = list(combinations(voters, 2))
    if not pairs:
        return float(n)
    mean = sum(kinship.of(one, other) for one, other in pairs) / len(pairs)
    return n / (1 + (n - 1) * mean)


class Rule(StrEnum):
    COLD = "cold"
    """Log-odds of how often each is right."""
    FITTED = "fitted"
    """Those, each stretched as past debates ask for: voices that err together get less."""
    BEST_SINGLE = "best_single"
    """Whoever has the best record decides."""
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    rule: Rule = Rule.COLD
    rates: Mapping[str, float]
    """How often each target is right on this topic."""
    stretches: Mapping[str, float] = field(default_factory=dict)
    """Of the fitted rule."""
    calibration: Calibration = field(default_factory=Calibration)
    kinship: Kinship = field(default_factory=Kinship)
    sharpness: float = 1.0
    """How much surer than it says itself it may be, as past decisions bear out."""

    def weight(self, target: str, k: int) -> float:
        """Of a vote that does not say how sure it is."""
        rate = self.rates[target]
        match self.rule:
            case Rule.COLD:
                return log_odds(rate, k)
            case Rule.FITTED:
                return log_odds(rate, k) * self.stretches.get(target, self._usual_stretch)
            case Rule.BEST_SINGLE:
                return log_odds(rate, k) if target == best(self.rates) else 0.0
            case _:
                return log_odds(sum(self.rates.values()) / len(self.rates), k)

    def plain(self, target: str, k: int) -> float:
        """What a voice weighs by its record alone, whatever rule decides: of a quorum."""
        return log_odds(self.rates[target], k)

    def of(self, answered: Collection[str]) -> "Scales":
        """Where the best voice alone decides, it is the best of those who answered."""
        if self.rule is not Rule.BEST_SINGLE or not answered:
            return self
        return replace(self, rates={each: self.rates[each] for each in sorted(set(answered))})

    def vote(self, target: str, confidence: float | None, k: int) -> float:
        stretch = self.calibration.stretch(target, confidence, self.rates[target], k)
        return self.weight(target, k) * stretch

    def discount(self, voters: Sequence[tuple[str, str]]) -> float:
        """n_eff / n: what each of these counts, as they err together. The fitted rule knows that
        already, and one voice alone errs with nobody."""
        if self.rule in (Rule.FITTED, Rule.BEST_SINGLE) or not voters:
            return 1.0
        return effective(voters, self.kinship) / len(voters)

    @property
    def _usual_stretch(self) -> float:
        """Of a voice that joined since."""
        return sum(self.stretches.values()) / max(len(self.stretches), 1)


def best(rates: Mapping[str, float]) -> str:
    """Of equals the first by name, the same each time."""
    return min(rates, key=lambda each: (-rates[each], each))


def scales_of(records: Records, targets: Sequence[str], topic: str) -> Scales:
    """Before anything is fitted."""
    return Scales(rates={each: records.rate(each, topic) for each in targets})


@dataclass(frozen=True, slots=True)
class Vote:
    voice: str
    key: str
    confidence: float | None
    share: float = 1.0
    """Of the voice's one vote: half of it stays with its first answer if it changed its mind."""


def pooled(said: Sequence[DebaterAnswer]) -> Sequence[Vote]:
    """In the order of first answers. Who changes without naming an error has not changed."""
    later = {each.voice: each for each in said if each.round > 1}
    votes: list[Vote] = []
    for each in said:
        if each.round > 1:
            continue
        then = later.get(each.voice)
        if then is None or then.key == each.key or not (then.changed_because or "").strip():
            votes.append(Vote(each.voice, each.key, each.confidence))
        else:
            votes.append(Vote(each.voice, each.key, each.confidence, 0.5))
            votes.append(Vote(each.voice, then.key, then.confidence, 0.5))
    return votes


# Which way of weighing to trust: each is tried on past debates that it has not seen, and the one
# that decides most of them right is used. So a team is not much worse than its best voice alone
# (cross-validation in five parts, Stone 1974).

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


def shared(known: Sequence[KnownOutcome], targets: Sequence[str]) -> Sequence[KnownOutcome]:
    """The newest that at least two of these took part in."""
    among_us = frozenset(targets)
    found = [
        each for each in known if len({one.voice for one in first_answers(each)} & among_us) > 1
    ]
    return found[-NEWEST:]


def trusted(known: Sequence[KnownOutcome], targets: Sequence[str]) -> Verdict | None:
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
    rates = sorted(records.debaters.get(each, Tally()).towards(0.5) for each in set(targets))
    return rates[-1] - rates[-2] >= _LEAD


def fit(
    known: Sequence[KnownOutcome], targets: Sequence[str], records: Records
) -> Mapping[str, float]:
    among_us = frozenset(targets)
    ballots = [
        _ballots(each, among_us, records, much)
        for each, much in zip(known, ages(known), strict=True)
    ]
    return stretches(sorted(among_us), ballots)


def _ballots(
    known: KnownOutcome, targets: frozenset[str], records: Records, much: float
) -> Ballots:
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
    known: KnownOutcome, targets: Sequence[str], records: Records, fitted: Mapping[str, float]
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


# Which answers are counted as one: those whose keys are equal, and those that were found to mean
# the same.

SURELY: Final = 0.95
"""How near two texts are that are taken as one without asking anybody."""
HARDLY: Final = 0.60
"""And below which they are taken as two."""
_NUMBERS: Final = re.compile(r"\d+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_AROUND: Final = "\"'`*_“”‘’«»"  # noqa: RUF001 # quotes of typographers
_AFTER: Final = _AROUND + ".,:;!?…"
_NOT: Final = frozenset({"not", "no", "never", "none", "without", "isn", "doesn", "t", "cannot"})


def pair_name(one: str, other: str, seed: int) -> str:
    """The same in either order. Nobody who does not know the seed finds out by it what it is
    about: it names steps, which more people see than the debate."""
    both = "\x00".join([str(seed), *sorted((one, other))])
    return hashlib.sha256(both.encode("utf-8", "replace")).hexdigest()[:24]


def matched(
    debate: Debate, said: Sequence[DebaterAnswer], notes: Sequence[Note]
) -> tuple[DebaterAnswer, ...]:
    """As they are counted: equal texts of an open question are one answer, before any judge looks
    at them, and go by the first of their voices."""
    return merged(said if debate.question.kind.closed else _by_text(debate, said), notes)


def _by_text(debate: Debate, said: Sequence[DebaterAnswer]) -> Sequence[DebaterAnswer]:
    order = {voice.name: place for place, voice in enumerate(debate.debaters)}
    first: dict[str, DebaterAnswer] = {}
    for each in sorted(said, key=lambda each: order.get(each.voice, len(order))):
        first.setdefault(plain_text(each.answer), each)
    return [replace(each, key=first[plain_text(each.answer)].key) for each in said]


def plain_text(text: str) -> str:
    """For comparing whole texts: without case, and without spaces and punctuation between words.
    Signs inside of words stay: they may be what it says."""
    words = unicodedata.normalize("NFKC", text).casefold().split()
    return " ".join(word.lstrip(_AROUND).rstrip(_AFTER) or word for word in words)


def merged(said: Sequence[DebaterAnswer], notes: Sequence[Note]) -> tuple[DebaterAnswer, ...]:
    """With one key for all that mean the same, and what the first of them is shown as."""
    heads = _heads(notes)
    shown: dict[str, str] = {}
    for each in said:
        shown.setdefault(_head(heads, each.key), each.shown)
    return tuple(
        replace(each, key=_head(heads, each.key), shown=shown[_head(heads, each.key)])
        for each in said
    )


def nearness(one: str, other: str, near: float) -> bool | None:
    """Whether they mean the same, by how near they are; None where only a judge could say. Texts
    with other numbers in them, or of which one says no, are near and mean something else."""
    if near < HARDLY:
        return False
    if near < SURELY or _telling(one) != _telling(other):
        return None
    return True


def _telling(text: str) -> tuple[Counter[str], int]:
    words = Counter(_WORDS.findall(text.casefold()))
    return Counter(_NUMBERS.findall(text)), sum(words[word] for word in _NOT)


def _heads(notes: Sequence[Note]) -> dict[str, str]:
    heads: dict[str, str] = {}
    for note in notes:
        if note.kind is NoteKind.SAME and note.body.get("same") is True:
            one, other = (_head(heads, str(note.body[side])) for side in ("one", "other"))
            if one != other:
                heads[max(one, other)] = min(one, other)
    return heads


def _head(heads: dict[str, str], key: str) -> str:
    while key in heads:
        key = heads[key]
    return key


def known_of(whole: WholeDebate, outcome: Outcome) -> KnownOutcome:
    """Each answer under the name of its voice's record, in the order in which they came."""
    targets = {voice.name: voice.target for voice in whole.debate.debaters}
    every = [
        DebaterAnswer.from_json(note.body) for note in whole.notes if note.kind is NoteKind.SAID
    ]
    said = matched(whole.debate, every, whole.notes)
    question, right = whole.debate.question, _right(whole, outcome)
    if right is None and not outcome.decided_right and outcome.right is None:
        # It was wrong, and nobody has said what is right: of the others nothing is known.
        said = tuple(each for each in said if each.key == _decided_key(whole))
    return KnownOutcome(
        topic=question.topic,
        ballots=tuple(
            Ballot(
                voice=targets.get(each.voice, each.voice.rpartition("#")[0] or each.voice),
                key=each.key,
                confidence=each.confidence,
                round=each.round,
            )
            for each in said
        ),
        right=right,
        choices=2 if question.kind is QuestionKind.YES_NO else len(question.choices) or None,
        at=outcome.at,
    )


def _right(whole: WholeDebate, outcome: Outcome) -> str | None:
    """Who says that the decision was right need not say which it was; and who says that it was
    wrong has said what is right where there are only two answers."""
    if outcome.right is not None:
        return outcome.right
    decided = _decided_key(whole)
    if outcome.decided_right or decided is None:
        return decided
    others = [key for key in _answers(whole.debate.question) if key != decided]
    return others[0] if len(others) == 1 else None


def _decided_key(whole: WholeDebate) -> str | None:
    decision = whole.debate.decision
    given = None if decision is None else decision.given_out
    return None if given is None else given.key


def _answers(question: Question) -> Sequence[str]:
    """The keys of all that it can be answered with, where that is known."""
    texts = ("yes", "no") if question.kind is QuestionKind.YES_NO else question.choices
    return [its.key for text in texts if (its := canonical(question, text)) is not None]
