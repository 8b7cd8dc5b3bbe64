"""`portico bridge edit`, `delete` and `versions`: change what one has said, and see what it was."""

from typing import Final

from portico.interfaces.cli.agent_words import brief
from portico.interfaces.cli.bridge_names import find_message, names_of_people, short
from portico.interfaces.cli.errors import NeedsYes
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_COLUMNS: Final = ["number", "at", "by", "label", "said"]
_SHORT: Final = 200


def edit(message: str, text: str, /, *, at: At) -> None:
    """Say something of yours otherwise; what it was stays in its versions.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    text
        What it is to say.
    """
    server = Server(at.house)
    its = find_message(server, message)
    changed = server.patch(path_to("messages", its), {"body": text})
    at.data(changed, f"{short(its)} says so now.")


def delete(message: str, /, *, yes: bool = False, at: At) -> None:
    """Take back something of yours: nobody reads it any more, and that it was there stays.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    yes
        Do not ask.
    """
    server = Server(at.house)
    its = find_message(server, message)
    question = f"Take back {short(its)}?"
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
    server.delete(path_to("messages", its))
    at.data({"message": its}, f"{short(its)} is taken back.")


def versions(message: str, /, *, at: At) -> None:
    """What a message said before it was changed, oldest first.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    """
    server = Server(at.house)
    found = server.get(path_to("messages", find_message(server, message), "versions"))["data"]
    names = names_of_people(server)
    rows = [
        each | {"by": names.get(each["by"], each["by"]), "said": brief(each["body"], _SHORT)}
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found})
    if not found:
        at.say("It was never changed.")
