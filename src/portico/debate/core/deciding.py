"""What a debate comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from portico.debate.core import comparing
from portico.debate.core.counting import Count, Panel, backing_of, counted, registered, voters
from portico.debate.core.decision import Decision, Option, Verdict, Why
from portico.debate.core.quorum import all_specialists, backing, vetoed
from portico.debate.core.rules import Preset, Rules
from portico.debate.core.said import Said
from portico.debate.core.voters import effective
from portico.debate.core.weights import among

_EQUAL: Final = 1e-9
_HALF: Final = 0.5
"""Below which no text is the best one."""


def decide(panel: Panel, said: Sequence[Said], rules: Rules, why: Why) -> Decision:
    """Of closed questions, on both rounds pooled; `why` is why nobody else is asked. The preset's
    own conditions (quorum, families, veto) are held here."""
    count = counted(panel, said)
    options = _options(panel, said, count)
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
    if rules.preset is Preset.QUORUM and (objection := vetoed(panel.voices, said)) is not None:
        return replace(open_end, verdict=Verdict.ESCALATED, why=Why.VETO, veto=objection.veto)
    against = _why_not(panel, count, rules, said)
    if against is not None:
        return replace(open_end, why=against)
    return replace(open_end, verdict=Verdict.DECIDED, why=why, answer=options[0].shown)


def _why_not(panel: Panel, count: Count, rules: Rules, said: Sequence[Said]) -> Why | None:
    if _tied(count):
        return Why.TIE
    if rules.preset is Preset.QUORUM:
        backed = backing_of(panel, count, count.posterior.top or "").enough(rules)
        return None if backed and all_specialists(panel.voices, said) else Why.NO_QUORUM
    return Why.TOO_UNSURE if count.posterior.sureness < rules.decide_at else None


def _tied(count: Count) -> bool:
    """Equally likely, and with as many votes: looks alone make no tie of a majority."""
    if count.posterior.sureness - count.posterior.runner_up >= _EQUAL:
        return False
    first, second, *_ = (count.scores[key] for key in count.posterior.likely)
    return abs(first - second) < _EQUAL


def _options(panel: Panel, said: Sequence[Said], count: Count) -> tuple[Option, ...]:
    return tuple(
        _option(panel, [each for each in said if each.key == key], chance, count.k)
        for key, chance in count.posterior.likely.items()
    )


def _option(panel: Panel, said: Sequence[Said], chance: float, k: int) -> Option:
    weightiest = max(said, key=lambda each: panel.scales.weight(panel.voice(each.voice).target, k))
    return Option(
        key=said[0].key,
        shown=said[0].shown,
        probability=chance,
        voices=tuple(dict.fromkeys(each.voice for each in said)),
        rationale=weightiest.rationale,
    )


def decide_open(
    panel: Panel,
    said: Sequence[Said],
    judged: Sequence[tuple[str, str, str | None]],
    rules: Rules,
    why: Why,
) -> Decision:
    """Of open questions: by comparisons `(one, other, better)`, each pair in both orders; a pair
    whose two orders disagree is a tie."""
    last = {each.voice: each for each in said}
    by_key: dict[str, list[Said]] = {}
    for each in last.values():
        by_key.setdefault(each.key, []).append(each)
    strong = _strong(last, by_key, judged)
    asked = [(panel.voice(name).target, panel.voice(name).family) for name in last]
    options = tuple(
        Option(
            key=key,
            shown=by_key[key][0].shown,
            probability=strong[key],
            voices=tuple(each.voice for each in by_key[key]),
            rationale=by_key[key][0].rationale,
        )
        for key in sorted(by_key, key=lambda key: -strong[key])
    )
    objection = vetoed(panel.voices, said) if rules.preset is Preset.QUORUM else None
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
    last: Mapping[str, Said],
    by_key: Mapping[str, Sequence[Said]],
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
    return comparing.strengths(list(by_key), met, backed)


def _heard_enough(panel: Panel, said: Sequence[Said], rules: Rules) -> bool:
    """Texts cannot be added up: it is those who answered at all that make a quorum."""
    weights = registered(panel, among(panel.choices, 0))
    answered = {each.voice: 1.0 for each in said}
    enough = backing(panel.voices, weights, answered).enough(rules)
    return enough and all_specialists(panel.voices, said)


def pairs_to_judge(panel: Panel, said: Sequence[Said], rules: Rules) -> Sequence[tuple[str, str]]:
    """Which open answers to compare, the most telling first; each goes by its first voice."""
    k = among(panel.choices, 0)
    first: dict[str, str] = {}
    for each in said:
        first.setdefault(each.key, each.voice)
    last = {name: panel.voice(name) for name in first.values()}
    ordered = sorted(last, key=lambda name: -panel.scales.weight(last[name].target, k))
    return comparing.pairs(ordered, rules.judge_pairs)
