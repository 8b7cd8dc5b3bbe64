"""The way back to a caller of the handshake era: a request to it, on the stream of its call."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    Result,
)
from mcp_types.methods import parse_server_request
from pydantic import ValidationError

from portico.gateway.core.calls import Question, Wanted
from portico.gateway.core.errors import InputRefused, InputUnsupported
from portico.interfaces.mcp import asking
from portico.interfaces.mcp.asking import Capabilities
from portico.interfaces.mcp.conversation import Hearing
from portico.kernel.json import JsonObject

_LONGEST: Final = 300.0
"""Seconds for a person to answer: meanwhile others may be waiting for the same server."""

_ANSWERS: Final[Mapping[Wanted, type[Result]]] = {
    Wanted.ELICITATION: ElicitResult,
    Wanted.SAMPLING: CreateMessageResult,
    Wanted.ROOTS: ListRootsResult,
}


@dataclass(frozen=True, slots=True)
class LegacyLine:
    context: ServerRequestContext[Any, Any]
    subject: str
    log_level: str
    """What its session wants to hear of the server's log."""

    @property
    def able(self) -> AbstractSet[Wanted]:
        return asking.able(self._capabilities)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self.context.session.report_progress(done, total, message)

    async def log(self, params: JsonObject) -> None:
        if not Hearing(log_level=self.log_level).hears(params.get("level")):
            return
        try:
            told = LoggingMessageNotificationParams.model_validate(params)
        except ValidationError:
            return
        await self.context.session.send_notification(
            LoggingMessageNotification(params=told), self.context.request_id
        )

    async def ask(self, question: Question) -> JsonObject:
        asking.check(question, self._capabilities, self.subject)
        session, version = self.context.session, self.context.protocol_version
        try:
            request: Any = parse_server_request(question.wanted.value, version, question.params)
        except (KeyError, ValidationError) as error:  # older than this kind of question
            raise InputUnsupported(self.subject, question.wanted.value) from error
        try:
            async with asyncio.timeout(_LONGEST):
                answer = await session.send_request(
                    request,
                    _answer_to(question),
                    metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
                )
        except TimeoutError as error:
            raise InputRefused(question.wanted.value, "nobody answered in time") from error
        except (MCPError, ValidationError) as error:
            raise InputRefused(question.wanted.value, _reason(error)) from error
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    @property
    def _capabilities(self) -> Capabilities:
        said = self.context.session.client_capabilities
        return {} if said is None else said.model_dump(by_alias=True, exclude_none=True)


def _answer_to(question: Question) -> type[Result]:
    tools = question.wanted is Wanted.SAMPLING and question.params.get("tools")
    return CreateMessageResultWithTools if tools else _ANSWERS[question.wanted]


def _reason(error: MCPError | ValidationError) -> str:
    return error.message if isinstance(error, MCPError) else "what it sent is no answer"
