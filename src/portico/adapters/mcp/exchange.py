"""One request on behalf of one caller, and what the server wants to know of that caller meanwhile.

Both eras meet here. Of old a server sends a request of its own and waits for the reply; now it
answers with what it wants to know, and is asked again. To the caller both are `line.ask`.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from portico.adapters.mcp import wire
from portico.adapters.mcp.wire import Message
from portico.gateway.core.calls import Question, Wanted
from portico.gateway.core.errors import InputUnsupported
from portico.gateway.ports import Line
from portico.kernel.errors import PorticoError

_REJECTED: Final = -1
"""What the protocol says for a model that was not asked."""
_METHOD_NOT_FOUND: Final = -32601
_CANCEL: Final[Message] = {"action": "cancel"}
_NOBODY: Final[AbstractSet[Wanted]] = frozenset()
WORDS: Final[Mapping[Wanted, str]] = {
    Wanted.ELICITATION: "an answer of its user",
    Wanted.SAMPLING: "an answer of its model",
    Wanted.ROOTS: "its folders",
}


def _unheard(_message: Message) -> None:
    pass


def _as_it_is(message: Message) -> Message:
    return message


@dataclass(slots=True, eq=False, kw_only=True)
class Exchange:
    subject: str
    """What is called, for people."""
    name: str
    """Of the tool, the prompt or the resource."""
    line: Line | None = None
    timer: asyncio.Timeout | None = None
    other: Callable[[Message], None] = _unheard
    """Told what is said on the way, but not to this caller."""
    veil: Callable[[Message], Message] = _as_it_is
    """Over what is said to this caller on the way."""
    sent: bool = False
    """Whether it is on its way, and does not wait for its turn any more."""
    words: int | None = None
    """How much the server had said when it was sent."""
    refused: PorticoError | None = None
    """Why something was not answered that the server wanted to know."""
    _asking: int = 0
    _left: float = 0.0

    @property
    def able(self) -> AbstractSet[Wanted]:
        return _NOBODY if self.line is None else self.line.able

    @property
    def log_level(self) -> str | None:
        return None if self.line is None else self.line.log_level

    async def hear(self, message: Message) -> Message | None:
        message = self.veil(message)
        if "id" in message:
            return await self._replied(message)
        params = wire.params_of(message)
        match message["method"]:
            case wire.PROGRESS if self.line is not None:
                await self._progress(self.line, params)
            case wire.LOG if self.line is not None:
                await self.line.log(params)
            case wire.PROGRESS | wire.LOG:
                pass
            case _:
                self.other(message)
        return None

    async def _progress(self, line: Line, params: Message) -> None:
        done, said = _number(params.get("progress")), params.get("message")
        if done is not None:
            told = said if isinstance(said, str) else None
            await line.progress(done, _number(params.get("total")), told)

    async def _replied(self, message: Message) -> Message:
        """To a request of the server's own, which only servers of the older era send."""
        known = replied_by_anyone(message)
        if known is not None:
            return known
        try:
            answer = await self.ask(Question(Wanted(message["method"]), wire.params_of(message)))
        except PorticoError as error:
            self.refused = error
            return unanswered(message)
        return wire.reply(message, dict(answer))

    async def answers(self, requests: Mapping[str, object]) -> Message | None:
        """What the modern era wants to know, by the names under which it asks; several questions
        are put at once. None if one of them cannot even be declined."""
        requests = self.veil(dict(requests))
        if len(requests) == 1:
            answers = {key: await self._answer(key, each) for key, each in requests.items()}
        else:
            async with asyncio.TaskGroup() as group:
                asking = {
                    key: group.create_task(self._answer(key, each))
                    for key, each in requests.items()
                }
            answers = {key: task.result() for key, task in asking.items()}
        return None if None in answers.values() else answers

    async def _answer(self, key: str, wish: object) -> Message | None:
        request: Message = wish if isinstance(wish, dict) else {}
        method = request.get("method")
        try:
            wanted = Wanted(str(method))
            return await self.ask(Question(wanted, wire.params_of(request), key))
        except ValueError:
            self.refused = InputUnsupported(self.subject, str(method)[:80])
            return None
        except PorticoError as error:
            if method == Wanted.ROOTS:
                return {"roots": []}
            self.refused = error
            return _CANCEL if method == Wanted.ELICITATION else None

    async def ask(self, question: Question) -> Message:
        """Raises `InputUnsupported`, `InputRefused`."""
        if self.line is None:
            raise InputUnsupported(self.subject, WORDS[question.wanted])
        if question.params.get("mode") == "url":
            # Whoever follows the link logs in on a connection that others share.
            raise InputUnsupported(self.subject, "a visit to an address")
        with self._clock_stopped():
            return dict(await self.line.ask(question))

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """The time that a person takes to answer is not the tool's."""
        loop = asyncio.get_running_loop()
        if not self._asking and self.timer is not None:
            due = self.timer.when()
            self._left = 0.0 if due is None else due - loop.time()
            with suppress(RuntimeError):  # it may be over already
                self.timer.reschedule(None)
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking and self.timer is not None:
                with suppress(RuntimeError):  # it may be over for other reasons
                    self.timer.reschedule(loop.time() + self._left)


def replied_by_anyone(request: Message) -> Message | None:
    """Where it matters to nobody who is calling; None for a question to a caller."""
    match request["method"]:
        case Wanted.ELICITATION | Wanted.SAMPLING:
            return None
        case Wanted.ROOTS:
            # What it learns of one caller's folders it would keep, and use for all.
            return wire.reply(request, {"roots": []})
        case "ping":
            return wire.reply(request, {})
        case _:
            return wire.objection(request, _METHOD_NOT_FOUND, "Method not found")


def unanswered(question: Message) -> Message:
    """The reply of someone who does not answer."""
    if question["method"] == Wanted.ELICITATION:
        return wire.reply(question, _CANCEL)
    return wire.objection(question, _REJECTED, "Nobody here can answer this")


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None
