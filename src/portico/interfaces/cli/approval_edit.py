"""Other arguments than those that were asked for, written by whoever approves them."""

import json
from collections.abc import Mapping
from typing import Any

from portico.interfaces.cli.editor import in_editor
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.redaction import BLACK


def edited(at: Terminal, request: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `BadUsage`."""
    before = json.dumps(request["arguments"], ensure_ascii=False, indent=2)
    if BLACK in before:
        raise BadUsage(
            "These arguments hold a secret, which is not shown and would be lost.",
            fix="Reject it, and have it asked for anew.",
        )
    try:
        after = json.loads(in_editor(before, "arguments.json", lost="nothing was answered"))
    except ValueError as error:
        raise BadUsage(f"What you have written is not JSON: {error}.") from error
    if not isinstance(after, dict):
        raise BadUsage("The arguments are a JSON object.")
    if after == request["arguments"]:
        at.say("Nothing was changed.")
    for name in sorted({*after, *request["arguments"]}):
        was, now = request["arguments"].get(name), after.get(name)
        if was != now:
            at.line(f"  {name}: {json.dumps(was)} → {json.dumps(now)}", loud=True)
    return after
