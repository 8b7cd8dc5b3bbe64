"""What is told of servers and their tools in the audit: pins and effects, none of their words."""

from collections.abc import Iterator, Sequence
from typing import Final

from portico.gateway.core.server import Server, standing
from portico.gateway.core.tool import Standing, Tool
from portico.guard.core.audit import AuditEntry
from portico.kernel.json import JsonValue

_KEPT_OUT: Final = {Standing.NEW, Standing.CHANGED, Standing.REFUSED, Standing.GONE}


def about_server(action: str, server: Server, **more: JsonValue) -> AuditEntry:
    facts = {"origin": server.origin, "launch_pin": server.launch_pin, **more}
    return AuditEntry(action=action, subject=server.name, facts=facts)


def about_acceptance(
    server: Server, before: Sequence[Tool], after: Sequence[Tool]
) -> Iterator[AuditEntry]:
    yield about_server("server.tools_accepted", server, set_pin=server.accepted_set_pin)
    known = {tool.ref: tool for tool in before}
    for tool in after:
        was = known.get(tool.ref)
        if was is not None and _accepted(was) != _accepted(tool):
            effect, pin = _accepted(tool)
            facts: dict[str, JsonValue] = {"effect": effect, "pin": pin}
            was_effect, was_pin = _accepted(was)
            facts |= {"was_effect": was_effect, "was_pin": was_pin}
            yield AuditEntry(action="tool.accepted", subject=str(tool.ref), facts=facts)


def about_listing(
    was: Server, now: Server, before: Sequence[Tool], after: Sequence[Tool]
) -> Iterator[AuditEntry]:
    """What became unusable by what the server says now, and what is as it was accepted again."""
    if was.said and not now.said:
        yield about_server("server.instructions_changed", now)
    if was.offers == was.accepted_offers != now.offers and now.approved:
        yield about_server("server.offers_changed", now)
    stood = {tool.ref: standing(was, tool) for tool in before}
    for tool in after:
        earlier, stands = stood.get(tool.ref), standing(now, tool)
        if stands in _KEPT_OUT and earlier is not stands and now.approved:
            yield _about_tool("tool.quarantined", tool, stands)
        elif stands is Standing.LIVE and earlier in _KEPT_OUT:
            yield _about_tool("tool.restored", tool, stands)


def _about_tool(action: str, tool: Tool, stands: Standing) -> AuditEntry:
    facts: dict[str, JsonValue] = {
        "standing": str(stands),
        "pin": tool.pin,
        "accepted_pin": tool.accepted_pin,
    }
    return AuditEntry(action=action, subject=str(tool.ref), facts=facts)


def _accepted(tool: Tool) -> tuple[str, str | None]:
    return str(tool.effect), tool.accepted_pin
