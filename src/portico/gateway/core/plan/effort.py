"""How much work may go into what the steps of a plan are given: of each step, and of the whole run.

One expression is bounded by itself. There may be ten thousand of them, a thousand times each.
"""

from typing import Final, Self

from portico.kernel.errors import Kind, PorticoError

MOST_OF_STEP: Final = 10_000_000
"""As expressions count their work: a million is about a tenth of a second."""
MOST_OF_RUN: Final = 100_000_000
LETTERS: Final = 10
"""Characters given to a step that count as one."""
LETTERS_READ: Final = 20
"""Characters of what an earlier step gave that count as one."""


class TooMuchEffort(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_much_effort"
    title = "It takes too much to put together what steps are given"
    fix = "Refer to fewer and smaller parts, or go through fewer items."

    def __init__(self, whose: str) -> None:
        super().__init__(f"Putting together what {whose} is given takes too much work.")


class Effort:
    def __init__(self, most: int, whose: str, within: "Effort | None" = None) -> None:
        self._most = most
        self._whose = whose
        self._within = within
        self.spent = 0

    @classmethod
    def of_run(cls) -> Self:
        return cls(MOST_OF_RUN, "the whole run")

    def of_step(self) -> "Effort":
        """One step's, which is part of this."""
        return Effort(MOST_OF_STEP, "the step", self)

    def spend(self, work: int) -> None:
        """Raises `TooMuchEffort`."""
        self.spent += work
        if self.spent > self._most:
            raise TooMuchEffort(self._whose)
        if self._within is not None:
            self._within.spend(work)
