"""How long a program has waited for its calls, without what those waited for people."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from portico.gateway.workflows.through_durable import ThroughDurable
from portico.kernel.clock import Clock
from portico.kernel.json import JsonValue


@dataclass(slots=True)
class Stopwatch:
    """Runs while at least one call is under way. Only what this leg of the run has seen: what was
    counted before is in the turns, and who goes on after a crash was not there."""

    clock: Clock
    _running: int = 0
    _since: datetime | None = None
    _counted: timedelta = field(default_factory=timedelta)

    @contextmanager
    def counting(self, by: int = 1) -> Iterator[None]:
        """With -1: what goes on in here is not counted."""
        self._change(by)
        try:
            yield
        finally:
            self._change(-by)

    def take(self) -> float:
        """Seconds since it was last asked."""
        self._change(0)
        taken, self._counted = self._counted, timedelta()
        return taken.total_seconds()

    def _change(self, by: int) -> None:
        now = self.clock.now()
        if self._running > 0 and self._since is not None:
            self._counted += now - self._since
        self._since = now
        self._running += by


@dataclass(frozen=True, slots=True)
class Unhurried(ThroughDurable):
    """`Durable` for one call: while it waits for somebody, the watch does not count it."""

    watch: Stopwatch

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        with self.watch.counting(-1):
            return await self.inner.wait_for_signal(topic, patience=patience, name=name)
