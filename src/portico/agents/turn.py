"""A turn that is to be taken, and what is noted of it for whoever follows the run."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.agents.core.answer import Ledger
from portico.agents.core.conversation import Line, words_of
from portico.agents.core.happening import Noted
from portico.agents.early_calls import EarlyCalls
from portico.agents.leg import Leg
from portico.agents.ports import Talk
from portico.agents.stop_watch import StopWatch
from portico.agents.tell_untold import tell_untold
from portico.kernel.label import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    leg: Leg
    number: int
    lines: Sequence[Line]
    label: Label
    early: EarlyCalls
    stop: StopWatch

    @property
    def words(self) -> str:
        return words_of(self.lines)


async def note(talk: Talk, turn: Turn, ledger: Ledger, code: str, message: str) -> None:
    ledger.notes.append(message)
    turn.leg.untold.append(Noted(code=code, message=message))
    await tell_untold(talk, turn.leg, turn.label)
