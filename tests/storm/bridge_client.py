"""An agent on the bridge that may be killed at any moment: all it knows is in its journal.

It writes down what it is about to say, says it until it is acknowledged, and writes that down; it
reads on from its last cursor, says how far it has read, and looks at what is unread. Nothing of the
product is imported here.
"""

import http.client
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

Fact = dict[str, Any]

_PAUSE = 0.05
_READS_EVERY = 5
"""Messages of its own between two times that it reads."""


@dataclass(frozen=True)
class Orders:
    name: str
    key: str
    port: int
    conversations: Sequence[str]
    messages: int
    journal: str
    patience: float = 300.0

    def text(self) -> str:
        return json.dumps(asdict(self))


class Journal:
    """A line a fact, each written at once; what was being written when somebody died is gone."""

    def __init__(self, file: Path) -> None:
        self._stream = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        whole = file.read_bytes()
        os.ftruncate(self._stream, whole.rfind(b"\n") + 1)
        self.facts = facts(file)

    def note(self, **fact: Any) -> None:
        self.facts.append(fact)
        os.write(self._stream, json.dumps(fact).encode() + b"\n")

    def last(self, what: str) -> Fact | None:
        return next((fact for fact in reversed(self.facts) if fact["what"] == what), None)


def facts(file: Path) -> list[Fact]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


class Line:
    """To the server, over whatever lies between: anything may be lost, and is asked again."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        deadline = time.monotonic() + self._orders.patience
        while True:
            try:
                status, told = self._tried(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                self._connection = None
                status, told = 503, b""
            if status < 300:
                return json.loads(told) if told else None
            if status not in {429, 500, 503} or time.monotonic() > deadline:
                raise SystemExit(f"{method} {path}: {status} {told!r}")
            time.sleep(_PAUSE)

    def _tried(
        self, method: str, path: str, body: object, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                "127.0.0.1", self._orders.port, timeout=30
            )
        sent = None if body is None else json.dumps(body)
        told = {"Authorization": f"Bearer {self._orders.key}", **headers}
        if sent is not None:
            told["Content-Type"] = "application/json"
        self._connection.request(method, f"/api/v1{path}", sent, told)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


class Client:
    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._journal = Journal(Path(orders.journal))
        self._line = Line(orders)
        self._chance = random.Random(f"{orders.name} {len(self._journal.facts)}")

    def run(self) -> None:
        self._journal.note(what="begun")
        for number in self._left():
            self._say(number)
            if number % _READS_EVERY == _READS_EVERY - 1:
                self._read()
        self._journal.note(what="said all")

    def finish(self) -> None:
        """Once everybody has said all: to the very end, and once more, since nothing may be unread
        by then."""
        self._read()
        self._read()
        self._journal.note(what="finished")

    def _left(self) -> Iterator[int]:
        said = self._journal.last("said")
        return iter(range(0 if said is None else said["n"] + 1, self._orders.messages))

    def _say(self, number: int) -> None:
        where = place_of(self._orders.conversations, number)
        self._journal.note(what="saying", n=number, where=where)
        sent = self._line.ask(
            "POST",
            f"/conversations/{where}/messages",
            {"body": f"{self._orders.name} {number}"},
            **{"Idempotency-Key": f"{self._orders.name}.{number}"},
        )
        self._journal.note(what="said", n=number, where=where, id=sent["id"])

    def _read(self) -> None:
        """To the end, then marks it; sometimes it says again what it said long ago."""
        while True:
            last = self._journal.last("read")
            asked: dict[str, Any] = {"conversation": self._orders.conversations, "limit": 100}
            if last is not None:
                asked["cursor"] = last["cursor"]
            page = self._line.ask("GET", f"/bridge/messages?{urlencode(asked, doseq=True)}")
            told = [[each["conversation"], each["id"], each["body"]] for each in page["data"]]
            self._journal.note(
                what="read",
                told=told,
                cursor=page["cursor"],
                reset=page["reset"],
                end=not page["more"],
            )
            if not page["more"]:
                break
        cursors = [fact["cursor"] for fact in self._journal.facts if fact["what"] == "read"]
        self._mark(cursors[-1])
        if self._chance.random() < 0.5:
            self._mark(self._chance.choice(cursors))
        inbox = self._line.ask("GET", "/inbox")
        unread = {each["conversation"]["id"]: each["count"] for each in inbox["unread"]}
        self._journal.note(what="unread", unread=unread)

    def _mark(self, cursor: str) -> None:
        body = {"conversations": list(self._orders.conversations), "cursor": cursor}
        self._line.ask("POST", "/bridge/read", body)
        self._journal.note(what="marked", cursor=cursor)


def place_of(conversations: Sequence[str], number: int) -> str:
    return conversations[number * 7919 % len(conversations)]


if __name__ == "__main__":
    client = Client(Orders(**json.loads(sys.argv[2])))
    if sys.argv[1] == "finish":
        client.finish()
    else:
        client.run()
