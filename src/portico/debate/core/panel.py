"""The panel: who is asked, and when to stop."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.debaters import Debater
from portico.debate.core.debates import DebaterAnswer, KnownOutcome, Why
from portico.debate.core.questions import Preset, Question, QuestionKind, Rules
from portico.debate.core.vote_weights import MOST, Posterior, among, unsaid
from portico.debate.core.votes import (
    DEEPEST,
    Backing,
    Count,
    LearnedWeighting,
    Outlook,
    Panel,
    backing_of,
    could_reach,
    counted,
    expected,
    learnt_of,
    outlook_of,
    posterior_of,
    registered,
    tallied,
    taught,
    vetoed,
    voters,
)

# When nobody else need be asked.
#
# Lossless: whoever is left could neither change the answer nor whether one is given. By
# probability: the answer is as likely as was wished for.


def unchangeable(
    scores: Mapping[str, float],
    left: float,
    then: Callable[[Mapping[str, float]], Posterior],
    decide_at: float,
) -> bool:
    """The first leads the second by more than all that is left, and stays on its side of
    `decide_at`.

    `left` is the most that those who are left weigh together; `then` tells how likely scores are.
    """
    ordered = sorted(scores.values(), reverse=True)
    if not ordered:
        return left <= 0
    second = ordered[1] if len(ordered) > 1 else 0.0
    if ordered[0] - second <= left:
        return False
    top = max(scores, key=lambda key: scores[key])
    against = {**scores, **_rival(scores, top, left)}
    worst, best = then(against), then({**scores, top: scores[top] + left})
    return (worst.likely[top] >= decide_at) == (best.likely[top] >= decide_at)


def _rival(scores: Mapping[str, float], top: str, left: float) -> Mapping[str, float]:
    """All who are left for the strongest other answer, or for a new one."""
    others = {key: score for key, score in scores.items() if key != top}
    rival = max(others, key=lambda key: others[key], default="")
    return {rival: others.get(rival, 0.0) + left}


_FORESEEN: Final = 0.02
_LEARNT: Final = 0.08
"""What a further answer has to add at no thoroughness; at full thoroughness, anything. What is
foreseen for a few votes ahead is less than what is learnt, which looks to the end."""


@dataclass(frozen=True, slots=True)
class Next:
    debater: Debater
    why: str


def settled(
    panel: Panel, said: Sequence[DebaterAnswer], left: Sequence[Debater], rules: Rules
) -> Why | None:
    """Why nobody else need be asked: CERTAIN or LIKELY; else None."""
    if rules.preset is Preset.QUORUM:
        return _quorum_settled(panel, said, left, rules)
    count = counted(panel, said)
    if not count.votes:
        return None
    most = sum(panel.scales.weight(each.target, count.k) for each in left) * (1 + MOST)
    asked = len(voters(panel, count.votes)) + len(left)

    def then(scores: Mapping[str, float]) -> Posterior:
        return posterior_of(panel, scores, count.discount, asked)

    if unchangeable(count.scores, most, then, rules.decide_at):
        return Why.CERTAIN
    return Why.LIKELY if count.posterior.sureness >= rules.stop_at else None


def _quorum_settled(
    panel: Panel, said: Sequence[DebaterAnswer], left: Sequence[Debater], rules: Rules
) -> Why | None:
    """When a quorum is there and nobody who could veto it is left, or none can be reached."""
    if vetoed(panel.debaters, said) is not None:
        return Why.CERTAIN
    count = counted(panel, said)
    weights = registered(panel, count.k)
    backings = [backing_of(panel, count, key) for key in count.scores] or [Backing(0.0, 0)]
    if any(each.enough(rules) for each in backings):
        return None if any(each.specialist for each in left) else Why.CERTAIN
    reachable = [could_reach(each, left, weights) for each in (*backings, Backing(0.0, 0))]
    return None if any(each.enough(rules) for each in reachable) else Why.CERTAIN


def next_voice(
    panel: Panel, said: Sequence[DebaterAnswer], left: Sequence[tuple[Debater, int]], rules: Rules
) -> Next | None:
    """Who adds most for its tokens; None where nobody is worth them. With nothing said yet, the
    first of the blind pair; the second is of another family where there is one."""
    if not left:
        return None
    if not said:
        return _blind(panel, left)
    count = counted(panel, said)
    gains = [(_gain(panel, count, voice, left), tokens, voice) for voice, tokens in left]
    gain, _, voice = max(gains, key=lambda each: each[0] / max(each[1], 1))
    least = _FORESEEN
    lesson = taught(panel)
    if lesson is not None:
        asked = len(voters(panel, count.votes))
        gain, least = lesson.gain(tallied(panel, count.scores, asked)), _LEARNT
    if rules.preset is not Preset.QUORUM and max(gain, 0.0) < least * (1 - rules.thoroughness) ** 2:
        return None
    return Next(voice, _worth(voice, gain, rules))


def _worth(voice: Debater, gain: float, rules: Rules) -> str:
    if rules.preset is Preset.QUORUM:
        return (
            "it may veto: it has to be heard" if voice.specialist else "a quorum counts everybody"
        )
    return f"{gain * 100:.1f} % likelier to be right if it is asked, the most for its tokens"


def _blind(panel: Panel, left: Sequence[tuple[Debater, int]]) -> Next:
    """The best record, and of equals the cheapest; not of a family that is asked already."""
    there = {each.name for each, _ in left}
    asked = {each.family for each in panel.debaters if each.name not in there}
    k = among(panel.choices, 0)
    voice, _ = min(
        left,
        key=lambda each: (
            each[0].family in asked,
            -panel.scales.weight(each[0].target, k),
            each[1],
        ),
    )
    fresh = voice.family not in asked
    if asked and fresh:
        return Next(voice, f"of another family than {', '.join(sorted(asked))}")
    return Next(voice, "nobody has a better record")


def _gain(panel: Panel, count: Count, voice: Debater, left: Sequence[tuple[Debater, int]]) -> float:
    """An answer: the mean over one, two or three more of this one's kind, whichever is best."""
    there = voters(panel, count.votes)
    after = panel.scales.discount([*there, (voice.target, voice.family)])
    outlook = _outlook(count, after)
    weight = panel.scales.weight(voice.target, count.k) * after
    deepest = min(DEEPEST, len(left))
    now = outlook.sureness
    return max(
        (expected(outlook, [weight] * deep, count.k) - now) / deep for deep in range(1, deepest + 1)
    )


def _outlook(count: Count, discount: float) -> Outlook:
    scores = [score * discount for score in count.scores.values()]
    distinct = len(count.scores)
    return outlook_of(scores, unsaid(count.k, distinct), count.k - distinct)


def critique_worth(panel: Panel, said: Sequence[DebaterAnswer], tokens: int, rules: Rules) -> bool:
    """Whether it is split so that a critique round may pay."""
    count = counted(panel, said)
    return tokens > 0 and len(count.scores) > 1 and count.posterior.sureness < rules.stop_at


# What is known of the voices of one debate, and what their answers come to: the one place where the
# arithmetic of the other modules is put together. The session asks this, and nothing below.


def panel_of(question: Question, voices: Sequence[Debater], known: Sequence[KnownOutcome]) -> Panel:
    """The most that it takes is to learn: half a second of 500 outcomes. `seated` seats voices for
    another question with what is learnt."""
    return seated(question, voices, learnt_of(known, [each.target for each in voices]))


def seated(question: Question, voices: Sequence[Debater], learnt: LearnedWeighting) -> Panel:
    return Panel(
        debaters=tuple(voices),
        scales=learnt.scales([each.target for each in voices], question.topic),
        choices=_choices(question),
        topic=question.topic,
        lesson=learnt.lesson,
    )


def _choices(question: Question) -> int | None:
    match question.kind:
        case QuestionKind.CHOICE:
            return len(question.choices)
        case QuestionKind.YES_NO:
            return 2
        case _:
            return None


def standing(panel: Panel, said: Sequence[DebaterAnswer]) -> tuple[tuple[str, float], ...]:
    """Answers (as shown) and their probabilities, likeliest first; what is left is for an answer
    that nobody gave."""
    shown = {each.key: each.shown for each in reversed(said)}
    return tuple(
        (shown[key], chance) for key, chance in counted(panel, said).posterior.likely.items()
    )
