"""`portico agents edit`: the whole agent as TOML in the user's own editor."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from portico.interfaces.cli.agent_file import (
    BadToml,
    exported,
    flaws_by_line,
    lines_of,
    read_text,
    spec_of,
)
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.agent_words import warning_lines
from portico.interfaces.cli.editor import in_editor
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import At, Terminal


def edit(
    name: str,
    /,
    *,
    from_: Annotated[str | None, Parameter(name="--from", allow_leading_hyphen=True)] = None,
    rename: bool = False,
    at: At,
) -> None:
    """Change an agent, in $VISUAL or $EDITOR. What is wrong is told, and what you wrote is kept.

    Parameters
    ----------
    name
        Which one.
    from_
        Instead of an editor: a TOML file, or - for standard input.
    rename
        Also if another name stands in the file: it is called that from then on.
    """
    server = AgentServer(at.house)
    was = int(server.get(path_to("agents", name))["version"])
    made: dict[str, Any] | None
    if from_ is not None:
        text = read_text(from_)
        spec = spec_of(text)
        if not rename:
            _check_name(name, spec)
        with flaws_by_line(text):
            made = _put(server, name, spec, was)
    else:
        made = _in_rounds(server, name, was, at)
    if made is None:
        at.say("Nothing was changed.")
        return
    at.data(made, f"{made['name']} is at version {made['version']}.")
    for line in warning_lines(made):
        at.say(line)


def _in_rounds(server: Server, name: str, was: int, at: Terminal) -> dict[str, Any] | None:
    """As often as it takes, and whoever edits wants. Raises `BadUsage`."""
    if not sys.stdin.isatty() or at.no_input:
        raise BadUsage(
            "There is nobody here to edit it.",
            fix=f"Give the whole of it: portico agents edit {name} --from FILE.toml",
        )
    before = exported(server, name)
    text = before
    while True:
        text = in_editor(text, f"{name}.toml")
        if text.strip() == before.strip():
            return None
        try:
            return _put(server, name, spec_of(text), was)
        except (Refused, BadToml) as error:
            at.fail(error)
            for _, number in lines_of(text, [flaw.field for flaw in error.flaws]):
                at.say(f"  line {number}: {text.splitlines()[number - 1].strip()[:100]}")
            if not at.confirm("Edit it again?"):
                kept = _kept(name, text)
                raise BadUsage(
                    "The agent is as it was.",
                    fix=f"What you wrote is in {kept}: portico agents edit {name} --from {kept}",
                ) from error


def _check_name(name: str, spec: dict[str, Any]) -> None:
    """Raises `BadUsage`."""
    other = spec.get("name", name)
    if other != name:
        raise BadUsage(
            f"The file is about {other}, and not about {name}.",
            fix=f"If {name} is to be called {other} from now on, say --rename; if {other} is to be "
            f"changed: portico agents edit {other} --from FILE",
        )


def _put(server: Server, name: str, spec: dict[str, Any], was: int) -> dict[str, Any]:
    """Raises `Refused`."""
    made: dict[str, Any] = server.put(path_to("agents", name), spec, was=was)
    return made


def _kept(name: str, text: str) -> Path:
    """Where only we can read it."""
    folder = Path(tempfile.mkdtemp(prefix="portico-"))
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file
