"""`portico notifications`: what agents tell people."""

import json
from datetime import datetime
from typing import Annotated, Final

from cyclopts import Parameter

from portico.interfaces.cli.agent_text import plain
from portico.interfaces.cli.server import RESET, Following, ReceivedEvent, Server
from portico.interfaces.cli.terminal import At, Terminal

_TOPIC: Final = "notifications"


def notifications(*, all_: Annotated[bool, Parameter(name="--all")] = False, at: At) -> None:
    """What agents tell the people here, as they do, until Ctrl-C.

    Parameters
    ----------
    all_
        Also what was told before, as far as it is kept.
    """
    following = Following(Server(at.services), at.say)
    at.say("Waiting for notifications; Ctrl-C ends.")
    for told in following("/events", topics=_TOPIC):
        began = following.began_at
        new = began is None or told.data.get("at", "9") >= f"{began:%Y-%m-%dT%H:%M:%S}"
        if told.type != RESET and (all_ or new):
            _tell(told, at)


def _tell(told: ReceivedEvent, at: Terminal) -> None:
    if at.json:
        print(json.dumps(told.data, ensure_ascii=False), flush=True)
        return
    facts = told.data["facts"]
    moment = datetime.fromisoformat(told.data["at"]).astimezone()
    at.line(f"{moment:%H:%M:%S}  {plain(facts['from'])}: {plain(facts['title'])}", loud=True)
    for line in plain(facts["text"]).splitlines():
        at.line(f"          {line}")
