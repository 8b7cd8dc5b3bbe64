"""The graphs of `just bench workflow`: what needs what, and how long each takes by a seed."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.workflow_tools import seconds

_PARENTS: Final = 3

Needs = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    needs: Needs
    """By the names of the steps, in an order in which they could be taken."""
    nominal: float
    seed: int = 7

    def __str__(self) -> str:
        return f"{self.name} x {self.nominal:g} s"

    @property
    def steps(self) -> int:
        return len(self.needs)

    @property
    def critical_path(self) -> float:
        """Seconds that nobody can do without, however much is done at once."""
        ends: dict[str, float] = {}
        for name, needs in self.needs.items():
            begins = max((ends[each] for each in needs), default=0.0)
            ends[name] = begins + seconds(self.seed, name, self.nominal)
        return max(ends.values())


def chain(length: int) -> Needs:
    return {_name(each): [_name(each - 1)] if each else [] for each in range(length)}


def diamond() -> Needs:
    return {"top": [], "left": ["top"], "right": ["top"], "bottom": ["left", "right"]}


def star(points: int) -> Needs:
    """One step, and so many that need it."""
    return {"hub": [], **{_name(each): ["hub"] for each in range(points)}}


def scattered(steps: int, seed: int) -> Needs:
    """Each needs up to three of those before it."""
    chance = random.Random(seed)  # noqa: S311 # a seeded graph

    def needs(place: int) -> list[str]:
        count = min(place, chance.randint(0, _PARENTS))
        return [_name(each) for each in sorted(chance.sample(range(place), count))]

    return {_name(place): needs(place) for place in range(steps)}


def narrow(nominal: float = 1.0) -> list[Shape]:
    """Whose efficiency is told by itself."""
    graphs = {"chain 10": chain(10), "diamond": diamond(), "star 5": star(5)}
    return [Shape(name, needs, nominal) for name, needs in graphs.items()]


def wide() -> list[Shape]:
    """That are told beside the same on less."""
    graphs = {"star 20": star(20), "star 200": star(200), "random 200": scattered(200, 1)}
    other = Shape("random 200, another", scattered(200, 2), 0.1)
    shapes = [Shape(name, needs, each) for each in (0.1, 1.0) for name, needs in graphs.items()]
    return [*shapes, other]


def _name(number: int) -> str:
    return f"s{number}"
