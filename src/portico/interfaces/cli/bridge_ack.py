"""`portico bridge ack`: say that you have what somebody said, and see who has."""

from portico.interfaces.cli.bridge_names import find_message, names_of_people, short
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At


def ack(message: str, /, *, who: bool = False, at: At) -> None:
    """Say that you have a message, or see who has said so. Whoever can read it may; those to whom
    it is directed owe it, if it was sent with --ack.

    Parameters
    ----------
    message
        Its id, or six letters or more of it.
    who
        Only who has it, and since when.
    """
    server = Server(at.house)
    its = find_message(server, message)
    if not who:
        server.post(path_to("messages", its, "acknowledgements"))
        at.data({"message": its}, f"You have {short(its)}.")
        return
    found = server.get(path_to("messages", its, "acknowledgements"))["data"]
    names = names_of_people(server)
    rows = [each | {"by": names.get(each["by"], each["by"])} for each in found]
    at.table(["by", "at"], rows, {"data": found})
    if not found:
        at.say("Nobody has said so yet.")
