"""`portico spaces` and `contexts`."""

from pathlib import Path
from shlex import quote

from cyclopts import App

from portico.guard.core.errors import NotConfirmed
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, check_free, day, write_lines

app = App(
    name="spaces",
    help="Found, export and delete spaces.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command(name="list", sort_key=1)
def list_(*, at: At) -> None:
    """The spaces that you can see: your own."""
    found = list(Server(at.services).pages("/spaces"))
    rows = [each | {"since": day(each["created_at"])} for each in found]
    at.table(["name", "since", "id"], rows, {"data": found})


@app.command(name="create", sort_key=2)
def create(name: str, /, *, admin: str, at: At) -> None:
    """Found a space of its own for others; prints the link by which its admin comes in.

    Parameters
    ----------
    name
        What the space is called.
    admin
        The person who will be its admin.
    """
    made = Server(at.services).post("/spaces", {"name": name, "admin": admin})
    invitation = made["invitation"]
    at.say(f"Send this link to {admin}; it works once, until {day(invitation['expires_at'])}.")
    at.data(made, invitation["link"])


@app.command(name="rename", sort_key=3)
def rename(name: str, /, *, at: At) -> None:
    """Give your space another name.

    Parameters
    ----------
    name
        The new name.
    """
    server = Server(at.services)
    at.details(server.patch(api_path("spaces", _own(server)["id"]), {"name": name}))


@app.command(name="export", sort_key=4)
def export(target: Path | None = None, /, *, replace: bool = False, at: At) -> None:
    """Everything in your space, one JSON object a line, but for what proves a key.

    Parameters
    ----------
    target
        The file to write; standard output if left away.
    replace
        Even if there is such a file already, which is then lost.
    """
    check_free(target, replace=replace)
    server = Server(at.services)
    lines = server.lines(api_path("spaces", _own(server)["id"], "export"))
    write_lines(at, lines, target, "rows")


@app.command(name="delete", sort_key=5)
def delete(*, confirm: str, at: At) -> None:
    """Remove your space and everything in it, for ever.

    What runs for it on the server that is asked is ended; its secrets and its files on that
    machine go too.

    Parameters
    ----------
    confirm
        The space's name, to show that you mean it.
    """
    server = Server(at.services)
    space = _own(server)
    if confirm != space["name"]:
        error = NotConfirmed(space["name"])
        error.fix = f"Say its name: portico spaces delete --confirm {quote(space['name'])}"
        raise error
    server.delete(api_path("spaces", space["id"]), confirm=confirm)
    at.data({"deleted": space["id"]}, f"The space {space['name']} is gone.")


def _own(server: Server) -> dict[str, str]:
    found: dict[str, str] = next(server.pages("/spaces"))
    return found


contexts_app = App(
    name="contexts",
    help="Open a clean task, see what each has taken in, close it.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@contexts_app.command(name="open", sort_key=1)
def open_(name: str, /, *, at: At) -> None:
    """Open a task in which nothing has been read yet; prints its id.

    Parameters
    ----------
    name
        What you will know it by.
    """
    made = Server(at.services).post("/contexts", {"name": name})
    at.say("Send it as the header Portico-Context, or: portico call | stdio --context ID")
    at.data(made, made["id"])


@contexts_app.command(name="list", sort_key=2)
def list_contexts(*, at: At) -> None:
    """Your tasks that are open: how secret what they have read is, and whether strangers wrote
    any of it."""
    found = Server(at.services).get("/contexts")
    rows = [
        each | {"opened": day(each["opened_at"]), "strangers": "yes" if each["untrusted"] else "no"}
        for each in found
    ]
    at.table(["id", "name", "label", "strangers", "opened"], rows, {"data": found})


@contexts_app.command(name="close", sort_key=3)
def close(context: str, /, *, at: At) -> None:
    """Close a task: nothing more is done in it.

    Parameters
    ----------
    context
        Its id, as `contexts list` shows it.
    """
    Server(at.services).delete(api_path("contexts", context))
    at.say(f"{context} is closed.")
