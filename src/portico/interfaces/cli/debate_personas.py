"""`portico debate personas`: what voices are told to look at."""

import sys
from typing import Annotated, Final

from cyclopts import App, Parameter

from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.errors import BadUsage, NeedsYes
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="personas",
    help="What voices are told to look at. A persona shapes an answer, never what it weighs.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "specialist", "built_in", "instructions"]
_HOW: Final = 'portico debate personas put NAME "What to look at."'


@app.command(name="list", sort_key=1)
def list_(*, at: At) -> None:
    """Those that are built in, and those that were made here."""
    found = Server(at.house).get("/debate-personas")["data"]
    rows = [{**each, "instructions": brief(each["instructions"], 300)} for each in found]
    at.table(_COLUMNS, rows, {"data": found})


@app.command(name="put", sort_key=2)
def put(
    name: str,
    instructions: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    specialist: bool = False,
    at: At,
) -> None:
    """Make a persona, or change one that was made here.

    Parameters
    ----------
    name
        What it is called in --roles.
    instructions
        What a voice is told; from standard input if left away.
    specialist
        In a quorum, whoever speaks as this may veto with evidence, and a person decides then.
    """
    piped = instructions is None and not sys.stdin.isatty()
    text = sys.stdin.read() if piped else instructions
    if not text or not text.strip():
        raise BadUsage("It is not said what to look at.", fix=_HOW)
    body = {"instructions": text, "specialist": specialist}
    kept = Server(at.house).put(path_to("debate-personas", name), body)
    at.data(kept, plain(f"{kept['name']} is there; to use it: --roles {kept['name']}"))


@app.command(name="remove", sort_key=3)
def remove(name: str, /, *, yes: bool = False, at: At) -> None:
    """Remove a persona that was made here.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask.
    """
    question = f"Remove the persona {name}?"
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
    Server(at.house).delete(path_to("debate-personas", name))
    at.data({"name": name}, f"{name} is gone.")
