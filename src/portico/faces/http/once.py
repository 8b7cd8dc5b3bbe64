"""Writes that may be repeated: the `Idempotency-Key` header, on every one of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from portico.engine.core.receipt import Answer
from portico.engine.do_once import Ask
from portico.faces.http.authentication import Caller
from portico.faces.http.use_cases import Use, UseCases
from portico.kernel.json import JsonObject, JsonValue
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
        action: Callable[[], Awaitable[Answer]],
        *,
        status: int,
    ) -> JSONResponse:
        sent = None if body is None else body.model_dump(mode="json")
        # With what the caller may: a narrower key is not answered what a wider one was.
        may: list[JsonValue] = [*sorted(self.caller.scopes)]
        request: JsonObject = {"path": self.path, "body": sent, "scopes": may}
        if self.caller.tools:
            request = {**request, "tools": self.caller.tools}
        receipt = await self.use.do_once(self.caller, Ask(operation, request, self.key), action)
        headers = {"Idempotency-Replayed": "true"} if receipt.replayed else None
        return JSONResponse(dict(receipt.body), status, headers=headers)


def _asking(
    request: Request, use: Use, caller: Caller, idempotency_key: _IdempotencyKey = None
) -> Asking:
    return Asking(use, caller, request.url.path, idempotency_key)


Asked = Annotated[Asking, Depends(_asking)]
