"""`portico bridge presence`: who is there, and to say so oneself."""

from typing import Final, Literal

from cyclopts import App

from portico.interfaces.cli.bridge_names import project_id
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="presence",
    help="Who is there in a project, and what they are doing.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

DoingName = Literal["there", "busy", "away"]
_COLUMNS: Final = ["name", "doing", "note", "until"]


@app.command(name="list", sort_key=1)
def list_(project: str, /, *, at: At) -> None:
    """Those who have said so within the last two minutes, by name.

    Parameters
    ----------
    project
        Its name or its id.
    """
    server = Server(at.house)
    there = server.get(path_to("projects", project_id(server, project), "presence"))["data"]
    at.table(_COLUMNS, there, {"data": there})
    if not there:
        at.say("Nobody says that they are there.")


@app.command(name="say", sort_key=2)
def say(project: str, doing: DoingName = "there", note: str = "", /, *, at: At) -> None:
    """Tell all who see the project that you are there, for two minutes; whoever stays says so
    again.

    Parameters
    ----------
    project
        Its name or its id.
    doing
        Whether you are there, busy or away.
    note
        What you are at, in a line.
    """
    server = Server(at.house)
    its = project_id(server, project)
    server.put(path_to("projects", its, "presence"), {"doing": doing, "note": note})
    at.data({"project": its, "doing": doing, "note": note}, f"You are {doing}, for two minutes.")
