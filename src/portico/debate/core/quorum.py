"""The preset for what must not go wrong: enough of the registered weight, more than one family,
and nobody whose trade it is objects with evidence."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.debate.core.rules import Rules
from portico.debate.core.said import Said
from portico.debate.core.voice import Voice

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
    voices: Sequence[Voice], weights: Mapping[str, float], shares: Mapping[str, float]
) -> Backing:
    """`shares`: how much of its vote each voice gives to the answer."""
    registered = sum(weights[each.name] for each in voices)
    given = sum(weights[each.name] * shares.get(each.name, 0.0) for each in voices)
    families = {each.family for each in voices if shares.get(each.name)}
    return Backing(given / registered if registered else 0.0, len(families))


def vetoed(voices: Sequence[Voice], said: Sequence[Said]) -> Said | None:
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


def all_specialists(voices: Sequence[Voice], said: Sequence[Said]) -> bool:
    """Whether everybody who may veto was heard."""
    heard = {each.voice for each in said}
    return all(each.name in heard for each in voices if each.specialist)


def could_reach(now: Backing, left: Collection[Voice], weights: Mapping[str, float]) -> Backing:
    """If everybody who is left were for it."""
    registered = sum(weights.values())
    more = sum(weights[each.name] for each in left)
    return Backing(
        now.share + (more / registered if registered else 0.0),
        now.families + len({each.family for each in left}),
    )
