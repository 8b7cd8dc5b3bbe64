"""How a program is going, or went: its calls as steps, what it said, and what it used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.engine.core.runs import Step
from portico.gateway.core.plan.outline import OutlinedStep
from portico.gateway.core.plan.report import StepStanding, WorkflowReport, WorkflowStatus
from portico.gateway.core.program.turn import Turn, call_name, is_turn, turn_from
from portico.gateway.core.workflow_words import standing
from portico.kernel.json import JsonObject
from portico.sandbox.core.requests import CodeEnd

ProgramStatus = WorkflowStatus
"""In the same words; a program is never done in part."""
_NOTHING: Final = "(it printed nothing, and gave nothing)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramReport:
    whole: WorkflowReport
    """Its calls are the steps, what it gave the output."""
    end: CodeEnd | None = None
    """Of the program itself; calls that it does not wait for may be under way still."""
    printed: str | None = None
    """So far; None for everybody but its caller."""
    shown: str = ""
    """What a model is shown of what it printed and gave."""
    turns: int = 0
    counted: float = 0.0
    """Seconds, without what was waited for people."""

    @property
    def run(self) -> str:
        return self.whole.run

    @property
    def status(self) -> ProgramStatus:
        return self.whole.status

    @property
    def over(self) -> bool:
        return self.whole.over

    def as_json(self) -> JsonObject:
        return {
            **self.whole.as_json(),
            "kind": "program",
            "printed": self.printed,
            "end": None if self.end is None else str(self.end),
            "turns": self.turns,
            "counted_seconds": round(self.counted, 3),
        }

    def text(self) -> str:
        """What the model sees."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.shown:
            yield self.shown
        if self.whole.error is not None:
            yield f"[{self.status}] {self.whole.error.message}"
        elif self.over and not self.shown:
            yield _NOTHING
        yield from map(_waits, self._waiting())
        if not self.over:
            yield standing(self.whole)

    def _waiting(self) -> Sequence[tuple[str, str, str]]:
        states = {StepStanding.WAITING, StepStanding.UNCERTAIN}
        return [
            (step.id, step.tool, f"waits for approval ({step.approval})")
            if step.state is StepStanding.WAITING
            else (step.id, step.tool, f"is uncertain: {step.why}; a person has to say")
            for step in self.whole.steps
            if step.state in states
        ]


def turns_in(journal: Sequence[Step]) -> Sequence[Turn]:
    """Those that were taken, in order."""
    noted = [turn_from(step.output) for step in journal if is_turn(step.name) and step.output]
    return sorted(noted, key=lambda turn: turn.number)


def begun_in(journal: Sequence[Step]) -> Mapping[str, datetime]:
    """By call, when the turn had ended that wanted it: then it is begun."""
    return {
        call_name(number): step.finished_at
        for step in journal
        if is_turn(step.name) and step.output and step.finished_at is not None
        for number in turn_from(step.output).calls
    }


def calls_in(turns: Sequence[Turn]) -> Sequence[OutlinedStep]:
    """What it has called so far, as a plan has steps."""
    return [
        OutlinedStep(call_name(number), tool)
        for turn in turns
        for number, tool in turn.calls.items()
    ]


def taken_in(journal: Sequence[Step]) -> frozenset[str]:
    """The calls of a program of which it knows already how they ended: made again, nobody would be
    told."""
    return frozenset(call_name(number) for turn in turns_in(journal) for number in turn.given)


def _waits(which: tuple[str, str, str]) -> str:
    step, tool, how = which
    return f"[{step} {tool} {how}]"
