"""`portico agents`: list, show, change, versions, export, import."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from portico.interfaces.cli.agent_files import (
    AgentServer,
    edit,
    exported,
    flaws_by_line,
    new,
    read_text,
)
from portico.interfaces.cli.agent_runs import (
    chat,
    resolve,
    resume,
    runs,
    say,
    stats,
    stop,
    trace,
    try_out,
)
from portico.interfaces.cli.agent_text import agent_row, limits_line, plain, warning_lines
from portico.interfaces.cli.errors import ConfirmationRequired, FileInTheWay, InvalidUsage
from portico.interfaces.cli.server import Refused, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, shown
from portico.kernel.errors import PorticoError

app = App(
    name="agents",
    help="Make agents, talk to them, and see what they did.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "model", "tools", "tags", "version", "description"]
_SENTENCES: Final = ["tools", "tags", "description"]
_FIRST_LAST: Final = ("instructions", "limits", "warnings")
_COUNTED: Final = 200
"""Runs; more are only said to be more."""
_NAMED_ALREADY: Final = frozenset({"id", "name"})
_TAKEN: Final = "agent_name_taken"

app.command(new, name="new", sort_key=1)


@app.command(name="list", sort_key=2)
def list_(
    text: str | None = None,
    /,
    *,
    tag: str | None = None,
    model: str | None = None,
    tool: str | None = None,
    at: At,
) -> None:
    """The agents there are, by name.

    Parameters
    ----------
    text
        Only those with this in their name or description.
    tag
        Only those with this tag.
    model
        Only those that use this model.
    tool
        Only those that may use this tool: server.tool.
    """
    pages = AgentServer(at.services).pages("/agents", text=text, tag=tag, model=model, tool=tool)
    found = list(pages)
    at.table(_COLUMNS, [agent_row(each) for each in found], {"data": found}, fold=_SENTENCES)
    if not found and (text or tag or model or tool):
        at.say("None match.")
    elif not found:
        at.say("There are none. To make one: portico agents new")


@app.command(name="show", sort_key=3)
def show(name: str, /, *, at: At) -> None:
    """All of one agent.

    Parameters
    ----------
    name
        Which one.
    """
    found = AgentServer(at.services).get(api_path("agents", name))
    if at.json:
        at.data(found, "")
        return
    facts = {key: value for key, value in found.items() if key not in _FIRST_LAST}
    if at.for_a_person:
        facts.pop("made_by", None)
        facts["made_by"] = facts.pop("made_by_name")
        at.details({**facts, "at_most": limits_line(found["limits"])})
    else:
        limits = {f"limit of {limit}": value for limit, value in found["limits"].items()}
        at.details(facts | limits)
    if found["instructions"]:
        print(f"\n{plain(found['instructions'])}")
    _warn(at, found)


app.command(edit, name="edit", sort_key=4)


@app.command(name="remove", sort_key=5, synonym=["delete", "rm"])
def remove(name: str, /, *, yes: bool = False, at: At) -> None:
    """Remove an agent and its versions. Runs of it that are not over end; what they did stays.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask.
    """
    server = AgentServer(at.services)
    ends = _not_over(server, name)
    question = f"Remove the agent {name}, with all its versions?"
    if ends:
        question = f"Remove the agent {name}, with all its versions, and end {ends}?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    server.delete(api_path("agents", name))
    at.data({"name": name}, f"{name} is gone.")
    if ends:
        at.say(f"With it ended {ends}.")


@app.command(name="duplicate", sort_key=6)
def duplicate(name: str, new_name: str, /, *, at: At) -> None:
    """Make another agent that is like this one.

    Parameters
    ----------
    name
        Which one.
    new_name
        What the other one is called.
    """
    made = AgentServer(at.services).post(api_path("agents", name, "duplicate"), {"name": new_name})
    at.data(made, f"{made['name']} is there, like {name}.")
    _warn(at, made)


@app.command(name="versions", sort_key=7)
def versions(name: str, /, *, at: At) -> None:
    """What an agent was, newest first.

    Parameters
    ----------
    name
        Which one.
    """
    found = AgentServer(at.services).get(api_path("agents", name, "versions"))
    rows = [
        {"version": each["number"], "by": each["by_name"], "at": each["at"]}
        for each in found["data"]
    ]
    at.table(["version", "by", "at"], rows, found)


@app.command(name="diff", sort_key=8)
def diff(name: str, one: int | None = None, other: int | None = None, /, *, at: At) -> None:
    """What is different between two versions: the last two, if none are named.

    Parameters
    ----------
    name
        Which agent.
    one
        The number of a version; compared with the latest if it is alone.
    other
        The number of another one.
    """
    server = AgentServer(at.services)
    latest = other or int(server.get(api_path("agents", name))["version"])
    before = one or latest - 1
    if before < 1:
        raise InvalidUsage(
            f"{name} has only been as it is.", fix="There is nothing to compare with."
        )
    found = server.get(api_path("agents", name, "diff"), **{"from": before, "to": latest})
    if at.json:
        at.data(found, "")
        return
    for each in found["data"]:
        at.line(each["field"], loud=True)
        for line in each["lines"] or [f"-{shown(each['before'])}", f"+{shown(each['after'])}"]:
            print(f"  {plain(line)}")
    if not found["data"]:
        at.say(f"Versions {before} and {latest} are the same.")


@app.command(name="restore", sort_key=9)
def restore(name: str, version: int, /, *, at: At) -> None:
    """Make an agent again what it was; that is a new version, and nothing is lost.

    Parameters
    ----------
    name
        Which one.
    version
        As `portico agents versions` shows it.
    """
    made = AgentServer(at.services).post(api_path("agents", name, "restore"), {"version": version})
    at.data(
        made, f"{made['name']} is as it was in version {version}: now version {made['version']}."
    )
    _warn(at, made)


app.command(chat, name="chat", sort_key=10)
app.command(try_out, name="test", sort_key=11)


@app.command(name="export", sort_key=12)
def export(name: str, /, *, output: Path | None = None, replace: bool = False, at: At) -> None:
    """Write an agent down as TOML, to be kept, shared, changed and imported.

    Parameters
    ----------
    name
        Which one.
    output
        Into this file; else it is printed.
    replace
        Also if there is such a file already.
    """
    if output is not None and output.exists() and not replace:
        raise FileInTheWay(output)
    text = exported(AgentServer(at.services), name)
    if output is None:
        at.data({"toml": text}, text.rstrip("\n"))
        return
    output.write_text(text, encoding="utf-8")
    at.data({"file": str(output)}, f"{name} is in {output}.")


@app.command(name="import", sort_key=13)
def import_(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    replace: bool = False,
    at: At,
) -> None:
    """Make an agent from a file that `export` wrote.

    Parameters
    ----------
    file
        TOML, or - for standard input.
    replace
        If there is one of this name, it becomes what the file says, as a new version.
    """
    text = read_text(file)
    made: dict[str, Any]
    try:
        with flaws_by_line(text):
            body = {"toml": text, "replace": replace}
            made = AgentServer(at.services).post("/agents/import", body)
    except Refused as error:
        if error.code == _TAKEN and not replace:
            error.fix = (
                "To make the agent of this name what the file says, as a new version: --replace; "
                f"to make another one: portico agents new NAME --from {file}"
            )
        raise
    at.data(made, f"{made['name']} is there, version {made['version']}.")
    _warn(at, made)
    at.say(f"To talk to it: portico agents chat {made['name']}")


app.command(runs, name="runs", sort_key=14)
app.command(trace, name="trace", sort_key=15)
app.command(say, name="say", sort_key=16)
app.command(stop, name="stop", sort_key=17)
app.command(resume, name="resume", sort_key=18)
app.command(resolve, name="resolve", sort_key=19)
app.command(stats, name="stats", sort_key=20)


def _warn(at: Terminal, agent: dict[str, Any]) -> None:
    for line in warning_lines(agent):
        at.say(line)


def _not_over(server: AgentServer, name: str) -> str | None:
    """`2 runs of it that are not over`, as far as one may see them."""
    found: list[Any] = []
    with suppress(PorticoError):
        which = {"agent": name, "status": ["running", "waiting"], "limit": _COUNTED}
        found = server.get("/traces", **which)["data"]
    if not found:
        return None
    if len(found) == 1:
        return "a run of it that is not over"
    many = f"{len(found)} or more" if len(found) == _COUNTED else str(len(found))
    return f"{many} runs of it that are not over"
