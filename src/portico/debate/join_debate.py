"""Take a seat in a debate as a guest, with one's own key, and see what is asked."""

from contextlib import suppress
from dataclasses import dataclass, replace

from portico.debate.core.debate import DebateId
from portico.debate.core.errors import NotSeated
from portico.debate.core.guest import Seat, guests_topic
from portico.debate.core.voice import Voice, VoiceKind
from portico.debate.places import at_debate
from portico.debate.ports import Blackboard, Seats, Tasks
from portico.engine.core.errors import AlreadyAnswered, RunNotFound, RunOver
from portico.engine.ports import Bus, Line, Runs
from portico.engine.runs import control_topic
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDebate:
    """Tell a run that waits for guests that one of them has done something."""

    runs: Runs
    line: Line
    bus: Bus

    async def __call__(self, guest: Principal, seat: Seat) -> None:
        """It waits for what comes after all that it knows of: whatever that is, it is told."""
        with suppress(RunNotFound, RunOver):
            for round_ in (1, 2):
                for turn in range(seat.turn):
                    await self._signal(guest, seat, guests_topic(round_, turn))
        self.bus.wake(guest.space, control_topic(seat.run))

    async def _signal(self, guest: Principal, seat: Seat, topic: str) -> None:
        with suppress(AlreadyAnswered):
            turn = await self.runs.signal(guest, seat.run, topic, None)
            if turn is not None:
                await self.line.join(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinDebate:
    blackboard: Blackboard
    seats: Seats
    tasks: Tasks
    wake: WakeDebate
    audit: Audit

    async def __call__(self, caller: Principal, which: DebateId) -> Seat:
        """The same seat the second time, with what is asked now. Raises `NotPermitted`,
        `DebateNotFound`, `DebateOver`, `NoSeatLeft`."""
        permit(caller, Scope.DEBATES_JOIN)
        caller = at_debate(caller, which)
        # That it is over, or that no seat is left, is told of it as well.
        label = await self.seats.secrecy(caller, which)
        await self.tasks.read(caller, label, untrusted=False)
        new = False
        try:
            seat = await self.seats.seat(caller, which)
        except NotSeated:
            new = True
            await self.blackboard.join(caller, which, guest_voice(caller))
            await self.audit.note(caller, AuditEntry(action="debate.joined", subject=str(which)))
            seat = await self.seats.seat(caller, which)
            await self.wake(caller, seat)
        await self.tasks.read(caller, seat.label, untrusted=True)
        return replace(seat, new=new)


def guest_voice(guest: Principal) -> Voice:
    """Nobody knows what is behind a key: guests are one family, and agree for less."""
    return Voice(
        name=f"guest:{guest.name}",
        kind=VoiceKind.GUEST,
        target=str(guest.id),
        family="guest",
        clearance=guest.clearance,
    )
