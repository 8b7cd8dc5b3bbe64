"""Votes: count, compare, decide."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise
from math import exp, log
from typing import Final

from portico.debate.core.debaters import Debater
from portico.debate.core.debates import DebaterAnswer, Decision, KnownOutcome, Option, Verdict, Why
from portico.debate.core.questions import Preset, Rules
from portico.debate.core.vote_weights import (
    Calibration,
    Case,
    Kinship,
    Posterior,
    Records,
    Rule,
    Scales,
    Signs,
    Vote,
    among,
    calibration_of,
    choose_between,
    effective,
    first_answers,
    kinship_of,
    least_squares,
    pooled,
    probabilities,
    records_of,
    rightness,
    scales_of,
    score,
    softmax,
    trusted,
    unsaid,
)

# What another answer is worth: how much likelier the likeliest answer is expected to become.
#
# By looking ahead: each voice that could be asked says each answer as often as its record and the
# present probabilities tell, up to three voices deep, since one vote alone may change nothing where
# two do.

DEEPEST: Final = 3
_MOST_OPTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Outlook:
    """Exponentials of the scores, the strongest first, and of all that nobody said."""

    lifted: tuple[float, ...]
    other: float
    unsaid: int
    """How many answers that nobody gave share `other`."""

    @property
    def sureness(self) -> float:
        return max(self.lifted, default=0.0) / (sum(self.lifted) + self.other)


def outlook_of(scores: Sequence[float], other: float, unsaid: int) -> Outlook:
    """Of the strongest few: the rest could only win by a landslide."""
    ordered = sorted(scores, reverse=True)
    return Outlook(tuple(exp(each) for each in ordered[:_MOST_OPTIONS]), exp(other), unsaid)


def expected(outlook: Outlook, weights: Sequence[float], k: int) -> float:
    """How likely the likeliest will be after votes that weigh this, on the mean."""
    if not weights:
        return outlook.sureness
    weight, *later = weights
    q = rightness(weight, k)
    stray = (1 - q) / (k - 1)
    total = sum(outlook.lifted) + outlook.other
    found = 0.0
    for at, each in enumerate(outlook.lifted):
        chance = q * each / total + stray * (1 - each / total)
        said = (*outlook.lifted[:at], each * exp(weight), *outlook.lifted[at + 1 :])
        found += chance * expected(Outlook(said, outlook.other, outlook.unsaid), later, k)
    if outlook.unsaid:
        each = outlook.other / outlook.unsaid
        chance = outlook.unsaid * (q * each / total + stray * (1 - each / total))
        said = (*outlook.lifted, each * exp(weight))
        rest = Outlook(said, outlook.other - each, outlook.unsaid - 1)
        found += chance * expected(rest, later, k)
    return found


# The preset for what must not go wrong: enough of the registered weight, more than one family, and
# nobody whose trade it is objects with evidence.

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Backing:
    """Of one answer."""

    share: float
    """Of the weight of all who are registered, asked or not."""
    families: int

    def enough(self, rules: Rules) -> bool:
        return (
            self.share >= rules.quorum_share - _ROUNDING and self.families >= rules.quorum_families
        )


def backing(
    voices: Sequence[Debater], weights: Mapping[str, float], shares: Mapping[str, float]
) -> Backing:
    """`shares`: how much of its vote each voice gives to the answer."""
    registered = sum(weights[each.name] for each in voices)
    given = sum(weights[each.name] * shares.get(each.name, 0.0) for each in voices)
    families = {each.family for each in voices if shares.get(each.name)}
    return Backing(given / registered if registered else 0.0, len(families))


def vetoed(voices: Sequence[Debater], said: Sequence[DebaterAnswer]) -> DebaterAnswer | None:
    """The first objection of a specialist that comes with evidence."""
    specialists = {each.name for each in voices if each.specialist}
    return next(
        (
            each
            for each in said
            if each.voice in specialists and (each.veto or "").strip() and any(each.evidence)
        ),
        None,
    )


def all_specialists(voices: Sequence[Debater], said: Sequence[DebaterAnswer]) -> bool:
    """Whether everybody who may veto was heard."""
    heard = {each.voice for each in said}
    return all(each.name in heard for each in voices if each.specialist)


def could_reach(now: Backing, left: Collection[Debater], weights: Mapping[str, float]) -> Backing:
    """If everybody who is left were for it."""
    registered = sum(weights.values())
    more = sum(weights[each.name] for each in left)
    return Backing(
        now.share + (more / registered if registered else 0.0),
        now.families + len({each.family for each in left}),
    )


# What an answer looks like: right answers are more often short and plain than wrong ones, and how
# much so is learnt from what is known. Read from keys alone, never from words.

_LONGEST: Final = 60
_DIGITS: Final = 6
_SIDES: Final = 5


@lru_cache(maxsize=20_000)
def shape_of(key: str) -> Signs:
    """Signs of one answer by its key: its form, its size, its length."""
    form, _, rest = key.partition(":")
    signs = {"length": min(len(rest), _LONGEST) / 20}
    if form != "n":
        return {**signs, f"form {form}": 1.0}
    if rest.startswith("-"):
        signs["negative"] = 1.0
    value = number_of(key)
    if value is None:
        return {**signs, "form complex" if rest.endswith("i") else "form irrational": 1.0}
    return {**signs, **(_whole(int(value)) if value.denominator == 1 else _broken(value))}


def _whole(value: int) -> Signs:
    size = abs(value)
    signs = {"form whole": 1.0, f"digits {min(len(str(size)), _DIGITS)}": 1.0}
    if size <= 1:
        signs["tiny"] = 1.0
    if size >= 100 and size % 10 == 0:
        signs["round"] = 1.0
    return signs


def _broken(value: Fraction) -> Signs:
    above, below = len(str(abs(value.numerator))), len(str(value.denominator))
    signs = {
        "form fraction": 1.0,
        f"above {min(above, _SIDES)}": 1.0,
        f"below {min(below, _SIDES)}": 1.0,
    }
    if _only_twos_and_fives(value.denominator):
        signs["decimal"] = 1.0
    return signs


def _only_twos_and_fives(value: int) -> bool:
    return pow(10, value.bit_length(), value) == 0


def number_of(key: str) -> Fraction | None:
    """Of a key that is an exact number."""
    form, _, rest = key.partition(":")
    digits = rest.removeprefix("-").replace("/", "", 1)
    return Fraction(rest) if form == "n" and digits.isascii() and digits.isdigit() else None


def kin_of(keys: Sequence[str]) -> Signs:
    """How answers that differ are related: off by one, the other sign, another form."""
    return {_kin(one, other): 1.0 for one, other in combinations(keys, 2)}


@lru_cache(maxsize=50_000)
def _kin(one: str, other: str) -> str:
    if one[0] != other[0]:
        return "kin: other forms"
    if one[0] != "n":
        return f"kin: both {one[0]}"
    first, second = number_of(one), number_of(other)
    if first is None or second is None:
        return "kin: not exact"
    return f"kin: {_related(first, second)}"


def _related(first: Fraction, second: Fraction) -> str:
    if first == -second:
        return "negated"
    if abs(first - second) == 1:
        return "off by one"
    if not first or not second:
        return "one is nothing"
    ratio = abs(first / second)
    if 1 in (ratio.numerator, ratio.denominator):
        return "doubled" if 2 in (ratio.numerator, ratio.denominator) else "multiple"
    apart = abs(log(ratio.numerator) - log(ratio.denominator))
    return f"apart {min(int(2 * apart), 6)}"


# What past debates teach about questions without choices: how likely an answer is that so many gave
# and that looks like this, and what asking on was worth.
#
# Two layers over the votes. The first is a conditional logit of how many voted for an answer, how
# many were asked, and its shape, with an option for "none of them". The second is a regression of
# how much likelier the answer became per further call. Both are read from debates alone that had
# been decided earlier.

ENOUGH: Final = 200
"""Outcomes from which on this is learnt."""
_ROUNDS: Final = 4
_RIDGE: Final = 60.0
_MOST: Final = 5
"""Voices: beyond that it makes no difference how many more."""


@dataclass(frozen=True, slots=True)
class Tallied:
    """How a debate stands: what was said, in votes, and how many were asked."""

    each: tuple[tuple[str, float], ...]
    """By key; a vote of a voice with the usual weight is 1."""
    asked: int
    topic: str

    @property
    def votes(self) -> Mapping[str, float]:
        return dict(self.each)


@dataclass(frozen=True, slots=True, eq=False)
class OpenAnswerModel:
    likely: Signs
    worth: Signs

    def posterior(self, tallied: Tallied) -> Posterior:
        """More votes are never made up for by looks: those are for ties."""
        return _posterior(self, tallied)

    def gain(self, tallied: Tallied) -> float:
        """How much likelier the answer becomes with each further call."""
        return score(self.worth, _state(tallied, self.posterior(tallied)))


@lru_cache(maxsize=4_096)
def _posterior(lesson: OpenAnswerModel, tallied: Tallied) -> Posterior:
    """Remembered: a session asks several things of the same votes."""
    options = _options(tallied)
    chances = probabilities([score(lesson.likely, each) for each in options])
    found = dict(zip(tallied.votes, chances, strict=False))
    return Posterior(_in_order(found, tallied.votes), chances[-1])


_NEARLY: Final = 0.05
"""Of a vote: what is as near is a tie."""


def _in_order(chances: Mapping[str, float], votes: Mapping[str, float]) -> Mapping[str, float]:
    """Where an answer with fewer votes looks likelier than one with more, both get the mean, and
    the one with more votes is first."""
    ordered = sorted(chances, key=lambda key: -chances[key])
    kept = dict(chances)
    if not ordered:
        return kept
    most = max(votes.values())
    leaders = [key for key in ordered if votes[key] >= most - _NEARLY]
    first = leaders[0]
    above = [key for key in ordered if chances[key] > chances[first]]
    if above:
        mean = sum(chances[key] for key in (first, *above)) / (1 + len(above))
        kept.update(dict.fromkeys((first, *above), mean))
    rest = [key for key in ordered if key != first]
    return {key: kept[key] for key in (first, *rest)}


def _options(tallied: Tallied) -> Sequence[Signs]:
    asked = min(tallied.asked, _MOST)
    options: list[Signs] = []
    for key, votes in tallied.votes.items():
        rounded = min(round(votes), _MOST)
        alone = "one" if votes <= 1 + _NEARLY else "more"
        shape = shape_of(key)
        options.append(
            {
                "votes": votes,
                f"asked {asked} votes {rounded} of {len(tallied.votes)}": 1.0,
                **shape,
                **{f"{alone} {name}": much for name, much in shape.items()},
            }
        )
    return [*options, _nobody(tallied, asked)]


def _nobody(tallied: Tallied, asked: int) -> Signs:
    """Of the option that none is right."""
    signs = {f"none of {len(tallied.votes)}, asked {asked}": 1.0, f"none on {tallied.topic}": 1.0}
    share = 1 / max(len(tallied.votes), 1)
    for key in tallied.votes:
        for name, much in shape_of(key).items():
            at = f"none {name}"
            signs[at] = signs.get(at, 0.0) + share * much
    return signs


def _state(tallied: Tallied, posterior: Posterior) -> Signs:
    """What asking on is worth depends on."""
    sure, none = posterior.sureness, posterior.other
    signs = {
        **_nobody(tallied, min(tallied.asked, _MOST)),
        **kin_of(list(tallied.votes)),
        "all": 1.0,
        "sure": sure,
        "sure²": sure * sure,
        "second": posterior.runner_up,
        "none": none,
        "none²": none * none,
        "sure·none": sure * none,
    }
    if posterior.top is not None:
        signs.update({f"top {name}": 1.0 for name in shape_of(posterior.top)})
    return signs


def lesson_of(known: Sequence[KnownOutcome]) -> OpenAnswerModel | None:
    """Of questions without choices; None while there are too few."""
    taught = [each for each in known if each.choices is None and len(_keys(each)) > 1]
    if len(taught) < ENOUGH:
        return None
    likely = choose_between([case for each in taught for case in _cases(each)], _ROUNDS)
    first = OpenAnswerModel(likely, {})
    return OpenAnswerModel(
        likely, least_squares([row for each in taught for row in _worth(first, each)], _RIDGE)
    )


def _keys(known: KnownOutcome) -> Sequence[str]:
    return [each.key for each in first_answers(known)]


def tallied_keys(keys: Sequence[str], topic: str) -> Tallied:
    """One vote each."""
    votes: dict[str, float] = {}
    for key in keys:
        votes[key] = votes.get(key, 0.0) + 1.0
    return Tallied(tuple(votes.items()), len(keys), topic)


def _cases(known: KnownOutcome) -> Sequence[Case]:
    """How it stood after each answer from the second on."""
    keys = _keys(known)
    cases: list[Case] = []
    for asked in range(2, len(keys) + 1):
        tallied = tallied_keys(keys[:asked], known.topic)
        places = {key: at for at, key in enumerate(tallied.votes)}
        right = places.get(known.right or "", len(places))
        cases.append(Case(tuple(_options(tallied)), right))
    return cases


def _worth(lesson: OpenAnswerModel, known: KnownOutcome) -> Sequence[tuple[Signs, float]]:
    """Blind answers might as well have come in another order: all that begin elsewhere count."""
    keys = _keys(known)
    return [
        row
        for at in range(len(keys))
        for row in _worth_in_order(lesson, [*keys[at:], *keys[:at]], known)
    ]


def _worth_in_order(
    lesson: OpenAnswerModel, keys: Sequence[str], known: KnownOutcome
) -> Sequence[tuple[Signs, float]]:
    """From each state on to where two agree, or to the end: half what it turned out to be, half
    what it was likely to be, which is less a matter of luck."""
    states = [tallied_keys(keys[:asked], known.topic) for asked in range(len(keys) + 1)]
    rows: list[tuple[Signs, float]] = []
    for asked in range(2, len(keys)):
        then = next((at for at in range(asked + 1, len(keys)) if _agreed(states[at])), len(keys))
        now, later = lesson.posterior(states[asked]), lesson.posterior(states[then])
        turned = (later.top == known.right) - (now.top == known.right)
        worth = (turned + later.sureness - now.sureness) / 2
        rows.append((_state(states[asked], now), worth / (then - asked)))
    return rows


def _agreed(tallied: Tallied) -> bool:
    first, second, *_ = [*sorted(tallied.votes.values(), reverse=True), 0.0, 0.0]
    return first > max(1.0, second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Learnt from what is known: see `panel_of`."""

    debaters: tuple[Debater, ...]
    scales: Scales
    choices: int | None = None
    """How many there are; None if the answer is free."""
    topic: str = "general"
    lesson: OpenAnswerModel | None = None

    def voice(self, name: str) -> Debater:
        return next(each for each in self.debaters if each.name == name)


@dataclass(frozen=True, slots=True)
class Count:
    """Votes, as they weigh."""

    votes: Sequence[Vote]
    scores: Mapping[str, float]
    k: int
    discount: float
    posterior: Posterior
    scales: Scales
    """Of those who answered."""


def counted(panel: Panel, said: Sequence[DebaterAnswer]) -> Count:
    votes = pooled(said)
    distinct = len({each.key for each in votes})
    k = among(panel.choices, distinct)
    there = voters(panel, votes)
    scales = panel.scales.of([target for target, _ in there])
    scores: dict[str, float] = {}
    for each in votes:
        target = panel.voice(each.voice).target
        weight = scales.vote(target, each.confidence, k) * each.share
        scores[each.key] = scores.get(each.key, 0.0) + weight
    discount = scales.discount(there)
    likely = posterior_of(panel, scores, discount, len(there))
    return Count(votes, scores, k, discount, likely, scales)


def taught(panel: Panel) -> OpenAnswerModel | None:
    """What was learnt of free answers; the rule of one voice knows nothing of votes."""
    free = panel.choices is None and panel.scales.rule is not Rule.BEST_SINGLE
    return panel.lesson if free else None


def posterior_of(
    panel: Panel, scores: Mapping[str, float], discount: float, asked: int
) -> Posterior:
    lesson = taught(panel)
    if lesson is not None:
        return lesson.posterior(tallied(panel, scores, asked))
    k = among(panel.choices, len(scores))
    scaled = {key: score * discount * panel.scales.sharpness for key, score in scores.items()}
    return softmax(scaled, unsaid(k, len(scores)))


def tallied(panel: Panel, scores: Mapping[str, float], asked: int) -> Tallied:
    """In votes of the usual weight."""
    k = among(panel.choices, len(scores))
    weights = [panel.scales.weight(each.target, k) for each in panel.debaters]
    usual = sum(weights) / len(weights)
    votes = tuple((key, score / usual) for key, score in scores.items())
    return Tallied(votes, asked, panel.topic)


def voters(panel: Panel, votes: Sequence[Vote]) -> Sequence[tuple[str, str]]:
    names = dict.fromkeys(each.voice for each in votes)
    return [(voice.target, voice.family) for voice in map(panel.voice, names)]


def registered(panel: Panel, k: int) -> Mapping[str, float]:
    return {each.name: panel.scales.plain(each.target, k) for each in panel.debaters}


def backing_of(panel: Panel, count: Count, key: str) -> Backing:
    shares: dict[str, float] = {}
    for each in count.votes:
        if each.key == key:
            shares[each.voice] = shares.get(each.voice, 0.0) + each.share
    return backing(panel.debaters, registered(panel, count.k), shares)


# All that past debates teach about voices, learnt once for a team.


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedWeighting:
    records: Records
    calibration: Calibration
    kinship: Kinship
    rule: Rule = Rule.COLD
    stretches: Mapping[str, float] = field(default_factory=dict)
    lesson: OpenAnswerModel | None = None

    def scales(self, targets: Sequence[str], topic: str) -> Scales:
        return replace(
            scales_of(self.records, targets, topic),
            rule=self.rule,
            stretches=self.stretches,
            calibration=self.calibration,
            kinship=self.kinship,
        )


def learnt_of(known: Sequence[KnownOutcome], targets: Sequence[str]) -> LearnedWeighting:
    """Oldest first."""
    guarded = trusted(known, targets)
    return LearnedWeighting(
        records=records_of(known),
        calibration=calibration_of(known),
        kinship=kinship_of(known),
        rule=Rule.COLD if guarded is None else guarded.rule,
        stretches={} if guarded is None else guarded.stretches,
        lesson=lesson_of(known),
    )


# Which of several texts is best, from comparisons of two: Bradley and Terry 1952, by Hunter's
# minorise-maximise steps (2004). A pair is compared in both orders, as judges favour a place; where
# the two orders disagree it is a tie, half a win for each.

Judged = tuple[str, str, str | None]
"""Two voices as they were shown, and which was better; None if neither."""

_STEPS: Final = 100
"""Enough for as many texts as one compares."""
_GHOST: Final = 1.0
"""Wins of each over a ghost of strength 1, for each voice that gave it, and defeats: nobody is
infinitely better."""


def settled_pairs(judged: Iterable[Judged]) -> Mapping[tuple[str, str], str | None]:
    """Each pair once: the winner of both orders, else None. One order alone is not enough to win
    if the other was asked and said otherwise; alone it counts."""
    found: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for one, other, better in judged:
        found[min(one, other), max(one, other)].add(better)
    return {pair: next(iter(said)) if len(said) == 1 else None for pair, said in found.items()}


def strengths(
    names: Sequence[str], judged: Iterable[Judged], backed: Mapping[str, int] | None = None
) -> Mapping[str, float]:
    """How likely each is the best: strengths that sum to one. `backed`: how many gave each, where
    it is not one; where nothing was compared, it is as strong as that."""
    ghosts = {name: _GHOST * (1 if backed is None else backed[name]) for name in names}
    wins: dict[str, float] = dict(ghosts)
    met: dict[str, list[str]] = {name: [] for name in names}
    for (one, other), better in settled_pairs(judged).items():
        if one not in met or other not in met:
            continue
        met[one].append(other)
        met[other].append(one)
        for name in (one, other):
            wins[name] += 0.5 if better is None else float(better == name)
    strong = dict.fromkeys(names, 1.0)
    for _ in range(_STEPS):
        then = {
            name: wins[name]
            / (
                (ghosts[name] + _GHOST) / (strong[name] + 1)
                + sum(1 / (strong[name] + strong[each]) for each in met[name])
            )
            for name in names
        }
        strong = then
    total = sum(strong.values())
    return {name: strong[name] / total for name in names}


def pairs(names: Sequence[str], most: int) -> Sequence[tuple[str, str]]:
    """A chain first, so that all are connected, then whoever is furthest apart is last: `names`
    come with the best first."""
    chain = list(pairwise(names))
    rest = [pair for pair in combinations(names, 2) if pair not in chain]
    return [*chain, *rest][:most]


_EQUAL: Final = 1e-9
_HALF: Final = 0.5
"""Below which no text is the best one."""


def decide(panel: Panel, said: Sequence[DebaterAnswer], rules: Rules, why: Why) -> Decision:
    """Of closed questions, on both rounds pooled; `why` is why nobody else is asked. The preset's
    own conditions (quorum, families, veto) are held here."""
    count = counted(panel, said)
    options = _ranked_options(panel, said, count)
    asked = voters(panel, count.votes)
    open_end = Decision(
        verdict=Verdict.NO_DECISION,
        why=Why.NO_ANSWERS,
        answer=None,
        probability=count.posterior.sureness,
        options=options,
        n_eff=effective(asked, panel.scales.kinship),
        rule=str(panel.scales.rule),
        weights=tuple(
            (
                each.voice,
                count.scales.vote(panel.voice(each.voice).target, each.confidence, count.k),
            )
            for each in said
            if each.round == 1
        ),
        asked=len(asked),
    )
    if not options:
        return open_end
    if rules.preset is Preset.QUORUM and (objection := vetoed(panel.debaters, said)) is not None:
        return replace(open_end, verdict=Verdict.ESCALATED, why=Why.VETO, veto=objection.veto)
    against = _why_not(panel, count, rules, said)
    if against is not None:
        return replace(open_end, why=against)
    return replace(open_end, verdict=Verdict.DECIDED, why=why, answer=options[0].shown)


def _why_not(panel: Panel, count: Count, rules: Rules, said: Sequence[DebaterAnswer]) -> Why | None:
    if _tied(count):
        return Why.TIE
    if rules.preset is Preset.QUORUM:
        backed = backing_of(panel, count, count.posterior.top or "").enough(rules)
        return None if backed and all_specialists(panel.debaters, said) else Why.NO_QUORUM
    return Why.TOO_UNSURE if count.posterior.sureness < rules.decide_at else None


def _tied(count: Count) -> bool:
    """Equally likely, and with as many votes: looks alone make no tie of a majority."""
    if count.posterior.sureness - count.posterior.runner_up >= _EQUAL:
        return False
    first, second, *_ = (count.scores[key] for key in count.posterior.likely)
    return abs(first - second) < _EQUAL


def _ranked_options(
    panel: Panel, said: Sequence[DebaterAnswer], count: Count
) -> tuple[Option, ...]:
    return tuple(
        _option(panel, [each for each in said if each.key == key], chance, count.k)
        for key, chance in count.posterior.likely.items()
    )


def _option(panel: Panel, said: Sequence[DebaterAnswer], chance: float, k: int) -> Option:
    weightiest = max(said, key=lambda each: panel.scales.weight(panel.voice(each.voice).target, k))
    return Option(
        key=said[0].key,
        shown=said[0].shown,
        probability=chance,
        debaters=tuple(dict.fromkeys(each.voice for each in said)),
        rationale=weightiest.rationale,
    )


def decide_open(
    panel: Panel,
    said: Sequence[DebaterAnswer],
    judged: Sequence[tuple[str, str, str | None]],
    rules: Rules,
    why: Why,
) -> Decision:
    """Of open questions: by comparisons `(one, other, better)`, each pair in both orders; a pair
    whose two orders disagree is a tie."""
    last = {each.voice: each for each in said}
    by_key: dict[str, list[DebaterAnswer]] = {}
    for each in last.values():
        by_key.setdefault(each.key, []).append(each)
    strong = _strong(last, by_key, judged)
    asked = [(panel.voice(name).target, panel.voice(name).family) for name in last]
    options = tuple(
        Option(
            key=key,
            shown=by_key[key][0].shown,
            probability=strong[key],
            debaters=tuple(each.voice for each in by_key[key]),
            rationale=by_key[key][0].rationale,
        )
        for key in sorted(by_key, key=lambda key: -strong[key])
    )
    objection = vetoed(panel.debaters, said) if rules.preset is Preset.QUORUM else None
    verdict, ended = Verdict.DECIDED, why
    if not options:
        verdict, ended = Verdict.NO_DECISION, Why.NO_ANSWERS
    elif objection is not None:
        verdict, ended = Verdict.ESCALATED, Why.VETO
    elif rules.preset is Preset.QUORUM and not _heard_enough(panel, said, rules):
        verdict, ended = Verdict.NO_DECISION, Why.NO_QUORUM
    elif len(options) > 1 and options[0].probability - options[1].probability < _EQUAL:
        verdict, ended = Verdict.NO_DECISION, Why.TIE
    elif options[0].probability < _HALF:
        verdict, ended = Verdict.NO_DECISION, Why.TOO_UNSURE
    return Decision(
        verdict=verdict,
        why=ended,
        answer=options[0].shown if verdict is Verdict.DECIDED else None,
        probability=options[0].probability if options else 0.0,
        options=options,
        n_eff=effective(asked, panel.scales.kinship),
        rule="compared",
        asked=len(asked),
        veto=None if objection is None else objection.veto,
    )


def _strong(
    last: Mapping[str, DebaterAnswer],
    by_key: Mapping[str, Sequence[DebaterAnswer]],
    judged: Sequence[tuple[str, str, str | None]],
) -> Mapping[str, float]:
    """Of answers, whoever of those who gave it was compared with another."""
    keys = {name: each.key for name, each in last.items()}
    met = [
        (keys[one], keys[other], None if better is None else keys[better])
        for one, other, better in judged
        if {one, other} <= keys.keys() and keys[one] != keys[other]
    ]
    backed = {key: len(each) for key, each in by_key.items()}
    return strengths(list(by_key), met, backed)


def _heard_enough(panel: Panel, said: Sequence[DebaterAnswer], rules: Rules) -> bool:
    """Texts cannot be added up: it is those who answered at all that make a quorum."""
    weights = registered(panel, among(panel.choices, 0))
    answered = {each.voice: 1.0 for each in said}
    enough = backing(panel.debaters, weights, answered).enough(rules)
    return enough and all_specialists(panel.debaters, said)


def pairs_to_judge(
    panel: Panel, said: Sequence[DebaterAnswer], rules: Rules
) -> Sequence[tuple[str, str]]:
    """Which open answers to compare, the most telling first; each goes by its first voice."""
    k = among(panel.choices, 0)
    first: dict[str, str] = {}
    for each in said:
        first.setdefault(each.key, each.voice)
    last = {name: panel.voice(name) for name in first.values()}
    ordered = sorted(last, key=lambda name: -panel.scales.weight(last[name].target, k))
    return pairs(ordered, rules.judge_pairs)
