"""From what a use case gives, or raises, to what the protocol calls a result or an error."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ErrorData

from portico.gateway.core.call import Answer
from portico.kernel.errors import Kind, PorticoError

Result = dict[str, Any]

ERROR_META: Final = "portico/error"
"""Where a program finds what a model reads in the text."""
_RESOURCE_NOT_FOUND: Final = -32002
"""As the protocol has it up to 2025-11-25; later it is an invalid parameter like any other."""

_CODES: Final[Mapping[Kind, int]] = {
    Kind.INVALID: INVALID_PARAMS,
    Kind.NOT_FOUND: INVALID_PARAMS,
    Kind.DENIED: -32010,
    Kind.CONFLICT: -32011,
    Kind.EXHAUSTED: -32012,
    Kind.UNAVAILABLE: -32013,
}
"""Those of our own are in the range that JSON-RPC leaves to servers, away from the protocol's."""

BROKE: Final = ErrorData(
    code=INTERNAL_ERROR, message="Something broke on our side; its log says more."
)
"""What it was stays in the log: it may name what is nobody's business."""


def result_of(answer: Answer, *, modern: bool) -> Result:
    """All that the tool gave, as it gave it."""
    result: Result = {"content": list(answer.content)}
    # Up to 2025-11-25 only an object is structured content; its text says the same.
    if answer.structured is not None and (modern or isinstance(answer.structured, Mapping)):
        result["structuredContent"] = answer.structured
    if answer.failed:
        result["isError"] = True
    if answer.meta:
        result["_meta"] = dict(answer.meta)
    return result


def text_result(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}]}


def refusal(error: PorticoError) -> Result:
    """As a tool's result, because that is what a model gets to read; it says how to mend it."""
    told = f"{error} {error.fix}" if error.fix else str(error)
    return {
        **text_result(f"{error.code}: {told}"),
        "isError": True,
        "_meta": {ERROR_META: _facts(error)},
    }


def error_data(error: PorticoError, *, uri: str | None = None, modern: bool) -> ErrorData:
    """For what is no tool's call: a program reads it. `uri` is the resource that was asked for."""
    lost = uri is not None and error.kind is Kind.NOT_FOUND and not modern
    code = _RESOURCE_NOT_FOUND if lost else _CODES[error.kind]
    data = _facts(error) if uri is None else {**_facts(error), "uri": uri}
    return ErrorData(code=code, message=str(error), data=data)


def _facts(error: PorticoError) -> dict[str, Any]:
    return {"code": error.code, "kind": error.kind.value, "title": error.title, "fix": error.fix}
