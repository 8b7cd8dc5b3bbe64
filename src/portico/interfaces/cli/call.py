"""`portico call`: call one tool."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.gateway.core.errors import ToolSaidNo
from portico.interfaces.cli.call_waiting import told_what_waits
from portico.interfaces.cli.errors import ApprovalNeeded, BadUsage
from portico.interfaces.cli.named_values import named_values
from portico.interfaces.cli.results import whole_result
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

_PENDING: Final = "approval_pending"


def call(
    tool: str,
    /,
    *pairs: str,
    input_: Annotated[str | None, Parameter(name="--input", allow_leading_hyphen=True)] = None,
    wait: bool = False,
    context: str | None = None,
    at: At,
) -> None:
    """Call a tool, and print what it gives.

    portico call time.get_current_time timezone=Europe/Berlin

    Parameters
    ----------
    tool
        server.tool, as `portico search` shows it.
    pairs
        NAME=VALUE; a value that is JSON is taken as that, anything else as a text.
    input_
        All arguments as a JSON object, or @FILE to read it from there, or - for standard input.
    wait
        If somebody has to approve it, until they have answered, however long it takes. Without it
        a call that is not answered at once ends with exit code 6, and goes on waiting by itself.
    context
        The task that it is part of, as `portico contexts open` gives it; that of your key if left
        away.
    """
    arguments = {**_object(input_), **named_values(pairs)}
    server = Server(at.house, context=context)
    with at.working(f"calling {tool}") as progress:
        answer = _answered(server, tool, arguments, progress, wait=wait)
        text = "" if at.json else _text(server, answer)
    at.data(answer, text)
    if answer["failed"]:
        raise ToolSaidNo(tool, fix=f"See what it takes: portico tools show {tool}")


def _answered(
    server: Server, tool: str, arguments: JsonObject, progress: Callable[[str], None], *, wait: bool
) -> Any:  # noqa: ANN401 # likewise
    """Raises `ApprovalNeeded`."""
    asked = None
    while True:
        with told_what_waits(server, tool, progress):
            answer = _answer(server, tool, arguments)
        if answer.get("status") != _PENDING:
            return answer
        another = asked is not None and asked != answer["approval"]
        asked = answer["approval"]
        if another or not wait:
            raise ApprovalNeeded(tool, asked)


def _answer(server: Server, tool: str, arguments: JsonObject) -> Any:  # noqa: ANN401 # JSON, shown as it is
    try:
        return server.post("/calls", {"tool": tool, "arguments": arguments})
    except Refused as error:
        if error.code == "bad_arguments":
            error.fix = f"See what it takes: portico tools show {tool}"
        raise


def _text(server: Server, answer: dict[str, Any]) -> str:
    """All of it. Of an answer that was kept, the first block is only the beginning, and the last
    one says to a model how to go on."""
    blocks = answer["content"]
    if answer["result"] is None:
        return "\n".join(map(_shown, blocks))
    whole = whole_result(server, answer["result"])
    return "\n".join([whole, *map(_shown, blocks[1:-1])])


def _object(text: str | None) -> JsonObject:
    if text is None:
        return {}
    try:
        found = json.loads(_read(text))
    except (ValueError, OSError) as error:
        raise BadUsage(f"--input cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise BadUsage("--input is a JSON object.")
    return found


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text


def _shown(block: dict[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    data = block.get("data")
    size = f", {len(data):,} characters" if isinstance(data, str) else ""
    return f"[{block.get('type')} {block.get('mimeType', '')}{size}]"
