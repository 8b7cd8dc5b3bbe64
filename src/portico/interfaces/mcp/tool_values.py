"""Arguments and results of tools in the form of MCP, read leniently and written strictly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ErrorData

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.errors import LoginNeeded
from portico.gateway.core.surface import READ_RESULT
from portico.guard.core.errors import ApprovalPending
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue


class Tool(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, JsonObject]: ...

    @property
    def required(self) -> Sequence[str]: ...


def lenient(tool: Tool, given: JsonObject) -> dict[str, JsonValue]:
    """Without what is null: it was left out."""
    return {
        name: _lenient(value, tool.properties.get(name, {}))
        for name, value in given.items()
        if value is not None
    }


def _lenient(value: JsonValue, kind: JsonObject) -> JsonValue:
    """A whole number as some models write it, and one text where a list is wanted."""
    if kind.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind.get("type") == "array" and isinstance(value, str):
        return [value]
    return value


def flaws_of(tool: Tool, fields: JsonObject) -> Iterator[FieldError]:
    for name in tool.required:
        if name not in fields:
            yield FieldError(name, "is needed")
    for name, value in fields.items():
        if name not in tool.properties:
            yield FieldError(
                name, f"is not known; {tool.name} takes {', '.join(tool.properties) or '-'}"
            )
        elif (wanted := _wanted(value, tool.properties[name])) is not None:
            yield FieldError(name, f"must be {wanted}")


def _wanted(value: JsonValue, kind: JsonObject) -> str | None:
    """What it should have been; None if it is."""
    if isinstance(words := kind.get("enum"), list):
        return None if value in words else f"one of {', '.join(map(str, words))}"
    match kind.get("type"):
        case "string":
            return None if isinstance(value, str) else "a text"
        case "integer":
            whole = isinstance(value, int) and not isinstance(value, bool)
            return None if whole else "a whole number"
        case "number":
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return None if number else "a number"
        case "boolean":
            return None if isinstance(value, bool) else "true or false"
        case "array":
            return None if _texts(value) else "a list of texts"
        case _:
            return None


def _texts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


Result = dict[str, Any]

PENDING_META: Final = "portico/approval"
LOGIN_META: Final = "portico/login"
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


def result_of(answer: ToolResult, *, modern: bool) -> Result:
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


def pending(error: ApprovalPending, *, by_handle: bool, promised: bool) -> Result:
    """Nothing has failed, so that a model goes on instead of looking for another way.

    `by_handle`: whoever reads it has a tool to ask with. `promised`: the tool's own results have a
    form that this has not, and a client would take it for broken unless it is called an error.
    """
    ask_again: Result = {"same_call": True}
    how = "make the very same call again later"
    if by_handle:
        ask_again["read_result"] = {"result": error.approval}
        how += f', or call {READ_RESULT} with result "{error.approval}"'
    told = (
        f"{error.code}: {error.tool} has not been called yet: a person has to approve it, and has "
        f"been asked ({error.approval}). Go on with something else if you can. To get its result, "
        f"{how}. Do not try to do it in another way."
    )
    facts = {
        "status": error.code,
        "approval": error.approval,
        "tool": error.tool,
        "expires_at": error.expires_at.isoformat(),
        "ask_again": ask_again,
    }
    if promised:
        return {**text_result(told), "isError": True, "_meta": {PENDING_META: facts}}
    return {**text_result(told), "isError": False, "structuredContent": facts}


def login(error: LoginNeeded, *, promised: bool) -> Result:
    """As for an approval that is waited for: the next step is a person's, and a model passes it
    on."""
    told = (
        f"{error.code}: {error} Give the user this link, to log in with it in their own browser, "
        f"and make the same call again when they have: {error.login_url}"
    )
    facts = {
        "status": error.code,
        "server": error.server,
        "login_url": error.login_url,
        "expires_at": error.expires_at.isoformat(),
        "ask_again": {"same_call": True},
    }
    if promised:
        return {**text_result(told), "isError": True, "_meta": {LOGIN_META: facts}}
    return {**text_result(told), "isError": False, "structuredContent": facts}


def error_data(error: PorticoError, *, uri: str | None = None, modern: bool) -> ErrorData:
    """For what is no tool's call: a program reads it. `uri` is the resource that was asked for."""
    lost = uri is not None and error.kind is Kind.NOT_FOUND and not modern
    code = _RESOURCE_NOT_FOUND if lost else _CODES[error.kind]
    data = _facts(error) if uri is None else {**_facts(error), "uri": uri}
    return ErrorData(code=code, message=str(error), data=data)


def _facts(error: PorticoError) -> dict[str, Any]:
    return {"code": error.code, "kind": error.kind.value, "title": error.title, "fix": error.fix}


Facts: TypeAlias = Mapping[str, Any]
"""As JSON."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    text: str
    details: Facts

    def as_result(self) -> Result:
        return {**text_result(self.text), "structuredContent": dict(self.details)}


def lines(*parts: str | Iterable[str]) -> str:
    """Those that say something, one below the other."""
    each = [[part] if isinstance(part, str) else part for part in parts]
    return "\n".join(line for several in each for line in several if line)


def quoted(text: str) -> str:
    """Set in, so that nobody's words can be taken for ours."""
    return "\n".join(f"  {line}" for line in text.splitlines())


class Effect(Enum):
    """What a client's own permission screen is told; that it does not only read is what a client
    takes for granted of a tool that says nothing of it."""

    READS = "readOnlyHint", True
    WRITES = "destructiveHint", False
    MAY_DESTROY = "destructiveHint", True

    @property
    def hints(self) -> JsonObject:
        hint, holds = self.value
        return {hint: holds}
