"""`portico bridge`: projects, conversations, presence, memory, and all its commands."""

import json as json_
import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Group, Parameter

from portico.bridge.core.errors import MemoryNotFound
from portico.interfaces.cli.agent_text import brief, plain
from portico.interfaces.cli.bridge_messages import (
    ack,
    attach,
    declassify,
    delete,
    edit,
    fetch,
    inbox,
    post,
    read,
    search,
    versions,
    watch,
)
from portico.interfaces.cli.bridge_text import (
    conversation_id,
    find_conversation,
    find_people,
    find_project,
    names_of_people,
    project_id,
    raised_in,
)
from portico.interfaces.cli.bridge_work import lease_app as lease
from portico.interfaces.cli.bridge_work import work_app as work
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.server import Refused, Server, api_path
from portico.interfaces.cli.terminal import (
    PLAIN,
    At,
    LabelOption,
    check_free,
    deadline,
    write_lines,
)

projects_app = App(
    name="projects",
    help="What agents and people work on together.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "label", "active", "id", "description"]
_HOW: Final = "To begin one: portico bridge projects new NAME"


@projects_app.command(name="list", sort_key=1)
def list_(*, archived: bool = False, at: At) -> None:
    """Those that you can see, the one with the latest news first.

    Parameters
    ----------
    archived
        Those that were put away instead.
    """
    found = list(Server(at.services).pages("/projects", archived=archived or None))
    rows = [each | {"active": each["active_at"]} for each in found]
    at.table(_COLUMNS, rows, {"data": found})
    if not found:
        at.say("None is archived." if archived else f"There are none. {_HOW}")


@projects_app.command(name="new", sort_key=2)
def new(name: str, /, *, description: str = "", label: LabelOption = None, at: At) -> None:
    """Begin a project.

    Parameters
    ----------
    name
        What it is called; names of others that you can see are taken.
    description
        What it is about.
    label
        How secret it is, and at least all that is in it: public, team, confidential, restricted,
        +…. As what you have read, if left away.
    """
    wish = {"name": name, "description": description, "label": label}
    made = Server(at.services).post("/projects", wish)
    at.data(made, f"{made['name']} is there; it is {made['label']}.")
    at.say(f"To talk in it: portico bridge conversations new {_quoted(name)} TITLE")


@projects_app.command(name="show", sort_key=3)
def show(project: str, /, *, at: At) -> None:
    """All of one project, and who is there.

    Parameters
    ----------
    project
        Its name or its id.
    """
    server = Server(at.services)
    found = find_project(server, project)
    there = server.get(api_path("projects", found["id"], "presence"))["data"]
    if at.json:
        at.data({**found, "presence": there}, "")
        return
    who = ", ".join(_presence(each) for each in there) or "nobody says so"
    names = names_of_people(server)
    made_by = names.get(found["made_by"], found["made_by"])
    at.details({**found, "made_by": made_by, "who_is_there": who})


@projects_app.command(name="archive", sort_key=4)
def archive(project: str, /, *, restore: bool = False, at: At) -> None:
    """Put a project away: it can be read, and nothing is written in it any more.

    Parameters
    ----------
    project
        Its name or its id.
    restore
        Take it out again; it takes its id.
    """
    server = Server(at.services)
    its = project_id(server, project)
    changed = server.patch(api_path("projects", its), {"archived": not restore})
    done = "is there again" if restore else "is archived"
    at.data(changed, f"{changed['name']} {done}.")
    if not restore:
        at.say(f"To take it out again: portico bridge projects archive {its} --restore")


@projects_app.command(name="rename", sort_key=5)
def rename(
    project: str, name: str | None = None, /, *, description: str | None = None, at: At
) -> None:
    """Call a project something else, or say anew what it is for.

    Parameters
    ----------
    project
        Its name or its id.
    name
        What it is called from now on; as before if left away.
    description
        What it is for; as before if left away.
    """
    server = Server(at.services)
    its = project_id(server, project)
    wish = {"name": name, "description": description}
    wanted = {field: value for field, value in wish.items() if value is not None}
    changed = server.patch(api_path("projects", its), wanted)
    at.data(changed, f"It is called {changed['name']}.")


@projects_app.command(name="export", sort_key=6)
def export(project: str, /, *, output: Path | None = None, replace: bool = False, at: At) -> None:
    """All of a project that you may see, a JSON object a line: conversations, messages, memory,
    work.

    Parameters
    ----------
    project
        Its name or its id.
    output
        The file to write; standard output if left away.
    replace
        Even if there is such a file.
    """
    check_free(output, replace=replace)
    server = Server(at.services)
    lines = server.lines(api_path("projects", project_id(server, project), "export"))
    write_lines(at, lines, output, "lines")


def _presence(each: dict[str, str]) -> str:
    note = f": {each['note']}" if each["note"] else ""
    return f"{each['name']} ({each['doing']}{note})"


def _quoted(name: str) -> str:
    from shlex import quote

    return quote(name)


conversations_app = App(
    name="conversations",
    help="Where things are said, and who takes part.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_CONVERSATIONS_COLUMNS: Final = ["title", "project", "label", "closed", "active", "id"]
_People = Annotated[list[str] | None, Parameter(consume_multiple=True)]


@conversations_app.command(name="list", sort_key=1)
def list_conversations(project: str | None = None, /, *, archived: bool = False, at: At) -> None:
    """Those that you can see, the one with the latest news first.

    Parameters
    ----------
    project
        Only of this one: its name or its id.
    archived
        Those that were put away instead.
    """
    server = Server(at.services)
    only = None if project is None else project_id(server, project)
    found = list(server.pages("/conversations", project=only, archived=archived or None))
    names = {each["id"]: each["name"] for each in server.pages("/projects")} if found else {}
    rows = [
        each | {"project": names.get(each["project"], each["project"]), "active": each["active_at"]}
        for each in found
    ]
    at.table(_CONVERSATIONS_COLUMNS, rows, {"data": found})
    if not found and archived:
        at.say("None is archived.")
    elif not found:
        at.say("There are none. To begin one: portico bridge conversations new PROJECT TITLE")


@conversations_app.command(name="new", sort_key=2)
def new_conversation(
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
    server = Server(at.services)
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


@conversations_app.command(name="join", sort_key=3)
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
    server = Server(at.services)
    its = conversation_id(server, conversation)
    whom = None if who is None else find_people(server, [who])[0]
    server.post(api_path("conversations", its, "participants"), {"principal": whom})
    at.data({"conversation": its}, f"{who or 'You'} {'take' if who is None else 'takes'} part.")


@conversations_app.command(name="leave", sort_key=4)
def leave(conversation: str, who: str | None = None, /, *, at: At) -> None:
    """Take part no more, or have somebody take part no more in one that you have begun.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    who
        Somebody else, by name.
    """
    server = Server(at.services)
    its = conversation_id(server, conversation)
    whom = server.get("/me")["id"] if who is None else find_people(server, [who])[0]
    server.delete(api_path("conversations", its, "participants", str(whom)))
    parts = "You take" if who is None else f"{who} takes"
    at.data({"conversation": its}, f"{parts} part no more.")


@conversations_app.command(name="mute", sort_key=5)
def mute(conversation: str, /, *, off: bool = False, at: At) -> None:
    """What is said in it counts as unread no more, for you alone; nobody else is told.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    off
        It counts again.
    """
    server = Server(at.services)
    its = conversation_id(server, conversation)
    server.put(api_path("conversations", its, "mute"), {"muted": not off})
    at.data({"conversation": its, "muted": not off}, "It counts again." if off else "It is muted.")


@conversations_app.command(name="archive", sort_key=6)
def archive_conversation(conversation: str, /, *, restore: bool = False, at: At) -> None:
    """Put a conversation away: it can be read, and nothing is said in it any more.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    restore
        Take it out again; it takes its id.
    """
    server = Server(at.services)
    its = conversation_id(server, conversation)
    changed = server.patch(api_path("conversations", its), {"archived": not restore})
    done = "is there again" if restore else "is archived"
    at.data(changed, f"{changed['title']} {done}.")
    if not restore:
        at.say(f"To take it out again: portico bridge conversations archive {its} --restore")


@conversations_app.command(name="rename", sort_key=7)
def rename_conversation(conversation: str, title: str, /, *, at: At) -> None:
    """Call a conversation something else, for everybody.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    title
        What it is about now.
    """
    server = Server(at.services)
    its = conversation_id(server, conversation)
    changed = server.patch(api_path("conversations", its), {"title": title})
    at.data(changed, f"It is called {changed['title']}.")


@conversations_app.command(name="people", sort_key=8)
def people(conversation: str, /, *, at: At) -> None:
    """Who takes part, by when they joined.

    Parameters
    ----------
    conversation
        Its title, PROJECT/TITLE, or its id.
    """
    server = Server(at.services)
    found = find_conversation(server, conversation)
    there = server.get(api_path("conversations", found["id"], "participants"))["data"]
    rows = [each | {"since": each["joined_at"]} for each in there]
    at.table(["name", "since", "muted", "principal"], rows, {"data": there})
    if not there:
        how = f"portico bridge conversations join {quote(found['title'])}"
        at.say(f"Nobody does. To be the first: {how}")


presence_app = App(
    name="presence",
    help="Who is there in a project, and what they are doing.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

DoingName = Literal["there", "busy", "away"]
_PRESENCE_COLUMNS: Final = ["name", "doing", "note", "until"]


@presence_app.command(name="list", sort_key=1)
def list_presence(project: str, /, *, at: At) -> None:
    """Those who have said so within the last two minutes, by name.

    Parameters
    ----------
    project
        Its name or its id.
    """
    server = Server(at.services)
    there = server.get(api_path("projects", project_id(server, project), "presence"))["data"]
    at.table(_PRESENCE_COLUMNS, there, {"data": there})
    if not there:
        at.say("Nobody says that they are there.")


@presence_app.command(name="say", sort_key=2)
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
    server = Server(at.services)
    its = project_id(server, project)
    server.put(api_path("projects", its, "presence"), {"doing": doing, "note": note})
    at.data({"project": its, "doing": doing, "note": note}, f"You are {doing}, for two minutes.")


memory_app = App(
    name="memory",
    help="What a project remembers, under keys.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_MEMORY_COLUMNS: Final = ["key", "version", "label", "changed", "value"]
_SHORT: Final = 80
_MEMORY_HOW: Final = "portico bridge memory set PROJECT KEY VALUE"


@memory_app.command(name="get", sort_key=1)
def get(project: str, key: str, /, *, at: At) -> None:
    """What is remembered under a key: of several labels the most secret that you may read.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    """
    server = Server(at.services)
    its = project_id(server, project)
    try:
        found = server.get(api_path("projects", its, "memory", "value"), key=key)
    except Refused as error:
        if error.code == MemoryNotFound.code:
            error.fix = f"See which keys there are: portico bridge memory list {project}"
        raise
    at.data(found, plain(_text(found["value"])))


@memory_app.command(name="set", sort_key=2)
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
        raise InvalidUsage("There is nothing to remember.", fix=_MEMORY_HOW)
    body = {
        "value": _parsed(text) if json_value else text,
        "version": upon,
        "expires_at": deadline("--until", until),
        "label": label,
    }
    server = Server(at.services)
    its = find_project(server, project)
    kept = server.put(api_path("projects", its["id"], "memory", "value"), body, key=key)
    at.data(kept, f"{key} is remembered, as version {kept['version']}, {kept['label']}.")
    if raised := raised_in(its, kept, label):
        at.say(raised)


@memory_app.command(name="list", sort_key=3)
def list_memory(project: str, prefix: str = "", /, *, at: At) -> None:
    """The keys there are, and what is under them.

    Parameters
    ----------
    project
        Its name or its id.
    prefix
        How the keys begin.
    """
    server = Server(at.services)
    path = api_path("projects", project_id(server, project), "memory")
    found = list(server.pages(path, prefix=prefix))
    _table(at, found)
    if not found:
        at.say(f"Nothing is remembered. To begin: {_MEMORY_HOW}")


@memory_app.command(name="find", sort_key=4)
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
        raise InvalidUsage("There is nothing to look for.", fix=how)
    server = Server(at.services)
    its = project_id(server, project)
    found = server.get(api_path("projects", its, "memory", "search"), q=wanted)["data"]
    _table(at, found)
    if not found:
        at.say("Nothing has all of these words.")


@memory_app.command(name="history", sort_key=5)
def history(project: str, key: str, /, *, at: At) -> None:
    """What was under a key before, newest first.

    Parameters
    ----------
    project
        Its name or its id.
    key
        Such as notes/build.
    """
    server = Server(at.services)
    its = project_id(server, project)
    found = server.get(api_path("projects", its, "memory", "history"), key=key)["data"]
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


@memory_app.command(name="forget", sort_key=6)
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
    server = Server(at.services)
    its = project_id(server, project)
    under = {} if label is None else {"label": label}
    server.delete(api_path("projects", its, "memory", "value"), key=key, **under)
    at.data({"key": key}, f"{key} is forgotten.")


def _table(at: At, found: list[dict[str, Any]]) -> None:
    rows = [
        each | {"changed": each["at"], "value": brief(_text(each["value"]), _SHORT)}
        for each in found
    ]
    at.table(_MEMORY_COLUMNS, rows, {"data": found})


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)


def _parsed(text: str) -> object:
    """Raises `InvalidUsage`."""
    try:
        return json_.loads(text)
    except ValueError as error:
        raise InvalidUsage(f"That is no JSON: {error}.", fix="Leave --json-value away.") from error


app = App(
    name="bridge",
    help="Agents and people at one table: projects, conversations, memory, leases, work.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_TALK = Group("Talk", sort_key=1)
_THINGS = Group("Things", sort_key=2)

app.command(inbox, name="inbox", group=_TALK, sort_key=1)
app.command(read, name="read", group=_TALK, sort_key=2)
app.command(watch, name="watch", group=_TALK, sort_key=3)
app.command(post, name="post", group=_TALK, sort_key=4)
app.command(search, name="search", group=_TALK, sort_key=5)
app.command(ack, name="ack", group=_TALK, sort_key=6)
app.command(edit, name="edit", group=_TALK, sort_key=7)
app.command(delete, name="delete", group=_TALK, sort_key=8)
app.command(versions, name="versions", group=_TALK, sort_key=9)
app.command(declassify, name="declassify", group=_TALK, sort_key=10)
for _place, _app in enumerate(
    (projects_app, conversations_app, memory_app, lease, work, presence_app)
):
    _app.group = (_THINGS,)
    _app.sort_key = _place
    app.command(_app)
app.command(attach, name="attach", group=_THINGS, sort_key=6)
app.command(fetch, name="fetch", group=_THINGS, sort_key=7)
