"""A call under way whose caller may be asked something, and who then comes again to answer.

Since 2026-07-28 a server asks nothing by itself: it answers a call with what it wants to know, and
the caller calls once more with that. The call at the server behind us knows nothing of this. It
stays where it is, and waits; it belongs to this process, and to the key that began it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from portico.gateway.core.calls import Question, Wanted
from portico.interfaces.mcp import asking
from portico.interfaces.mcp.answers import Result
from portico.interfaces.mcp.asking import Capabilities
from portico.kernel.json import JsonObject

Note: TypeAlias = tuple[str, dict[str, Any]]
"""A notification: its method, and what it says."""

LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_MOST_NOTES: Final = 256
"""Unsent; a caller that does not read loses the oldest, and progress is told again anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What one request wants to be told while it lasts."""

    progress_token: str | int | None = None
    log_level: str | None = None

    def hears(self, level: object) -> bool:
        if self.log_level not in LEVELS or level not in LEVELS:
            return False
        return LEVELS.index(str(level)) >= LEVELS.index(self.log_level)


NOTHING: Final = Hearing()


@dataclass(slots=True)
class _Asked:
    question: Question
    answer: "asyncio.Future[JsonObject]"


@dataclass(slots=True, eq=False)
class Conversation:
    """The line of one call; whoever serves a request of its caller waits for it to stir."""

    owner: object
    subject: str
    """What is called, for people."""
    same: object
    """Tells this call from another: whoever answers has asked for exactly this."""
    capabilities: Capabilities
    given: dict[str, JsonObject] = field(default_factory=dict)
    """Answers that came with the call itself, by the names under which a server asks."""
    hearing: Hearing = NOTHING
    notes: deque[Note] = field(default_factory=lambda: deque(maxlen=_MOST_NOTES))
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _task: "asyncio.Task[Result | Exception] | None" = None
    _stir: Callable[[], None] = field(default_factory=lambda: _nothing)

    def begin(
        self,
        work: Coroutine[Any, Any, Result],
        start: Callable[[Coroutine[Any, Any, Result | Exception]], "asyncio.Task[Any]"],
    ) -> None:
        self._task = start(_outcome(work))
        self._task.add_done_callback(lambda _: self._stir())

    def heard_by(self, stir: Callable[[], None], hearing: Hearing) -> None:
        self._stir, self.hearing = stir, hearing

    def left_alone(self) -> None:
        """Nobody hears it any more, until somebody comes to answer."""
        self._stir, self.hearing = _nothing, NOTHING
        self.notes.clear()

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @property
    def over(self) -> bool:
        return self._task is not None and self._task.done()

    def result(self) -> Result:
        """Of what is over. Raises what the call raised."""
        if self._task is None:
            raise asyncio.InvalidStateError
        outcome = self._task.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def questions(self) -> Mapping[str, Question]:
        return {key: asked.question for key, asked in self._asked.items()}

    def answer(self, responses: Mapping[str, JsonObject]) -> None:
        """What was not asked is left aside; what is not answered will be asked again."""
        for key, response in responses.items():
            asked = self._asked.pop(key, None)
            if asked is not None and not asked.answer.done():
                asked.answer.set_result(response)

    @property
    def able(self) -> AbstractSet[Wanted]:
        return asking.able(self.capabilities)

    @property
    def log_level(self) -> str | None:
        return self.hearing.log_level

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        if self.hearing.progress_token is None:
            return
        told: dict[str, Any] = {"progressToken": self.hearing.progress_token, "progress": done}
        if total is not None:
            told["total"] = total
        if message is not None:
            told["message"] = message
        self._note("notifications/progress", told)

    async def log(self, params: JsonObject) -> None:
        if self.hearing.hears(params.get("level")):
            self._note("notifications/message", dict(params))

    async def ask(self, question: Question) -> JsonObject:
        asking.check(question, self.capabilities, self.subject)
        if question.key is not None and question.key in self.given:
            return self.given.pop(question.key)
        key = self._free_key(question)
        asked = _Asked(question, asyncio.get_running_loop().create_future())
        self._asked[key] = asked
        self._stir()
        try:
            return await asked.answer
        finally:
            if self._asked.get(key) is asked:
                del self._asked[key]

    def _free_key(self, question: Question) -> str:
        wished = question.key or "question"
        if question.key is not None and wished not in self._asked:
            return wished
        number = 1
        while f"{wished}-{number}" in self._asked:
            number += 1
        return f"{wished}-{number}"

    def _note(self, method: str, params: dict[str, Any]) -> None:
        self.notes.append((method, params))
        self._stir()


async def _outcome(work: Coroutine[Any, Any, Result]) -> Result | Exception:
    """What it raises is for whoever looks at the result, if anybody does."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 # raised again where it is looked at
        return error


def _nothing() -> None:
    pass
