"""`portico bridge work`: what is to be done in a project, and who has it."""

from shlex import quote
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.interfaces.cli.bridge_names import (
    find_people,
    find_project,
    find_work,
    project_id,
    short,
)
from portico.interfaces.cli.bridge_words import raised_in
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="work",
    help="What is to be done in a project, and who has it.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

StateName = Literal["open", "claimed", "done", "dropped"]
_HELD_UP: Final = "waits for other work"
_COLUMNS: Final = ["work", "state", "who", "label", "title", "outcome"]


@app.command(name="add", sort_key=1)
def add(  # noqa: PLR0913 # an option each
    project: str,
    title: str,
    body: str = "",
    /,
    *,
    after: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    label: LabelOption = None,
    key: str | None = None,
    at: At,
) -> None:
    """Say what is to be done; whoever comes can claim it.

    Parameters
    ----------
    project
        Its name or its id.
    title
        In a line.
    body
        All that whoever does it should know.
    after
        What has to be over before: ids, or six letters or more of them.
    label
        How secret it is; as what you have read here, and as the project, if left away.
    key
        Of your own: the same key again is the same piece of work.
    """
    server = Server(at.house)
    wish = {
        "title": title,
        "body": body,
        "depends": [find_work(server, each)["id"] for each in after or ()],
        "label": label,
    }
    its = find_project(server, project)
    made = server.post(path_to("projects", its["id"], "work"), wish, key=key)
    at.data(made, f"{short(made['id'])} is to be done.")
    if raised := raised_in(its, made, label):
        at.say(raised)
    at.say(f"To do it yourself: portico bridge work claim {short(made['id'])}")


@app.command(name="list", sort_key=2)
def list_(project: str, /, *, state: StateName | None = None, at: At) -> None:
    """What is to be done and what was, oldest first.

    Parameters
    ----------
    project
        Its name or its id.
    state
        Only what is so far.
    """
    server = Server(at.house)
    path = path_to("projects", project_id(server, project), "work")
    found = list(server.pages(path, state=state))
    rows = [
        each
        | {
            "work": short(each["id"]),
            "state": _HELD_UP if each["held_up"] and each["state"] == "open" else each["state"],
            "who": each["claimed_by_name"],
            "outcome": each["outcome"] or None,
        }
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found}, fold=["title", "outcome"])
    if not found and state is None:
        how = f"portico bridge work add {quote(project)} TITLE"
        at.say(f"There is nothing. To say what is to be done: {how}")
    elif not found:
        at.say(f"Nothing is {state}.")


@app.command(name="show", sort_key=3)
def show(work: str, /, *, at: At) -> None:
    """All of one piece of work.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    """
    at.facts(find_work(Server(at.house), work))


@app.command(name="claim", sort_key=4)
def claim(work: str, /, *, at: At) -> None:
    """Take it: nobody else can then, until you hand it over.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    """
    server = Server(at.house)
    claimed = server.post(path_to("work", find_work(server, work)["id"], "claim"))
    at.data(claimed, f"{claimed['title']} is yours; token {claimed['token']}.")
    at.say(f'When it is done: portico bridge work done {short(claimed["id"])} "What came of it"')


@app.command(name="hand-over", sort_key=5)
def hand_over(work: str, /, to: str | None = None, *, token: int | None = None, at: At) -> None:
    """Give what you have claimed to somebody, or to whoever comes.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    to
        Whom, by name; whoever comes, if left away.
    token
        That of your claim. Looked up if left away.
    """
    server = Server(at.house)
    found = find_work(server, work)
    whom = None if to is None else find_people(server, [to])[0]
    body = {"token": found["token"] if token is None else token, "to": whom}
    handed = server.post(path_to("work", found["id"], "hand-over"), body)
    at.data(handed, f"{handed['title']} is {to or 'whoever comes'}'s.")


@app.command(name="done", sort_key=6)
def done(work: str, outcome: str | None = None, /, *, token: int | None = None, at: At) -> None:
    """What you have claimed is done.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    outcome
        What came of it.
    token
        That of your claim. Looked up if left away.
    """
    _end(at, work, "done", outcome, token)


@app.command(name="drop", sort_key=7)
def drop(work: str, outcome: str | None = None, /, *, token: int | None = None, at: At) -> None:
    """What you have claimed is not to be done after all.

    Parameters
    ----------
    work
        Its id, or six letters or more of it.
    outcome
        Why.
    token
        That of your claim. Looked up if left away.
    """
    _end(at, work, "dropped", outcome, token)


def _end(at: At, work: str, state: str, outcome: str | None, token: int | None) -> None:
    server = Server(at.house)
    found = find_work(server, work)
    said: dict[str, Any] = {
        "token": found["token"] if token is None else token,
        "state": state,
        "outcome": outcome or "",
    }
    ended = server.post(path_to("work", found["id"], "end"), said)
    at.data(ended, f"{ended['title']} is {state}.")
