"""Who is asked next, and whether anybody is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.calibration import MOST
from portico.debate.core.counting import (
    Count,
    Panel,
    backing_of,
    counted,
    posterior_of,
    registered,
    tallied,
    taught,
    voters,
)
from portico.debate.core.decision import Why
from portico.debate.core.gain import DEEPEST, Outlook, expected, outlook_of
from portico.debate.core.posterior import Posterior, unsaid
from portico.debate.core.quorum import Backing, could_reach, vetoed
from portico.debate.core.rules import Preset, Rules
from portico.debate.core.said import Said
from portico.debate.core.stopping import unchangeable
from portico.debate.core.voice import Voice
from portico.debate.core.weights import among

_FORESEEN: Final = 0.02
_LEARNT: Final = 0.08
"""What a further answer has to add at no thoroughness; at full thoroughness, anything. What is
foreseen for a few votes ahead is less than what is learnt, which looks to the end."""


@dataclass(frozen=True, slots=True)
class Next:
    voice: Voice
    why: str


def settled(panel: Panel, said: Sequence[Said], left: Sequence[Voice], rules: Rules) -> Why | None:
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
    panel: Panel, said: Sequence[Said], left: Sequence[Voice], rules: Rules
) -> Why | None:
    """When a quorum is there and nobody who could veto it is left, or none can be reached."""
    if vetoed(panel.voices, said) is not None:
        return Why.CERTAIN
    count = counted(panel, said)
    weights = registered(panel, count.k)
    backings = [backing_of(panel, count, key) for key in count.scores] or [Backing(0.0, 0)]
    if any(each.enough(rules) for each in backings):
        return None if any(each.specialist for each in left) else Why.CERTAIN
    reachable = [could_reach(each, left, weights) for each in (*backings, Backing(0.0, 0))]
    return None if any(each.enough(rules) for each in reachable) else Why.CERTAIN


def next_voice(
    panel: Panel, said: Sequence[Said], left: Sequence[tuple[Voice, int]], rules: Rules
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


def _worth(voice: Voice, gain: float, rules: Rules) -> str:
    if rules.preset is Preset.QUORUM:
        return (
            "it may veto: it has to be heard" if voice.specialist else "a quorum counts everybody"
        )
    return f"{gain * 100:.1f} % likelier to be right if it is asked, the most for its tokens"


def _blind(panel: Panel, left: Sequence[tuple[Voice, int]]) -> Next:
    """The best record, and of equals the cheapest; not of a family that is asked already."""
    there = {each.name for each, _ in left}
    asked = {each.family for each in panel.voices if each.name not in there}
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


def _gain(panel: Panel, count: Count, voice: Voice, left: Sequence[tuple[Voice, int]]) -> float:
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


def critique_worth(panel: Panel, said: Sequence[Said], tokens: int, rules: Rules) -> bool:
    """Whether it is split so that a critique round may pay."""
    count = counted(panel, said)
    return tokens > 0 and len(count.scores) > 1 and count.posterior.sureness < rules.stop_at
