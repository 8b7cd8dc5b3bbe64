"""Tasks, from the command line."""

from cyclopts import App

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At, day

app = App(
    name="contexts",
    help="Open a clean task, see what each has taken in, close it.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command(name="open", sort_key=1)
def open_(name: str, /, *, at: At) -> None:
    """Open a task in which nothing has been read yet; prints its id.

    Parameters
    ----------
    name
        What you will know it by.
    """
    made = Server(at.house).post("/contexts", {"name": name})
    at.say("Send it as the header Portico-Context, or: portico call | stdio --context ID")
    at.data(made, made["id"])


@app.command(name="list", sort_key=2)
def list_(*, at: At) -> None:
    """Your tasks that are open: how secret what they have read is, and whether strangers wrote
    any of it."""
    found = Server(at.house).get("/contexts")
    rows = [
        each | {"opened": day(each["opened_at"]), "strangers": "yes" if each["untrusted"] else "no"}
        for each in found
    ]
    at.table(["id", "name", "label", "strangers", "opened"], rows, {"data": found})


@app.command(name="close", sort_key=3)
def close(context: str, /, *, at: At) -> None:
    """Close a task: nothing more is done in it.

    Parameters
    ----------
    context
        Its id, as `contexts list` shows it.
    """
    Server(at.house).delete(path_to("contexts", context))
    at.say(f"{context} is closed.")
