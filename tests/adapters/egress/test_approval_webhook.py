"""A webhook against a real server on this machine: signed, discreet, patient within bounds."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from portico.adapters.egress.approval_webhook import (
    ApprovalWebhook,
    WebhookApprovalEvents,
    signature,
)
from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.guard.core.approvals import Approval, ApprovalRequester, Status
from portico.guard.core.errors import ApprovalNotFound
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock

ANA = a_person("ana")
SECRET = "a secret of ours"
QUIET = (0.0, 0.0, 0.0)


def asked(**more: object) -> Approval:
    entropy = SeededEntropy("webhook")
    made = Approval(
        id=ApprovalId.mint(BEGINNING, entropy),
        space=ANA.space,
        requester=ApprovalRequester(ANA.id, ANA.name, ANA.kind),
        context=ContextId.mint(BEGINNING, entropy),
        tool="mail.send",
        server="mail",
        effect=Effect.IRREVERSIBLE,
        pin="p",
        launch="l",
        hash="h",
        label=PUBLIC,
        tainted=False,
        arguments={"to": "someone@else.example"},
        rule="default:irreversible",
        reason="it cannot be undone",
        asked_at=BEGINNING,
        expires_at=BEGINNING + timedelta(hours=1),
        run=RunId.mint(BEGINNING, entropy),
    )
    return replace(made, **more)  # type: ignore[arg-type] # fields by name


@dataclass
class Receiver:
    """Answers each post with the next of these, and with the last for good."""

    answers: list[int]
    url: str = ""
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.posts.append((headers, body))
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        self.came.set()


@dataclass
class Book:
    """What can be seen of requests; what is not in it has not been written down."""

    seen: dict[ApprovalId, Approval] = field(default_factory=dict)
    looks: int = 0

    async def look(self, _asker: Principal, approval: ApprovalId) -> Approval:
        self.looks += 1
        if approval not in self.seen:
            raise ApprovalNotFound(str(approval))
        return self.seen[approval]


@asynccontextmanager
async def telling(
    *answers: int, book: Book, secret: str | None = SECRET
) -> AsyncIterator[tuple[Receiver, ApprovalWebhook]]:
    receiver = Receiver(list(answers))
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?key=1"
    webhook = ApprovalWebhook(
        url=receiver.url,
        secret=lambda: secret,
        look=book.look,
        client=lambda: guarded_client(
            allow=[written(receiver.url)], bounds=Bounds(seconds=2, redirects=0)
        ),
        clock=TickingClock(),
        base_url="http://127.0.0.1:3100",
        pauses=QUIET,
    )
    running = asyncio.create_task(webhook.run())
    try:
        yield receiver, webhook
    finally:
        running.cancel()
        await asyncio.wait([running])
        server.close()


async def until_told(caplog: pytest.LogCaptureFixture) -> str:
    async with asyncio.timeout(30):
        while not caplog.messages:  # noqa: ASYNC110 # nothing rings
            await asyncio.sleep(0.005)
    return caplog.messages[-1]


async def test_what_is_told_is_signed_and_says_nothing_of_the_arguments() -> None:
    approval = asked()

    async with telling(200, book=Book({approval.id: approval})) as (receiver, webhook):
        webhook.offer(ANA, approval.id)
        await asyncio.wait_for(receiver.came.wait(), 30)

    [(headers, body)] = receiver.posts
    stamp = headers["webhook-timestamp"]
    signed = f"{approval.id}.{stamp}.".encode() + body
    expected = base64.b64encode(hmac.digest(SECRET.encode(), signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    told = json.loads(body)
    assert told["type"] == "approval.asked"
    assert told["data"]["approval"] == headers["webhook-id"] == str(approval.id)
    assert (told["data"]["tool"], told["data"]["asker"]) == ("mail.send", "ana")
    assert b"someone" not in body


def test_a_secret_in_the_usual_form_is_read_as_that() -> None:
    raw = b"\x00\x01\x02 raw"
    encoded = "whsec_" + base64.b64encode(raw).decode()

    made = signature(encoded, "id", "1", b"{}")

    digest = hmac.digest(raw, b"id.1.{}", hashlib.sha256)
    assert made == "v1," + base64.b64encode(digest).decode()


async def test_what_is_only_a_hiccup_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    approval = asked()

    async with telling(503, 429, 200, book=Book({approval.id: approval})) as (receiver, webhook):
        webhook.offer(ANA, approval.id)
        async with asyncio.timeout(30):
            while len(receiver.posts) < 3:  # noqa: ASYNC110 # likewise
                await asyncio.sleep(0.005)

    assert len(receiver.posts) == 3
    assert not caplog.messages


@pytest.mark.parametrize(("answer", "tries"), [(503, 3), (404, 1), (302, 1)])
async def test_it_gives_up_in_the_end_and_says_so(
    answer: int, tries: int, caplog: pytest.LogCaptureFixture
) -> None:
    approval = asked()

    async with telling(answer, book=Book({approval.id: approval})) as (receiver, webhook):
        webhook.offer(ANA, approval.id)
        said = await until_told(caplog)

    assert len(receiver.posts) == tries
    assert str(answer) in said
    assert receiver.url not in said


async def test_nothing_is_told_of_what_was_undone_or_answered_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    undone = asked()
    over = asked(id=ApprovalId.mint(BEGINNING, SeededEntropy("o")), status=Status.APPROVED)
    book = Book({over.id: over})

    async with telling(200, book=book) as (receiver, webhook):
        webhook.offer(ANA, over.id)
        webhook.offer(ANA, undone.id)
        said = await until_told(caplog)

    assert not receiver.posts
    assert str(undone.id) in said
    assert book.looks == 1 + len(QUIET)


async def test_without_a_secret_nothing_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    approval = asked()

    book = Book({approval.id: approval})
    async with telling(200, book=book, secret=None) as (receiver, webhook):
        webhook.offer(ANA, approval.id)
        said = await until_told(caplog)

    assert not receiver.posts
    assert "secret" in said


async def test_too_many_are_left_out_and_nobody_is_kept_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    webhook = ApprovalWebhook(
        url="http://127.0.0.1:9",
        secret=lambda: SECRET,
        look=Book().look,
        client=guarded_client,
        clock=TickingClock(),
        base_url="",
    )

    for _ in range(1_001):
        webhook.offer(ANA, asked().id)

    assert "too many" in caplog.messages[-1]


@dataclass
class Inside:
    told: list[str] = field(default_factory=list)

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        self.told.append(what)


async def test_only_what_waits_for_somebody_is_told_elsewhere() -> None:
    approval, inside = asked(), Inside()

    async with telling(200, book=Book({approval.id: approval})) as (receiver, webhook):
        news = WebhookApprovalEvents(inside, webhook)
        await news.publish(ANA, "answered", approval)
        await news.publish(ANA, "asked", approval)
        await asyncio.wait_for(receiver.came.wait(), 30)

    assert inside.told == ["answered", "asked"]
    assert len(receiver.posts) == 1
