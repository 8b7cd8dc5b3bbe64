"""From rows to tools and back.

A definition is kept as it came, and beside it only what is read otherwise than it stands there:
most schemas are kept once, and are one value in memory too.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from portico.adapters.postgres.plain_text import storable, storable_or_none
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.kernel.tokens import Tokens

Row = Mapping[str, Any]

_STANDS_AS: Final = {
    "name": "name",
    "title": "title",
    "description": "description",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "annotations": "annotations",
}


def tool_columns(tools: Sequence[Tool]) -> dict[str, object]:
    """As lists, one a column: what a stranger wrote is not looked into on its way."""
    return {
        "names": [storable(tool.ref.name) for tool in tools],
        "positions": list(range(len(tools))),
        "definitions": [_definition_text(tool.definition) for tool in tools],
        "pins": [tool.pin for tool in tools],
        "tokens": [tool.tokens for tool in tools],
        "effects": [tool.effect.value for tool in tools],
        "accepted_definitions": [_accepted_text(tool) for tool in tools],
        "accepted_pins": [tool.accepted_pin for tool in tools],
        "refusals": [storable_or_none(tool.refused) for tool in tools],
        "gone": [tool.gone for tool in tools],
    }


def tool_from(server: str, row: Row) -> Tool:
    """Of a row whose definitions are texts still."""
    definition = _definition_from(row["definition"])
    return Tool(
        ref=ToolRef(server, row["name"]),
        definition=definition,
        pin=row["pin"],
        tokens=Tokens(row["tokens"]),
        effect=Effect(row["effect"]),
        accepted=_accepted(row, definition),
        accepted_pin=row["accepted_pin"],
        refused=row["refused"],
        gone=row["gone"],
    )


def _accepted(row: Row, seen: Definition) -> Definition | None:
    if row["accepted_pin"] is None:
        return None
    other = row["accepted_definition"]
    return seen if other is None else _definition_from(other)


def _accepted_text(tool: Tool) -> str | None:
    """Only where it is another than the one that is seen now."""
    if tool.accepted is None or tool.accepted_pin == tool.pin:
        return None
    return _definition_text(tool.accepted)


def _definition_text(definition: Definition) -> str:
    told: dict[str, JsonValue] = {"raw": definition.raw}
    for field, stands_as in _STANDS_AS.items():
        value = getattr(definition, field)
        if stands_as not in definition.raw or definition.raw[stands_as] != value:
            told[field] = value
    return json.dumps(told)


def _definition_from(text: str) -> Definition:
    told = json.loads(text)
    raw = told["raw"]
    return Definition(
        raw=raw,
        **{
            field: told[field] if field in told else raw[stands_as]
            for field, stands_as in _STANDS_AS.items()
        },
    )
