"""`portico bridge projects`: what agents and people work on together."""

from pathlib import Path
from typing import Final

from cyclopts import App

from portico.interfaces.cli.bridge_names import find_project, names_of_people, project_id
from portico.interfaces.cli.exporting import check_free, write_lines
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="projects",
    help="What agents and people work on together.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "label", "active", "id", "description"]
_HOW: Final = "To begin one: portico bridge projects new NAME"


@app.command(name="list", sort_key=1)
def list_(*, archived: bool = False, at: At) -> None:
    """Those that you can see, the one with the latest news first.

    Parameters
    ----------
    archived
        Those that were put away instead.
    """
    found = list(Server(at.house).pages("/projects", archived=archived or None))
    rows = [each | {"active": each["active_at"]} for each in found]
    at.table(_COLUMNS, rows, {"data": found})
    if not found:
        at.say("None is archived." if archived else f"There are none. {_HOW}")


@app.command(name="new", sort_key=2)
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
    made = Server(at.house).post("/projects", wish)
    at.data(made, f"{made['name']} is there; it is {made['label']}.")
    at.say(f"To talk in it: portico bridge conversations new {_quoted(name)} TITLE")


@app.command(name="show", sort_key=3)
def show(project: str, /, *, at: At) -> None:
    """All of one project, and who is there.

    Parameters
    ----------
    project
        Its name or its id.
    """
    server = Server(at.house)
    found = find_project(server, project)
    there = server.get(path_to("projects", found["id"], "presence"))["data"]
    if at.json:
        at.data({**found, "presence": there}, "")
        return
    who = ", ".join(_presence(each) for each in there) or "nobody says so"
    names = names_of_people(server)
    made_by = names.get(found["made_by"], found["made_by"])
    at.facts({**found, "made_by": made_by, "who_is_there": who})


@app.command(name="archive", sort_key=4)
def archive(project: str, /, *, restore: bool = False, at: At) -> None:
    """Put a project away: it can be read, and nothing is written in it any more.

    Parameters
    ----------
    project
        Its name or its id.
    restore
        Take it out again; it takes its id.
    """
    server = Server(at.house)
    its = project_id(server, project)
    changed = server.patch(path_to("projects", its), {"archived": not restore})
    done = "is there again" if restore else "is archived"
    at.data(changed, f"{changed['name']} {done}.")
    if not restore:
        at.say(f"To take it out again: portico bridge projects archive {its} --restore")


@app.command(name="rename", sort_key=5)
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
    server = Server(at.house)
    its = project_id(server, project)
    wish = {"name": name, "description": description}
    wanted = {field: value for field, value in wish.items() if value is not None}
    changed = server.patch(path_to("projects", its), wanted)
    at.data(changed, f"It is called {changed['name']}.")


@app.command(name="export", sort_key=6)
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
    server = Server(at.house)
    lines = server.lines(path_to("projects", project_id(server, project), "export"))
    write_lines(at, lines, output, "lines")


def _presence(each: dict[str, str]) -> str:
    note = f": {each['note']}" if each["note"] else ""
    return f"{each['name']} ({each['doing']}{note})"


def _quoted(name: str) -> str:
    from shlex import quote

    return quote(name)
