"""What is wrong with a plan, and where: everything at once, each with its place and its mending."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from portico.kernel.errors import Flaw, Kind, PorticoError

MOST_FAULTS: Final = 200
_MOST_GUESSES: Final = 20
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class PlanFault:
    place: str
    """JSON pointer into the plan: `/steps/3/arguments/path/$from`; empty for the plan itself."""
    what: str
    fix: str | None = None
    line: int | None = None
    """Counted from 1, in the text that the plan was read from, if it was read from one."""
    column: int | None = None
    left_out: bool = field(default=False, compare=False)
    """It is an argument that nothing was said about, and something else may be able to give it."""

    def __str__(self) -> str:
        where = self.place or "the plan"
        if self.line is not None:
            where = f"line {self.line}, column {self.column} ({where})"
        return f"{where}: {self.what}" + (f" {self.fix}" if self.fix else "")


class BadPlan(PorticoError):
    kind = Kind.INVALID
    code = "bad_plan"
    title = "The plan cannot be carried out"
    fix = "Mend what is named for each place; `portico plan schema` says what a plan may hold."

    def __init__(self, faults: Iterable[PlanFault]) -> None:
        self.faults = tuple(faults)
        self.flaws = tuple(Flaw(fault.place, _told(fault)) for fault in self.faults)
        first = "; ".join(str(fault) for fault in self.faults[:3])
        more = len(self.faults) - 3
        super().__init__(f"{first}{f'; and {more} more' if more > 0 else ''}")


class Faults:
    """Those found so far. A text that has nothing right in it is not worth more than these: whoever
    sends one does not keep everybody else waiting."""

    def __init__(self) -> None:
        self.found: list[PlanFault] = []
        self._guesses = _MOST_GUESSES
        self._doubts: list[tuple[str, AbstractSet[str]]] = []

    def add(self, place: str, what: str, fix: str | None = None) -> None:
        if len(self.found) < MOST_FAULTS:
            self.found.append(PlanFault(place, what, fix))

    def doubt(self, place: str, names: AbstractSet[str]) -> None:
        """A text there seems to refer to these, and is none that refers to anything."""
        if names and len(self._doubts) < MOST_FAULTS:
            self._doubts.append((place, names))

    def settle_doubts(self, known: AbstractSet[str]) -> None:
        """Once it is known what could be meant: what is no step's name is only a text."""
        for place, names in self._doubts:
            if meant := sorted(names & known):
                what = f"It would be passed on as it stands, and seems to refer to {meant[0]!r}."
                fix = 'Write {"$text": "… ${step.path} …"}, or {"$literal": "…"} if it is meant so.'
                self.add(place, what, fix)

    def guess(self, name: str, known: Iterable[str]) -> str | None:
        """What may have been meant. Each guess takes its time, so that there are only so many."""
        self._guesses -= 1
        return did_you_mean(name, known) if self._guesses >= 0 else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """For a name that is not among those that there are."""
    names: Sequence[str] = list(known)
    close = get_close_matches(name[:_LONGEST_NAME], names, n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else None


def _told(fault: PlanFault) -> str:
    return f"{fault.what} {fault.fix}" if fault.fix else fault.what
