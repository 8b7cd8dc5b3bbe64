"""What happens to runs, printed as it does."""

import json
from collections.abc import Mapping
from typing import Any, Final

from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.following import RESET, Following
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_words import event_line
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal

_OVER: Final = frozenset({"run.done", "run.failed", "run.cancelled", "run.stuck"})


def tail_one(server: Server, run: str, at: Terminal) -> int:
    last = ""
    for told in Following(server, at.say)(path_to("runs", run, "events")):
        _tell(told.type, told.data, at, of_many=False)
        last = told.type if told.type in _OVER else last
    return Exit.OK if last == "run.done" else Exit.FAILED


def tail_all(server: Server, at: Terminal) -> None:
    """The stream has everything from the beginning; what is older than our coming is not news."""
    following = Following(server, at.say)
    for told in following("/events", topics="runs"):
        began = following.began_at
        if began is None or told.data.get("at", "9") >= f"{began:%Y-%m-%dT%H:%M:%S}":
            _tell(told.type, told.data, at, of_many=True)


def _tell(type_: str, event: Mapping[str, Any], at: Terminal, *, of_many: bool) -> None:
    """Pieces of text come again, put together, in what is kept; a person is not told them twice."""
    if type_ == RESET:
        at.say("Some of what happened is not kept any more.")
    elif at.json:
        print(json.dumps(event, ensure_ascii=False), flush=True)
    elif type_ != "text.delta":
        print(event_line(event, of_many=of_many), flush=True)
