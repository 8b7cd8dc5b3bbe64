"""An agent at the table: it reads on, answers whoever names it, and stops by itself.

What it does is done once, however often it is killed: a run and a message are known by the message
that they answer, and what it has answered stands in the conversation.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from portico.bridge.core.answering import (
    Decision,
    Reason,
    Rules,
    Standing,
    has_answered,
    heard,
    should_answer,
)
from portico.engine.core.errors import KeyReused
from portico.interfaces.cli.agent_follow import events
from portico.interfaces.cli.agent_talk import ENDED, WAITS
from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.bridge_names import short
from portico.interfaces.cli.bridge_words import raised_line
from portico.interfaces.cli.connect_words import answer_key, body_of, question, run_key, said_of
from portico.interfaces.cli.errors import AgentNotDone
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import NoAnswer, NotReached, NotRunning, Refused, Server
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.errors import Kind

_LOOKED_BACK: Final = 200
_PATIENCE: Final = 20
"""Seconds for which the server is asked to wait for something new."""
_PAUSE: Final = 1.0
_TRIES: Final = 60
"""For a server that answers, and says that it cannot."""
_SHORT: Final = 100

_Given = TypeVar("_Given")
Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Who sits where."""

    agent: str
    principal: str
    conversation: str
    title: str
    label: str
    joined_at: datetime
    model: str | None = None
    upto: str | None = None
    remembers: int = 20
    """Messages that it is told of."""


@dataclass
class AtTable:
    server: Server
    """With the agent's own key."""
    at: Terminal
    seat: Seat
    rules: Rules
    standing: Standing = field(init=False)
    window: "deque[Message]" = field(default_factory=lambda: deque(maxlen=_LOOKED_BACK))
    waiting: list[Message] = field(default_factory=list)
    cursor: str = ""
    _people: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.standing = Standing(me=self.seat.principal, since=self.seat.joined_at)

    def begin(self) -> None:
        """What was said to it while it was away waits for it. The end is looked up first: what is
        said meanwhile is not missed, and what is read twice is heard once."""
        self.cursor = self._lasting(self._end)
        for message in self._lasting(self._before):
            self._take(message)
        self.waiting = [message for message in self.window if self._decided(message).answers]

    def stay(self, *, once: bool) -> int:
        """Until it has given all its answers; or, if only `once`, until nothing waits for it."""
        while True:
            while self.waiting:
                self._turn_to(self.waiting.pop(0))
            if self.standing.given >= self.rules.most:
                self.at.say(f"{self.seat.agent} has given {self.standing.given} answers: enough.")
                return Exit.BUDGET
            more = self._read(wait=0 if once else _PATIENCE)
            if once and not more and not self.waiting:
                return Exit.OK

    def _read(self, *, wait: int) -> bool:
        """Whether there is more to be read at once."""
        page = self._lasting(lambda: self._after(wait))
        if page["reset"]:
            self.begin()
            return False
        for message in page["data"]:
            self._take(message)
            self._weigh(message)
        self.cursor = page["cursor"]
        if page["data"]:
            self._lasting(self._mark_read)
        return bool(page["more"])

    def _take(self, message: Message) -> None:
        if message["id"] not in self.standing.depths:
            self.window.append(message)
        said = said_of(message, by_person=self._is_person(message["sender"]))
        self.standing = heard(self.standing, said)

    def _weigh(self, message: Message) -> None:
        decision = self._decided(message)
        if decision.answers:
            self.waiting.append(message)
        elif decision.reason is Reason.HOPS:
            self._declines(message, decision.reason)

    def _decided(self, message: Message) -> Decision:
        said = said_of(message, by_person=self._is_person(message["sender"]))
        return should_answer(self.standing, said, self.rules)

    def _turn_to(self, message: Message) -> None:
        decision = self._decided(message)
        if not decision.answers:
            self._declines(message, decision.reason)
            return
        self._pause(decision.not_before)
        who, text = plain(message["sender_name"]), brief(message["body"], _SHORT)
        self.at.say(f"{who} {short(message['id'])}: {text}")
        body = self._thought(message)
        said = said_of(message, by_person=self._is_person(message["sender"]))
        if body:
            self._lasting(lambda: self._post(message, body))
        else:
            self.at.say("It had nothing to say.")
        self.standing = has_answered(self.standing, said, _now())

    def _declines(self, message: Message, reason: Reason) -> None:
        self.at.say(f"No answer to {short(message['id'])}: {reason}.")

    def _thought(self, message: Message) -> str:
        """What its run says to it. One that waits for approval goes on when somebody has given
        it."""
        asked = question(self.seat.agent, self.seat.title, self._context(message))
        given = {"message": asked} | ({} if self.seat.model is None else {"model": self.seat.model})
        path = path_to("agents", self.seat.agent, "runs")
        started = self._lasting(lambda: self.server.post(path, given, key=run_key(message, asked)))
        for told in events(self.server, started["run"], self.at):
            if told.type == WAITS:
                self._waits(told.data)
            if told.type == ENDED:
                return self._ended(started["run"], told.data)
        raise AgentNotDone(started["run"], None)

    def _waits(self, facts: Message) -> None:
        approval = facts["approval"][-6:]
        self.at.say(
            f"{plain(facts['tool'])} has to be approved: portico approvals approve {approval}"
        )

    def _ended(self, run: str, facts: Message) -> str:
        if facts["status"] not in {"completed", "stopped"}:
            self.at.fail(AgentNotDone(run, facts))
        return body_of(facts)

    def _post(self, message: Message, body: str) -> None:
        path = path_to("conversations", self.seat.conversation, "messages")
        wish = {"body": body, "reply_to": message["id"]}
        try:
            sent = self.server.post(path, wish, key=answer_key(message))
        except Refused as error:
            if error.code != KeyReused.code:
                raise
            self.at.say(f"{short(message['id'])} was answered before.")
            return
        text = f"{self.seat.agent} {short(sent['id'])}: {brief(body, _SHORT)}"
        self.at.data(sent, text)
        if raised := raised_line(sent, self.seat.label):
            self.at.say(f"{raised} Connected anew, it begins with a clean task.")

    def _context(self, message: Message) -> list[Message]:
        """The last ones up to it."""
        told = list(self.window)
        place = next(n for n, each in enumerate(told) if each["id"] == message["id"])
        return told[max(0, place + 1 - self.seat.remembers) : place + 1]

    def _is_person(self, who: str) -> bool:
        """Of whom nothing can be known it is not assumed."""
        if who not in self._people:
            try:
                found = self._lasting(lambda: self.server.get(path_to("principals", who)))
            except Refused:
                found = {"kind": "unknown"}
            self._people[who] = found["kind"] == "person"
        return self._people[who]

    def _end(self) -> str:
        path = path_to("conversations", self.seat.conversation, "cursor")
        return str(self.server.get(path, upto=self.seat.upto)["cursor"])

    def _before(self) -> list[Message]:
        found: list[Message] = self.server.get(
            path_to("conversations", self.seat.conversation, "messages"),
            before="end",
            limit=_LOOKED_BACK,
            upto=self.seat.upto,
        )["data"]
        return found

    def _after(self, wait: int) -> Message:
        found: Message = self.server.get(
            path_to("conversations", self.seat.conversation, "messages"),
            cursor=self.cursor,
            limit=_LOOKED_BACK,
            upto=self.seat.upto,
            wait=wait,
        )
        return found

    def _mark_read(self) -> None:
        path = path_to("conversations", self.seat.conversation, "read")
        self.server.post(path, {"cursor": self.cursor, "upto": self.seat.upto})

    def _pause(self, until: datetime | None) -> None:
        left = 0.0 if until is None else (until - _now()).total_seconds()
        if left > 0:
            time.sleep(left)

    def _lasting(self, ask: Callable[[], _Given]) -> _Given:
        """A server that has gone is waited for, and one that is there but cannot, for a while.
        Raises what it refuses."""
        tries = 0
        while True:
            try:
                given = ask()
            except (NotRunning, NotReached, NoAnswer):
                pass
            except Refused as error:
                if error.kind is not Kind.UNAVAILABLE or tries >= _TRIES:
                    raise
            else:
                if tries:
                    self.at.say("It is back.")
                return given
            if not tries:
                self.at.say("The server has gone; waiting for it to come back …")
            tries += 1
            time.sleep(_PAUSE)


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)
