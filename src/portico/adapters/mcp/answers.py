"""What a server answered, in the gateway's words."""

from typing import Final

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

from portico.adapters.mcp.exchange import WORDS, Exchange
from portico.adapters.mcp.wire import Message, Refusal, Spoilt
from portico.gateway.core.calls import Answer, Wanted
from portico.gateway.core.errors import InputUnsupported, UpstreamRefused
from portico.kernel.errors import PorticoError

_WANTED: Final = {
    "elicitation": Wanted.ELICITATION,
    "sampling": Wanted.SAMPLING,
    "roots": Wanted.ROOTS,
}


def answered(exchange: Exchange, result: Message) -> Answer:
    """Raises `InputUnsupported` or `InputRefused` if the tool failed, and that may be why; a tool
    that went on without an answer has done what it has done."""
    if result.get("resultType", "complete") != "complete":
        raise Spoilt("it answered with a kind of result that we did not say we know")
    failed = result.get("isError") is True
    if failed and exchange.refused is not None:
        raise exchange.refused
    content = result.get("content")
    return Answer(
        content=_blocks(content) if isinstance(content, list) else [],
        structured=result.get("structuredContent"),
        failed=failed,
        meta=_meta(result.get("_meta")),
    )


def objected(exchange: Exchange, refusal: Refusal) -> Answer:
    """An error of the protocol is how some servers say that a tool has failed. Raises
    `InputUnsupported`, `InputRefused`."""
    wanting = _wanting(exchange, refusal)
    if wanting is not None:
        raise wanting
    text = refusal.message or f"Error {refusal.code}"
    return Answer(content=[{"type": "text", "text": text}], failed=True)


def refused(server: str, exchange: Exchange, refusal: Refusal) -> PorticoError:
    """The same for what is no tool, and so has no answer that says it failed."""
    wanting = _wanting(exchange, refusal)
    return wanting or UpstreamRefused(server, refusal.code, refusal.message)


def passed_on(result: Message) -> Message:
    """As it came, but for what only concerns us."""
    kept = {key: value for key, value in result.items() if key not in {"resultType", "_meta"}}
    meta = _meta(result.get("_meta"))
    return kept if meta is None else {**kept, "_meta": meta}


def _wanting(exchange: Exchange, refusal: Refusal) -> PorticoError | None:
    """If something was asked for, and not given."""
    if exchange.refused is not None:
        return exchange.refused
    if refusal.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return InputUnsupported(exchange.subject, _required(refusal.data))
    if refusal.code == URL_ELICITATION_REQUIRED:
        return InputUnsupported(exchange.subject, "a visit to an address")
    return None


def _blocks(content: list[object]) -> list[Message]:
    return [block for block in content if isinstance(block, dict)]


def _meta(meta: object) -> Message | None:
    """Without the name of who answers: to the caller, that is us."""
    if not isinstance(meta, dict):
        return None
    return {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY} or None


def _required(data: object) -> str:
    wanted = data.get("requiredCapabilities") if isinstance(data, dict) else None
    names = wanted if isinstance(wanted, dict | list) else ()
    named = [WORDS[wish] for name, wish in _WANTED.items() if name in names]
    return " and ".join(named) or "something"
