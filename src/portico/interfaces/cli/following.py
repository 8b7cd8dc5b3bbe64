"""Follow what a server tells, also across its restarts."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from portico.interfaces.cli import patience
from portico.interfaces.cli.server import NotReached, NotRunning, Refused, Server
from portico.kernel.errors import Kind, PorticoError

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 2.0
_END: Final = "end"
RESET: Final = "reset"
"""Said by the server when something that was to be told is not kept any more."""


@dataclass(frozen=True, slots=True)
class Told:
    """`mark` is where the server goes on if it is given back."""

    type: str
    data: dict[str, Any]
    mark: str | None = None


@dataclass(slots=True)
class Following:
    """One who follows. `say` is told, in words, when the server has gone and come again."""

    server: Server
    say: Callable[[str], None]
    began_at: datetime | None = None
    """By the server's clock."""
    _until: float = field(default_factory=lambda: time.monotonic() + patience.AT_FIRST)
    """For so long a server that was never met is waited for."""
    _mark: str | None = None
    _met: bool = False
    _gone: bool = False

    def __call__(self, path: str, **query: str | Sequence[str]) -> Iterator[Told]:
        """Until the server has no more to tell, or for ever.

        A server that does not answer is waited for: at first for a while, and for ever once it
        has been met. Raises what the last try raises.
        """
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.server.streaming(path, after=self._mark, **query) as stream:
                    if stream is None:
                        return
                    self._here_again(stream.began_at)
                    pause = _FIRST_PAUSE
                    for told in parsed(stream.lines):
                        if told.type == _END:
                            return
                        self._mark = told.mark or self._mark
                        yield told
            except (NotRunning, NotReached, Refused) as error:
                if not self._worth_waiting(error):
                    raise
            self._gone_away()
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _worth_waiting(self, error: PorticoError) -> bool:
        waiting = self._met or time.monotonic() < self._until
        return waiting and error.kind is Kind.UNAVAILABLE

    def _here_again(self, now: datetime | None) -> None:
        self.began_at = self.began_at or now
        if self._gone:
            self.say("It is back." if self._met else "It is there.")
        self._met, self._gone = True, False

    def _gone_away(self) -> None:
        if not self._gone:
            gone = "The server has gone; waiting for it to come back …"
            self.say(gone if self._met else patience.NOT_YET)
        self._gone = True


def parsed(lines: Iterable[str]) -> Iterator[Told]:
    """Server-sent events, each of which ends with an empty line."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            data = json.loads(fields["data"])
            yield Told(fields.get("event", "message"), data, fields.get("id"))
        fields = {}
