"""Who talks in `just bench bridge`, where, and how secret it is; the same for the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

SCOPES: Final = frozenset({"bridge:read", "bridge:write"})
LABELS: Final = tuple(
    map(
        Label.parse,
        (
            "public",
            "team",
            "team+finance",
            "confidential",
            "confidential+finance",
            "confidential+law",
            "restricted",
            "restricted+finance+law",
        ),
    )
)
_SHARES: Final = (30, 34, 9, 11, 6, 4, 4, 2)
"""Of conversations, in the same order."""
CLEARANCES: Final = tuple(
    (Label.parse(text), share)
    for text, share in (
        ("public", 6),
        ("team", 10),
        ("team+finance", 6),
        ("confidential", 5),
        ("confidential+finance", 4),
        ("confidential+law", 2),
        ("confidential+finance+law", 2),
        ("restricted", 2),
        ("restricted+finance+law", 3),
    )
)
"""And how many of forty agents have it; of people, the first has the most."""
_PROJECTS: Final = 10
_CLOSED: Final = 0.1
_PARTAKERS: Final = (4, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation."""

    id: UUID
    project: UUID
    label: int
    """Its place among `LABELS`."""
    closed: bool
    members: Sequence[int]
    """Their places in the cast; the first has begun it."""
    weight: float
    """How much is said in it, as against others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    space: SpaceId
    agents: int
    everybody: Sequence[Principal]
    """The agents, and after them the people."""
    projects: Sequence[UUID]
    talks: Sequence[Talk]

    @property
    def by_clearance(self) -> dict[Label, Principal]:
        """Somebody for each clearance that there is."""
        return {each.clearance: each for each in reversed(self.everybody)}


def drawn_cast(
    space: SpaceId,
    seed: int,
    *,
    conversations: int,
    agents: int,
    people: int,
    projects: int = _PROJECTS,
) -> Cast:
    chance = Random(seed)  # noqa: S311 # the same ones on every run
    cleared = [label for label, share in CLEARANCES for _ in range(share)]
    of_agents = [cleared[number * len(cleared) // agents] for number in range(agents)]
    of_people = [cleared[-1 - number * 5 % len(cleared)] for number in range(people)]
    everybody = [
        _somebody(space, number, clearance, agents, chance)
        for number, clearance in enumerate([*of_agents, *of_people])
    ]
    places = [_id(chance) for _ in range(projects)]
    return Cast(
        space=space,
        agents=agents,
        everybody=everybody,
        projects=places,
        talks=[_talk(number, everybody, places, chance) for number in range(conversations)],
    )


def _somebody(
    space: SpaceId, number: int, clearance: Label, agents: int, chance: Random
) -> Principal:
    person = number >= agents
    return Principal(
        id=PrincipalId(_id(chance)),
        space=space,
        kind=PrincipalKind.PERSON if person else PrincipalKind.AGENT,
        name=f"{'person' if person else 'agent'}-{number}",
        scopes=SCOPES,
        clearance=clearance,
    )


def _talk(
    number: int, everybody: Sequence[Principal], projects: Sequence[UUID], chance: Random
) -> Talk:
    """The first ones are for each label in turn, so that none is missing."""
    drawn = chance.choices(range(len(LABELS)), _SHARES)[0]
    label = number if number < len(LABELS) else drawn
    may = [place for place, each in enumerate(everybody) if each.clearance.covers(LABELS[label])]
    many = min(len(may), chance.randint(*_PARTAKERS))
    return Talk(
        id=_id(chance),
        project=chance.choice(projects),
        label=label,
        closed=number >= len(LABELS) and chance.random() < _CLOSED,
        members=chance.sample(may, many),
        weight=1 / (chance.randint(0, 40) + 4),
    )


def _id(chance: Random) -> UUID:
    return UUID(int=chance.getrandbits(128), version=4)
