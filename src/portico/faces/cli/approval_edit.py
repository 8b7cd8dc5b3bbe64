"""Other arguments than those that were asked for, written by whoever approves them."""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from portico.faces.cli.errors import BadUsage
from portico.faces.cli.terminal import Terminal
from portico.kernel.redaction import BLACK

_EDITORS: Final = ("VISUAL", "EDITOR")
_AT_HAND: Final = "vi"


def edited(at: Terminal, request: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `BadUsage`."""
    before = json.dumps(request["arguments"], ensure_ascii=False, indent=2)
    if BLACK in before:
        raise BadUsage(
            "These arguments hold a secret, which is not shown and would be lost.",
            fix="Reject it, and have it asked for anew.",
        )
    try:
        after = json.loads(_in_editor(before))
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


def _in_editor(text: str) -> str:
    """In a file that only we can read."""
    editor = next((found for name in _EDITORS if (found := os.environ.get(name))), _AT_HAND)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arguments.json"
        file.write_text(text + "\n", encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 # the user's own
        if done.returncode != 0:
            raise BadUsage(f"{editor} ended with {done.returncode}: nothing was answered.")
        return file.read_text(encoding="utf-8")
