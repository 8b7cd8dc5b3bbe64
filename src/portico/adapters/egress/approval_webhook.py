"""Tells a place elsewhere that somebody waits for an answer; signed, and without what is in it.

Nobody waits for this: not the call, and not the transaction that the request is made in.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx2

from portico.guard.approvals import ApprovalEvents
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.errors import ApprovalNotFound
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal

_MOST: Final = 1_000
"""Requests that are yet to be told."""
_AT_ONCE: Final = 4
_PAUSES: Final = (0.0, 1.0, 5.0, 25.0)
"""Seconds before each try."""
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_ENCODED: Final = "whsec_"
_log: Final = logging.getLogger("portico.approvals")

Looking = Callable[[Principal, ApprovalId], Awaitable[Approval]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalWebhook:
    """The signature is that of Standard Webhooks, so that receivers need nothing of ours."""

    url: str
    secret: Callable[[], str | None]
    """Read anew each time; may wait, and is called in a thread."""
    look: Looking
    client: Callable[[], httpx2.AsyncClient]
    clock: Clock
    base_url: str
    pauses: Sequence[float] = _PAUSES
    _waiting: "asyncio.Queue[tuple[Principal, ApprovalId]]" = field(
        default_factory=lambda: asyncio.Queue(_MOST)
    )

    def offer(self, requester: Principal, approval: ApprovalId) -> None:
        """Sent once it can be seen; too much at once is left out."""
        try:
            self._waiting.put_nowait((requester, approval))
        except asyncio.QueueFull:
            _log.warning("%s is not told to the webhook: too many wait to be told", approval)

    async def run(self) -> None:
        """Until cancelled."""
        async with self.client() as client, asyncio.TaskGroup() as tellers:
            for _ in range(_AT_ONCE):
                tellers.create_task(self._tell_all(client))

    async def _tell_all(self, client: httpx2.AsyncClient) -> None:
        while True:
            asker, approval = await self._waiting.get()
            try:
                await self._told(client, asker, approval)
            except Exception as error:  # noqa: BLE001 # the edge of a background loop
                _log.warning("%s was not told to the webhook: %s", approval, type(error).__name__)

    async def _told(
        self, client: httpx2.AsyncClient, requester: Principal, approval: ApprovalId
    ) -> None:
        """At most so many tries, and none for what has been answered meanwhile."""
        why = "it cannot be seen"
        for pause in self.pauses:
            await asyncio.sleep(pause)
            try:
                found = await self.look(requester, approval)
            except ApprovalNotFound:
                continue  # what asks for it has not ended yet, or has been undone
            if found.status is not Status.WAITING:
                return
            try:
                answer = await self._sent(client, found)
            except (httpx2.HTTPError, PorticoError) as error:
                why = str(error) or type(error).__name__
                continue
            if answer < 300:
                return
            why = f"it answered {answer}"
            if answer not in _TRANSIENT:
                break
        _log.warning("%s was not told to the webhook: %s", approval, why)

    async def _sent(self, client: httpx2.AsyncClient, approval: Approval) -> int:
        secret = await asyncio.to_thread(self.secret)
        if not secret:
            raise httpx2.RequestError("there is no secret to sign with")
        body = json.dumps(self._news(approval), separators=(",", ":")).encode()
        stamp = str(int(self.clock.now().timestamp()))
        headers = {
            "content-type": "application/json",
            "webhook-id": str(approval.id),
            "webhook-timestamp": stamp,
            "webhook-signature": signature(secret, str(approval.id), stamp, body),
        }
        return (await client.post(self.url, content=body, headers=headers)).status_code

    def _news(self, approval: Approval) -> dict[str, object]:
        """Who wants what, and no word of with what: that is for whoever may see the request."""
        return {
            "type": "approval.asked",
            "timestamp": approval.asked_at.isoformat(),
            "data": {
                "approval": str(approval.id),
                "tool": approval.tool,
                "effect": str(approval.effect),
                "asker": approval.requester.name,
                "asker_kind": str(approval.requester.kind),
                "rule": approval.rule,
                "expires_at": approval.expires_at.isoformat(),
                "url": f"{self.base_url}/api/v1/approvals/{approval.id}",
            },
        }


@dataclass(frozen=True, slots=True)
class WebhookApprovalEvents:
    """What is told inside is told elsewhere too, if somebody has to do something about it."""

    inside: ApprovalEvents
    webhook: ApprovalWebhook

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        await self.inside.publish(caller, what, approval)
        if what == "asked":
            self.webhook.offer(caller, approval.id)


def signature(secret: str, message: str, stamp: str, body: bytes) -> str:
    """A secret that begins with `whsec_` is base64 behind that, any other is taken as it is."""
    key = secret.encode()
    if secret.startswith(_ENCODED):
        key = base64.b64decode(secret.removeprefix(_ENCODED))
    signed = f"{message}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
