"""Everything that the page of one tool shows, asked for one after the other."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from portico.gateway.catalog import ToolLook
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.tools.effects import EFFECTS
from portico.interfaces.console.screens.tools.policy_view import SETTINGS, Policy, policy
from portico.interfaces.console.screens.tools.result_view import Result
from portico.interfaces.console.screens.tools.schema_form import Field, fields
from portico.interfaces.console.screens.tools.tool_view import (
    CALLS,
    Nearby,
    call_rows,
    copies,
    examples,
    nearby,
    tool_view,
)
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

WITHIN: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody has filled in, and what came of it."""

    fields: list[Field] | None = None
    """None: as the schema has them, with nothing filled in."""
    raw: str = ""
    as_raw: bool = False
    arguments: JsonObject | None = None
    result: Result | None = None
    problem: PorticoError | None = None
    pending: str | None = None
    """The id of the request for approval that it became."""
    login: str | None = None
    replayed: bool = False


NOTHING: Final = Attempt()


def trying(desk: Desk, ref: ToolRef) -> Principal:
    """Each tool that is tried is a task of its own: what one of them gave is not held against
    what another is given."""
    return desk.at(f"tool {ref}")


async def whole_page(
    desk: Desk, ref: ToolRef, attempt: Attempt, *, before: datetime | None = None
) -> dict[str, Any]:
    gateway, caller = desk.house.gateway, desk.caller
    look = await gateway.show_tool(caller, ref)
    calls = await gateway.list_calls(desk.at("tools"), ref=ref, before=before, limit=CALLS)
    figures = await gateway.show_figures(caller, server=ref.server, within=WITHIN)
    its = next((each for each in figures if each.name == ref.name), None)
    return {
        **try_values(look, attempt),
        "view": tool_view(look, its),
        "calls": call_rows(calls, caller.id),
        "older": calls[-1].started_at.isoformat() if len(calls) == CALLS else None,
        "examples": examples(look, calls),
        "near": await _near(desk, ref),
        "policy": await _policy(desk, ref),
        "effects": EFFECTS,
        "settings": SETTINGS,
        "may_effect": caller.may(Scope.SERVERS_APPROVE),
        "may_rule": caller.may(Scope.POLICY_WRITE),
    }


def try_values(look: ToolLook, attempt: Attempt) -> dict[str, Any]:
    made = fields(look.tool.definition.input_schema, attempt.arguments)
    known = attempt.fields if attempt.fields is not None else made
    return {
        "look": look,
        "attempt": replace(attempt, as_raw=attempt.as_raw or known is None),
        "fields": known,
        "copies": copies(look, attempt.arguments or {}),
    }


async def _near(desk: Desk, ref: ToolRef) -> Nearby | None:
    try:
        return nearby(await desk.house.gateway.graph.neighbours(desk.caller, ref, 6))
    except PorticoError:
        return None  # of a tool that is not offered nothing is told


async def _policy(desk: Desk, ref: ToolRef) -> Policy | None:
    caller = trying(desk, ref)
    if not caller.may(Scope.POLICY_READ):
        return None
    try:
        return policy(await desk.house.gateway.policy.explain(caller, caller.name, str(ref)))
    except PorticoError:
        return None
