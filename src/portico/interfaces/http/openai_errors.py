"""Under /v1 what is refused is said as OpenAI says it, since the programs that ask there know no
other way: our problem, its sentence and its fix in one message."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.interfaces.http.problems import documented
from portico.kernel.errors import Flaw, Kind, PorticoError

BELOW: Final = "/v1/"
_PROBLEM: Final = "application/problem+json"
_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_NO_SUCH_MODEL: Final = frozenset({"agent_not_found", "model_not_found"})
"""Agents are models here: the programs that ask know one code for it."""


class NotSupported(PorticoError):
    """Of what OpenAI has and an agent has not: to leave it away silently would be an answer to
    another question."""

    kind = Kind.INVALID
    code = "not_supported"
    title = "An agent cannot do this"
    fix = "Leave it away: an agent or a debate has tools, models and limits of its own."

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.flaws = (Flaw(field, why),)


class OpenAIErrors:
    """Around everything, for those addresses alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        below = scope["type"] == "http" and scope["path"].startswith(BELOW)
        await self._app(scope, receive, _Reworded(send) if below else send)


class _Reworded:
    """What is no problem goes through as it comes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._tell(self._start)

    async def _tell(self, start: Message) -> None:
        problem = json.loads(self._body)
        status = 400 if start["status"] == 422 else start["status"]
        body = json.dumps(error_json(problem, status), ensure_ascii=False).encode()
        headers = MutableHeaders(raw=start["headers"])
        headers["content-type"] = "application/json"
        headers["content-length"] = str(len(body))
        await self._send({**start, "status": status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def error_json(problem: Mapping[str, Any], status: int) -> dict[str, Any]:
    errors = problem.get("errors") or []
    told = [f"{each['field']}: {each['message']}" for each in errors]
    parts = [_sentence(part) for part in (problem["detail"], *told, problem.get("fix")) if part]
    usual = "invalid_request_error" if status < 500 else "server_error"
    param, code = errors[0]["field"] if errors else None, problem["code"]
    if status == 404 and code in _NO_SUCH_MODEL:
        param, code = "model", "model_not_found"
    return {
        "error": {
            "message": " ".join(dict.fromkeys(parts)),
            "type": _TYPES.get(status, usual),
            "param": param,
            "code": code,
        }
    }


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def failure_response(code: str, message: str) -> JSONResponse:
    """Of a run that failed: what is behind this server did not work."""
    return JSONResponse(error_json({"detail": message, "code": code}, 502), 502)


def _is_problem(start: Message) -> bool:
    found = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    return any(value.decode("latin-1").startswith(_PROBLEM) for value in found)


def said(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """As `documented`, of those who are answered in OpenAI's words, too."""
    shape = {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]}
    return {
        status: {**each, "content": {**each["content"], "application/json": {"schema": shape}}}
        for status, each in documented(*statuses).items()
    }
