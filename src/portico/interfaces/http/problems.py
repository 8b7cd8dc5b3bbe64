"""Errors as HTTP responses (RFC 9457); the only place that knows status codes."""

import logging
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from portico.gateway.core.errors import LoginNeeded
from portico.guard.core.errors import LimitReached, NotPermitted
from portico.interfaces.http.shapes import HINTS
from portico.kernel.errors import Kind, PorticoError

_log: Final = logging.getLogger("portico.http")

STATUS: Final[Mapping[Kind, int]] = {
    Kind.INVALID: 422,
    Kind.DENIED: 403,
    Kind.NOT_FOUND: 404,
    Kind.CONFLICT: 409,
    Kind.EXHAUSTED: 429,
    Kind.UNAVAILABLE: 503,
}
_STATUS_OF: Final[Mapping[str, int]] = {"not_authenticated": 401, "host_refused": 421}
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": 'Bearer realm="portico"'},
    503: {"Retry-After": "1"},
}
_NOT_AGAIN: Final = frozenset(
    {"budget_too_small", "agent_budget_spent", "agent_turns_spent", "reservation_exceeded"}
)
"""What is spent stays spent: to ask again the same way comes to the same."""
_NAMED: Final = re.compile(r"\{[^}]*\}")
"""What stands for a name in an address."""
_FIELD: Final = re.compile(r"[a-z_]{1,40}|[a-z]{1,20}([A-Z][a-z]{1,20}){1,3}|[0-9]{1,9}")
_NO_OBJECT: Final = frozenset({"dict_type", "model_type", "model_attributes_type"})
_BY_STATUS: Final[Mapping[int, tuple[str, str, str | None]]] = {
    400: ("bad_request", "The request cannot be read", "Send valid JSON in UTF-8."),
    404: (
        "route_not_found",
        "There is no such address",
        "See /api/v1/openapi.json for what there is.",
    ),
    405: ("method_not_allowed", "This address has no such method", None),
    413: (
        "too_large",
        "The request is too large",
        "Send at most one megabyte; as an attachment, 25.",
    ),
}


class ProblemDetail(BaseModel, title="ProblemDetail"):
    """One thing that is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel, title="Problem"):
    """What went wrong (RFC 9457), with a stable `code` and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str | None
    retryable: bool
    errors: list[ProblemDetail]
    login_url: str | None = None
    """Only where a person has to log in elsewhere first: where to."""
    expires_at: datetime | None = None
    """Until when that link works."""


def status_of(error: PorticoError) -> int:
    return _STATUS_OF.get(error.code, STATUS[error.kind])


def problem_response(error: PorticoError) -> JSONResponse:
    errors = [ProblemDetail(field=flaw.field, message=flaw.message) for flaw in error.field_errors]
    response = _response(
        status_of(error), error.title, str(error), error.code, error.fix, errors=errors, of=error
    )
    if isinstance(error, NotPermitted):
        told = f'Bearer realm="portico", error="insufficient_scope", scope="{error.scope}"'
        response.headers["WWW-Authenticate"] = told
    if isinstance(error, LimitReached):
        response.headers["Retry-After"] = str(math.ceil(error.retry_after.total_seconds()) or 1)
    return response


async def on_portico_error(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, PorticoError):
        raise error
    return problem_response(error)


async def on_invalid_request(_request: Request, error: Exception) -> JSONResponse:
    """Names the fields and what is wrong with them, never what was sent: it may be a secret."""
    if not isinstance(error, RequestValidationError):
        raise error
    errors = [
        ProblemDetail(field=_field(detail), message=_message(detail)) for detail in error.errors()
    ]
    return _response(
        422,
        "The request is invalid",
        _count(errors),
        "invalid_request",
        "Mend what is named for each field.",
        errors=errors,
    )


def _count(errors: Sequence[ProblemDetail]) -> str:
    fields = "1 field is not as it" if len(errors) == 1 else f"{len(errors)} fields are not as they"
    return f"{fields} must be."


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    code, title, fix = _BY_STATUS.get(error.status_code, ("http_error", "Not possible", None))
    response = _response(error.status_code, title, f"{title}.", code, fix)
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods(request))
    return response


async def on_unexpected(request: Request, error: Exception) -> JSONResponse:
    # By its route: the address itself is the user's, and may hold anything.
    route = getattr(request.scope.get("route"), "path", "(none)")
    _log.exception("%s %s failed", request.method, route, exc_info=error)
    return _response(
        500,
        "Something broke on our side",
        "The server met an error that it did not expect; its log says more.",
        "internal_error",
        "Look into the server's log, and please report it.",
    )


def _methods(request: Request) -> list[str]:
    """All that this address has; the framework names only those of the first route it met. Of
    routes that could all be meant, those count that say the most of it themselves."""
    path = request.url.path
    met = [each for each in iter_route_contexts(request.app.routes) if each.path_regex.match(path)]
    said = [len(_NAMED.sub("", each.path_format or "")) for each in met]
    most = max(said, default=0)
    meant = [each for each, much in zip(met, said, strict=True) if much == most]
    return sorted({method for each in meant for method in each.methods or ()})


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route answers besides success, for the OpenAPI document; some can happen anywhere."""
    everywhere = (400, 401, 403, 409, 413, 421, 422, 503)
    return {
        status: {
            "description": "Problem",
            "content": {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            },
        }
        for status in sorted({*everywhere, *statuses})
    }


def _response(  # noqa: PLR0913 # a member of the problem each
    status: int,
    title: str,
    detail: str,
    code: str,
    fix: str | None,
    *,
    errors: Sequence[ProblemDetail] = (),
    of: PorticoError | None = None,
) -> JSONResponse:
    problem = Problem(
        type=f"urn:portico:problem:{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        fix=fix,
        retryable=status in {429, 503} and code not in _NOT_AGAIN,
        errors=list(errors),
    )
    body = problem.model_dump(exclude={"login_url", "expires_at"})
    if isinstance(of, LoginNeeded):
        body |= {"login_url": of.login_url, "expires_at": of.expires_at.isoformat()}
    return JSONResponse(
        body,
        status,
        media_type="application/problem+json",
        headers=_HEADERS.get(status),
    )


def _message(detail: Mapping[str, Any]) -> str:
    if detail["type"] == "json_invalid":
        return "is not valid JSON"
    if detail["type"] == "extra_forbidden":
        return "there is no such field"
    if detail["type"] in _NO_OBJECT and tuple(detail["loc"]) == ("body",):
        return "must be an object of JSON, sent with Content-Type: application/json"
    pattern = detail.get("ctx", {}).get("pattern")
    return HINTS.get(pattern, detail["msg"]) if pattern else str(detail["msg"])


def _field(detail: Mapping[str, Any]) -> str:
    location = detail["loc"]
    if detail["type"] == "json_invalid" or len(location) == 1:
        return str(location[0])
    return ".".join(_shown(part) for part in location[1:])


def _shown(part: int | str) -> str:
    """A name that could be one of ours; anything else was sent, and is not repeated."""
    text = str(part)
    return text if _FIELD.fullmatch(text) else "?"
