"""A drill: work that does nothing but be work, so that anybody can see with their own eyes that
it survives."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from itertools import pairwise
from typing import Final

from portico.engine.core.errors import InvalidInput
from portico.engine.runs import Kind
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject, JsonValue

DRILL: Final = "drill"
ANSWER: Final = "answer"
"""The topic of the answer that a drill waits for if it is told to ask."""
MOST_STEPS: Final = 1000
LONGEST_PAUSE: Final = 60
_NAME: Final = re.compile(r"[a-z_]{1,24}")


class Meant(Exception):
    """A step that was told to fail did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillPlan:
    steps: int
    pause: timedelta
    """Between two steps."""
    ask: bool
    """Whether somebody has to answer before it ends."""
    fail_at: int | None

    @classmethod
    def parse(cls, given: JsonObject) -> "DrillPlan":
        """Raises `InvalidInput`."""
        reading = _Reading(given)
        steps = reading.whole("steps", MOST_STEPS, default=3) or MOST_STEPS
        plan = cls(
            steps=steps,
            pause=timedelta(seconds=reading.seconds("pause")),
            ask=reading.yes_or_no("ask"),
            fail_at=reading.whole("fail_at", steps, default=None),
        )
        reading.nothing_but({each.name for each in fields(cls)})
        if reading.flaws:
            raise InvalidInput(DRILL, reading.flaws)
        return plan


@dataclass(slots=True)
class _Reading:
    given: JsonObject
    flaws: list[FieldError] = field(default_factory=list)

    def whole(self, name: str, most: int, *, default: int | None) -> int | None:
        value = self.given.get(name, default)
        if value is None and default is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self.flaws.append(FieldError(name, f"must be a whole number from 1 to {most}"))
        return None

    def seconds(self, name: str) -> float:
        value = self.given.get(name, 0)
        if isinstance(value, bool):
            value = None  # which Python takes for a number
        if isinstance(value, int | float) and 0 <= value <= LONGEST_PAUSE:
            return value
        self.flaws.append(
            FieldError(name, f"must be a number of seconds from 0 to {LONGEST_PAUSE}")
        )
        return 0

    def yes_or_no(self, name: str) -> bool:
        value = self.given.get(name, False)
        if isinstance(value, bool):
            return value
        self.flaws.append(FieldError(name, "must be true or false"))
        return False

    def nothing_but(self, names: set[str]) -> None:
        """What could not be a name of ours is not repeated: it may be a secret, gone astray."""
        there_are = f"there are: {', '.join(sorted(names))}"
        for name in sorted(self.given.keys() - names):
            field = name if _NAME.fullmatch(name) else "a field"
            self.flaws.append(FieldError(field, f"is not known; {there_are}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    clock: Clock
    process: str
    """Which process this is: each step says by which it was done."""

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `InvalidInput`, `StepFailed`."""
        plan = DrillPlan.parse(given)
        done: list[JsonValue] = []
        for number in range(1, plan.steps + 1):
            if done and plan.pause:
                await durable.sleep(f"pause-{number - 1}", plan.pause)
            done.append(await self._step(durable, number, plan))
        answer = await durable.wait_for_signal(ANSWER) if plan.ask else None
        return _summary(done, answer)

    async def _step(self, durable: Durable, number: int, plan: DrillPlan) -> JsonValue:
        async def action(_key: str) -> JsonValue:
            if number == plan.fail_at:
                raise Meant("It was told to fail here.")
            return {"at": self.clock.now().isoformat(), "process": self.process}

        return await durable.step(f"step-{number}", action)


def drill_kind(clock: Clock, process: str) -> Kind:
    work = Drill(clock=clock, process=process)
    return Kind(name=DRILL, work=work, for_people=True, check=DrillPlan.parse)


def _summary(done: Sequence[JsonValue], answer: JsonValue) -> JsonObject:
    by = [str(step["process"]) for step in done if isinstance(step, dict)]
    return {
        "steps": len(done),
        "processes": list(dict.fromkeys(by)),
        "taken_over": sum(before != after for before, after in pairwise(by)),
        "answer": answer,
    }
