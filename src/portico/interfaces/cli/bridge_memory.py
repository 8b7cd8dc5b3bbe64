"""`portico bridge memory`: what a project remembers, under keys."""

import json as json_
import sys
from shlex import quote
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from portico.bridge.core.errors import MemoryNotFound
from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.bridge_names import find_project, names_of_people, project_id
from portico.interfaces.cli.bridge_words import raised_in
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.moments import deadline
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="memory",
    help="What a project remembers, under keys.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["key", "version", "label", "changed", "value"]
_SHORT: Final = 80
_HOW: Final = "portico bridge memory set PROJECT KEY VALUE"


@app.command(name="get", sort_key=1)
def get(project: str, key: str, /, *, at: At) -> None:
    """What is remembered under a key: of several labels the most secret that you may read.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    """
    server = Server(at.house)
    its = project_id(server, project)
    try:
        found = server.get(path_to("projects", its, "memory", "value"), key=key)
    except Refused as error:
        if error.code == MemoryNotFound.code:
            error.fix = f"See which keys there are: portico bridge memory list {project}"
        raise
    at.data(found, plain(_text(found["value"])))


@app.command(name="set", sort_key=2)
def set_(  # noqa: PLR0913 # an option each
    project: str,
    key: str,
    value: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    json_value: bool = False,
    upon: int | None = None,
    until: str | None = None,
    label: LabelOption = None,
    at: At,
) -> None:
    """Remember something. What was there before stays in its history.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    value
        A text; from standard input if left away.
    json_value
        The text is JSON, and is kept as what it says.
    upon
        Only if this version is there; 0 if there must be none.
    until
        Only until then, such as 2h or 2026-05-01T14:30.
    label
        How secret it is; as what you have read here, and as the project, if left away.
    """
    text = sys.stdin.read() if value is None and not sys.stdin.isatty() else value
    if text is None:
        raise BadUsage("There is nothing to remember.", fix=_HOW)
    body = {
        "value": _parsed(text) if json_value else text,
        "version": upon,
        "expires_at": deadline("--until", until),
        "label": label,
    }
    server = Server(at.house)
    its = find_project(server, project)
    kept = server.put(path_to("projects", its["id"], "memory", "value"), body, key=key)
    at.data(kept, f"{key} is remembered, as version {kept['version']}, {kept['label']}.")
    if raised := raised_in(its, kept, label):
        at.say(raised)


@app.command(name="list", sort_key=3)
def list_(project: str, prefix: str = "", /, *, at: At) -> None:
    """The keys there are, and what is under them.

    Parameters
    ----------
    project
        Its name or its id.
    prefix
        How the keys begin.
    """
    server = Server(at.house)
    path = path_to("projects", project_id(server, project), "memory")
    found = list(server.pages(path, prefix=prefix))
    _table(at, found)
    if not found:
        at.say(f"Nothing is remembered. To begin: {_HOW}")


@app.command(name="find", sort_key=4)
def find(project: str, /, *words: str, at: At) -> None:
    """What has these words, in its key or in its value; the newest first.

    Parameters
    ----------
    project
        Its name or its id.
    words
        What to look for.
    """
    if not (wanted := " ".join(words).strip()):
        how = f"Say what: portico bridge memory find {quote(project)} WORDS"
        raise BadUsage("There is nothing to look for.", fix=how)
    server = Server(at.house)
    its = project_id(server, project)
    found = server.get(path_to("projects", its, "memory", "search"), q=wanted)["data"]
    _table(at, found)
    if not found:
        at.say("Nothing has all of these words.")


@app.command(name="history", sort_key=5)
def history(project: str, key: str, /, *, at: At) -> None:
    """What was under a key before, newest first.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    """
    server = Server(at.house)
    its = project_id(server, project)
    found = server.get(path_to("projects", its, "memory", "history"), key=key)["data"]
    names = names_of_people(server)
    rows = [
        {
            "version": each["version"],
            "label": each["label"],
            "changed": each["at"],
            "by": names.get(each["by"], each["by"]),
            "value": "(forgotten)" if each["forgotten"] else brief(_text(each["value"]), _SHORT),
        }
        for each in found
    ]
    at.table(["version", "label", "changed", "by", "value"], rows, {"data": found})
    if not found:
        at.say("There was never anything.")


@app.command(name="forget", sort_key=6)
def forget(project: str, key: str, /, *, label: LabelOption = None, at: At) -> None:
    """Nothing is under the key any more; its history stays.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    label
        Under which label; the one that `get` shows, if left away.
    """
    server = Server(at.house)
    its = project_id(server, project)
    under = {} if label is None else {"label": label}
    server.delete(path_to("projects", its, "memory", "value"), key=key, **under)
    at.data({"key": key}, f"{key} is forgotten.")


def _table(at: At, found: list[dict[str, Any]]) -> None:
    rows = [
        each | {"changed": each["at"], "value": brief(_text(each["value"]), _SHORT)}
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found})


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)


def _parsed(text: str) -> object:
    """Raises `BadUsage`."""
    try:
        return json_.loads(text)
    except ValueError as error:
        raise BadUsage(f"That is no JSON: {error}.", fix="Leave --json-value away.") from error
