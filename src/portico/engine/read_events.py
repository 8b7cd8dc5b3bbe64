"""Read what a run has told so far, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.engine.core.entry import Entry
from portico.engine.cursors import Cursors
from portico.engine.ports import EventLog, Seal
from portico.engine.run_events import LAST_WORDS
from portico.engine.task_marks import has_read
from portico.engine.watch import around
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Contexts
from portico.kernel.ids import RunId
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """`next` is None when the run has ended and this was all of it."""

    entries: Sequence[Entry]
    next: str | None
    trimmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRunEvents:
    log: EventLog
    seal: Seal
    contexts: Contexts

    async def __call__(
        self, caller: Principal, run: RunId, after: str | None, limit: int
    ) -> EventPage:
        """Raises `NotPermitted`, `BadCursor`, `RunNotFound`."""
        permit(caller, Scope.RUNS_READ)
        topic = str(run)
        cursors = Cursors.of(self.seal, caller.space, [topic])
        position = 0 if after is None else cursors.positions(after)[topic]
        page = await around(self.log, caller, topic, position, limit=limit)

        told = [entry for entry in page.entries if entry.number != position]
        entries, rest = told[:limit], told[limit:]
        if entries:
            await has_read(self.contexts, caller, join(each.label for each in entries))
        stands = entries[-1] if entries else next(iter(page.entries), None)
        over = stands is not None and stands.type in LAST_WORDS and not (rest or page.more)
        here = entries[-1].number if entries else position
        return EventPage(
            entries=entries,
            next=None if over else cursors.text({topic: here}),
            trimmed=0 < position < page.first or page.position < position,
        )
