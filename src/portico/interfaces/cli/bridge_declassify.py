"""`portico bridge declassify`: ask that a message may be read by more people."""

from shlex import quote
from typing import Final

from portico.interfaces.cli.agent_words import plain
from portico.interfaces.cli.bridge_names import find_message, names_of_people, short
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_COLUMNS: Final = ["copy", "before", "after", "asked_by", "approved_by", "at", "sound", "rules"]


def declassify(message: str, /, *, to: LabelOption = None, records: bool = False, at: At) -> None:
    """Ask that a message is said again, less secret, without the secrets and the personal data that
    are found in it. Somebody else has to approve that.

    portico bridge declassify k3x9fa --to team

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    to
        How secret the copy is to be: public, team, confidential, +….
    records
        Only what was let out of it before, on whose word.
    """
    if (to is None) is not records:
        raise BadUsage(
            "Either --to LABEL or --records.",
            fix=f"Say how secret it may be: portico bridge declassify {quote(message)} --to team",
        )
    server = Server(at.house)
    its = find_message(server, message)
    if records:
        found = server.get(path_to("messages", its, "declassifications"))["data"]
        names = names_of_people(server)
        rows = [
            each
            | {"copy": short(each["copy"]), "rules": ", ".join(each["rules"]) or None}
            | {who: names.get(each[who], each[who]) for who in ("asked_by", "approved_by")}
            for each in found
        ]
        at.table(_COLUMNS, rows, {"data": found}, red=["no"])
        if not found:
            at.say("Nothing was let out of it.")
        return
    asked = server.post(path_to("messages", its, "declassification"), {"to": to})
    changes = asked["diff"] or ["Nothing in it looks like a secret or like personal data."]
    at.data(asked, plain("\n".join(changes)))
    wait = asked["approval"][-6:]
    at.say(
        f"Somebody else says yes to it: portico approvals approve {wait}; then it is said again."
    )
