"""`portico bridge conversations`: where things are said, and who takes part."""

from shlex import quote
from typing import Annotated, Final

from cyclopts import App, Parameter

from portico.interfaces.cli.bridge_names import (
    conversation_id,
    find_conversation,
    find_people,
    project_id,
)
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="conversations",
    help="Where things are said, and who takes part.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["title", "project", "label", "closed", "active", "id"]
_People = Annotated[list[str] | None, Parameter(consume_multiple=True)]


@app.command(name="list", sort_key=1)
def list_(project: str | None = None, /, *, archived: bool = False, at: At) -> None:
    """Those that you can see, the one with the latest news first.

    Parameters
    ----------
    project
        Only of this one: its name or its id.
    archived
        Those that were put away instead.
    """
    server = Server(at.house)
    only = None if project is None else project_id(server, project)
    found = list(server.pages("/conversations", project=only, archived=archived or None))
    names = {each["id"]: each["name"] for each in server.pages("/projects")} if found else {}
    rows = [
        each | {"project": names.get(each["project"], each["project"]), "active": each["active_at"]}
        for each in found
    ]
    at.table(_COLUMNS, rows, {"data": found})
    if not found and archived:
        at.say("None is archived.")
    elif not found:
        at.say("There are none. To begin one: portico bridge conversations new PROJECT TITLE")


@app.command(name="new", sort_key=2)
def new(
    project: str,
    title: str,
    /,
    *,
    closed: bool = False,
    people: Annotated[_People, Parameter(name="--with")] = None,
    label: LabelOption = None,
    at: At,
) -> None:
    """Begin a conversation; you take part in it.

    Parameters
    ----------
    project
        Its name or its id.
    title
        What it is about.
    closed
        Only for those who take part in it; else for whoever is cleared.
    people
        Who else takes part from the beginning, by name.
    label
        How secret it is, and at least all that is said in it; as its project if left away.
    """
    server = Server(at.house)
    wish = {
        "project": project_id(server, project),
        "title": title,
        "closed": closed,
        "participants": find_people(server, people) if people else [],
        "label": label,
    }
    made = server.post("/conversations", wish)
    at.data(made, f"{made['title']} has begun; it is {made['label']}.")
    at.say(f'To say something: portico bridge post {quote(title)} "…"')


@app.command(name="join", sort_key=3)
def join(conversation: str, who: str | None = None, /, *, at: At) -> None:
    """Take part in a conversation, or have somebody take part; from now on what is said in it
    counts as unread.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    who
        Somebody else, by name.
    """
    server = Server(at.house)
    its = conversation_id(server, conversation)
    whom = None if who is None else find_people(server, [who])[0]
    server.post(path_to("conversations", its, "participants"), {"principal": whom})
    at.data({"conversation": its}, f"{who or 'You'} {'take' if who is None else 'takes'} part.")


@app.command(name="leave", sort_key=4)
def leave(conversation: str, who: str | None = None, /, *, at: At) -> None:
    """Take part no more, or have somebody take part no more in one that you have begun.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    who
        Somebody else, by name.
    """
    server = Server(at.house)
    its = conversation_id(server, conversation)
    whom = server.get("/me")["id"] if who is None else find_people(server, [who])[0]
    server.delete(path_to("conversations", its, "participants", str(whom)))
    parts = "You take" if who is None else f"{who} takes"
    at.data({"conversation": its}, f"{parts} part no more.")


@app.command(name="mute", sort_key=5)
def mute(conversation: str, /, *, off: bool = False, at: At) -> None:
    """What is said in it counts as unread no more, for you alone; nobody else is told.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    off
        It counts again.
    """
    server = Server(at.house)
    its = conversation_id(server, conversation)
    server.put(path_to("conversations", its, "mute"), {"muted": not off})
    at.data({"conversation": its, "muted": not off}, "It counts again." if off else "It is muted.")


@app.command(name="archive", sort_key=6)
def archive(conversation: str, /, *, restore: bool = False, at: At) -> None:
    """Put a conversation away: it can be read, and nothing is said in it any more.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    restore
        Take it out again; it takes its id.
    """
    server = Server(at.house)
    its = conversation_id(server, conversation)
    changed = server.patch(path_to("conversations", its), {"archived": not restore})
    done = "is there again" if restore else "is archived"
    at.data(changed, f"{changed['title']} {done}.")
    if not restore:
        at.say(f"To take it out again: portico bridge conversations archive {its} --restore")


@app.command(name="rename", sort_key=7)
def rename(conversation: str, title: str, /, *, at: At) -> None:
    """Call a conversation something else, for everybody.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    title
        What it is about now.
    """
    server = Server(at.house)
    its = conversation_id(server, conversation)
    changed = server.patch(path_to("conversations", its), {"title": title})
    at.data(changed, f"It is called {changed['title']}.")


@app.command(name="people", sort_key=8)
def people(conversation: str, /, *, at: At) -> None:
    """Who takes part, by when they joined.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    """
    server = Server(at.house)
    found = find_conversation(server, conversation)
    there = server.get(path_to("conversations", found["id"], "participants"))["data"]
    rows = [each | {"since": each["joined_at"]} for each in there]
    at.table(["name", "since", "muted", "principal"], rows, {"data": there})
    if not there:
        how = f"portico bridge conversations join {quote(found['title'])}"
        at.say(f"Nobody does. To be the first: {how}")
