"""Writes that may be repeated: the Idempotency-Key header."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.core.contexts import context_of
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.use_cases import Use, UseCases
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal

_IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Repeating a write with the same key and body does it once and answers alike.",
    ),
]


@dataclass(frozen=True, slots=True)
class Asking:
    """A write as it came in: who asks, at which address, under which key."""

    use: UseCases
    caller: Principal
    path: str
    key: str | None

    async def once(
        self,
        operation: str,
        body: BaseModel | None,
        action: Callable[[], Awaitable[StoredResponse]],
        *,
        status: int,
    ) -> JSONResponse:
        sent = None if body is None else body.model_dump(mode="json")
        # With what the caller may: a narrower key is not answered what a wider one was.
        may: list[JsonValue] = [*sorted(self.caller.scopes)]
        request: JsonObject = {"path": self.path, "body": sent, "scopes": may}
        if self.caller.tools:
            request = {**request, "tools": self.caller.tools}
        receipt = await self.use.do_once(
            self.caller, WriteRequest(operation, request, self.key), action
        )
        return _answered(receipt.body, status, replayed=receipt.replayed)

    async def made_once(
        self,
        operation: str,
        body: BaseModel,
        make: Callable[[], Awaitable[BaseModel]],
        show: Callable[[str], Awaitable[BaseModel]],
    ) -> JSONResponse:
        """Of what has a label: its id alone is kept, for who is cleared for as much and at the
        same task. Whoever asks again is shown it, and has read it then; another key of theirs,
        which may see less, does not even learn that it was asked for."""
        own = canonical([str(self.caller.clearance), str(context_of(self.caller))])
        request: JsonObject = {"path": self.path, "body": body.model_dump(mode="json")}
        ask = WriteRequest(f"{operation} {sha256(own).hexdigest()}", request, self.key)

        async def action() -> StoredResponse:
            made = (await make()).model_dump(mode="json")
            return StoredResponse({"id": made["id"]}, shown_once=made)

        receipt = await self.use.do_once(self.caller, ask, action)
        if not receipt.replayed:
            return _answered(receipt.body, 201, replayed=False)
        shown = await show(str(receipt.body["id"]))
        return _answered(shown.model_dump(mode="json"), 201, replayed=True)


def _answered(body: JsonObject, status: int, *, replayed: bool) -> JSONResponse:
    headers = {"Idempotency-Replayed": "true"} if replayed else None
    return JSONResponse(dict(body), status, headers=headers)


def _asking(
    request: Request, use: Use, caller: Caller, idempotency_key: _IdempotencyKey = None
) -> Asking:
    return Asking(use, caller, request.url.path, idempotency_key)


IdempotentCreate = Annotated[Asking, Depends(_asking)]
