"""`portico demo`: an installation with sample servers and content."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

from cyclopts import Parameter

from portico.interfaces.cli.commands import COMMANDS
from portico.interfaces.cli.errors import DemoElsewhere, InvalidUsage
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.json import JsonObject

if TYPE_CHECKING:
    from portico.interfaces.cli.server import Server
    from portico.interfaces.cli.services import CliServices

Made = Mapping[str, Any]

_LOOK: Final[Sequence[tuple[str, str]]] = (
    ("ui", "the console"),
    ("approvals list", "what waits for your yes"),
    ("search 'give a customer the money back'", "find a tool by what it does"),
    ("call demo-tickets.read_ticket id=T-1102", "call one"),
    ("run demo-triage", "run the saved workflow, and look on"),
    ("workflows list", "what ran, what failed, what waits"),
    ("graph neighbours demo-tickets.read_ticket", "what was learnt of the calls"),
    ("bridge projects show 'Demo shop'", "where agents and people talk"),
    ("debate list", "what three voices decided"),
)
_NO_MODEL: Final = (
    "none: no model was found here (portico models providers). With Ollama\n"
    "                running, or a key such as OPENAI_API_KEY, repeat: portico demo"
)


def facts(made: Made, *, new: bool, serving: bool, key_file: Path) -> JsonObject:
    return {
        "space": "demo",
        "new": new,
        "serving": serving,
        "key_file": str(key_file),
        **made,
        "look": [f"portico demo {command}" for command, _ in _LOOK],
    }


def made_text(made: Made, *, new: bool, serving: bool) -> str:
    head = "The demo is set up" if new else "The demo is there"
    waits, talks = len(made["waiting"]), len(made["conversations"])
    lines = [
        f"{head}, in a space of its own. Everything in it is made up.",
        "",
        f"  servers       {', '.join(made['servers'])}: {made['tools']} tools",
        f"  workflow      {made['workflow']}",
        f"  runs          one done, one failed, {waits} waiting for your yes",
        f"  project       Demo shop: {talks} conversations, {len(made['memories'])} memories",
        "  debate        three small programs, no model; decided",
        f"  agent         {made['agent'] or _NO_MODEL}",
        "",
        "Look at it:" if serving else "Look at it, once the server runs: portico serve",
    ]
    width = max(len(command) for command, _ in _LOOK)
    lines += [f"  portico demo {command.ljust(width)}  {what}" for command, what in _LOOK]
    return "\n".join([*lines, "", "To take it away again: portico demo --remove"])


OF_THE_MACHINE: Final = frozenset(
    {"init", "serve", "demo", "doctor", "join", "config", "embeddings", "db", "spaces"}
)
"""What is not about a space, or would end it behind our back."""
_OF_A_SPACE: Final = [
    name
    for title, commands in COMMANDS.items()
    for name in commands
    if name not in OF_THE_MACHINE and (title != "Start" or name in {"ui", "stdio"})
]
_NAMED: Final = re.compile(rf"(?<![\w./-])portico (?=(?:{'|'.join(_OF_A_SPACE)})\b)")


class _Naming:
    """A stream that a person reads: whatever says it need not know of the demo."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_NAMED.sub("portico demo ", text))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 # all else is the stream's own
        return getattr(self._stream, name)


@contextmanager
def named_as_in_the_demo() -> Iterator[None]:
    """Programs get what they would get elsewhere."""
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        if stream.isatty():
            setattr(sys, name, _Naming(stream))
    try:
        yield
    finally:
        for name, stream in streams.items():
            setattr(sys, name, stream)


_FLAGS: Final = {
    "--json": "json",
    "--quiet": "quiet",
    "--no-input": "no_input",
    "--debug": "debug",
}
"""For every command; behind `demo` they would be taken for a part of what is to be run."""


def demo(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)], remove: bool = False, at: At
) -> int | None:
    """Make a space of its own, called demo, with three sample servers and a sample project. Safe to
    repeat: what is there stays, what is missing is made.

    With a command behind it, that command is run in the demo:

    portico demo ui

    portico demo search "pay the money back"

    Parameters
    ----------
    command
        What to run in the demo, with its own options.
    remove
        Take the demo away, with all that is in it. Whatever else you have stays.
    """
    if _FLAGS.keys() & set(command):
        return _with_flags_first(at, command, remove=remove)
    where = at.services.whereabouts()
    if where.remote is not None:
        raise DemoElsewhere(where.remote)
    if command:
        return _inside(at, command)
    if remove:
        _remove(at)
    else:
        _set_up(at)
    return None


def _with_flags_first(at: Terminal, command: tuple[str, ...], *, remove: bool) -> int:
    from portico.interfaces.cli.app import run

    flags = [flag for flag, name in _FLAGS.items() if getattr(at, name) or flag in command]
    rest = [word for word in command if word not in _FLAGS]
    return run(at.services, [*flags, "demo", *(["--remove"] if remove else []), *rest])


def _inside(at: Terminal, command: tuple[str, ...]) -> int:
    from portico.interfaces.cli.app import run

    if command[0] in OF_THE_MACHINE:
        raise InvalidUsage(
            f"{command[0]} is not about the demo.", fix=f"Leave demo away: portico {command[0]}"
        )
    house = at.services.demo().services
    if not house.whereabouts().key_file.exists():
        raise InvalidUsage("There is no demo here.", fix="Make it: portico demo")
    flags = [flag for flag, name in _FLAGS.items() if getattr(at, name)]
    with named_as_in_the_demo():
        return run(house, [*flags, *command])


def _set_up(at: Terminal) -> None:
    from portico.interfaces.cli.demo_content import Town

    with at.working("setting up the demo") as progress:
        _installed(at)
        progress("starting the server")
        with at.services.serving() as for_now:
            house = at.services.demo().services
            own, new = _entered(at.services, house)
            made = Town(services=house, own=own, say=progress).furnish()
            progress("done")
    if at.json:
        at.details(facts(made, new=new, serving=not for_now, key_file=house.whereabouts().key_file))
    else:
        at.say(made_text(made, new=new, serving=not for_now))


def _installed(at: Terminal) -> None:
    """What `portico init` does, where nobody has; servers of other programs are left alone."""
    if at.services.whereabouts().key_file.exists():
        return
    import asyncio
    import getpass

    admin = getpass.getuser()
    asyncio.run(at.services.install(admin=admin, recover=False, progress=lambda _: None))


def _entered(house: "CliServices", demo: "CliServices") -> "tuple[Server, bool]":
    """In the demo's space, which is founded if its key opens nothing."""
    from portico.interfaces.cli.demo_content import SPACE
    from portico.interfaces.cli.server import Server
    from portico.kernel.errors import Kind, PorticoError

    if demo.whereabouts().key_file.exists():
        there = Server(demo)
        try:
            there.get("/me")
        except PorticoError as error:
            if error.kind is not Kind.DENIED:
                raise
            house.demo().forget()  # the database is another one by now
        else:
            return there, False
    own = Server(house)
    founded = own.post("/spaces", {"name": SPACE, "admin": own.get("/me")["name"]})
    invitation = str(founded["invitation"]["link"]).partition("#")[2]
    demo.save_key(Server(demo, key=invitation).post("/invitations/accept")["key"])
    return Server(demo), True


def _remove(at: Terminal) -> None:
    from portico.interfaces.cli.server import Server

    demo = at.services.demo()
    if not demo.services.whereabouts().key_file.exists():
        at.data({"removed": None}, "There is no demo here.")
        return
    with at.working("taking the demo away"), at.services.serving():
        space = _emptied(Server(demo.services))
    demo.forget()
    at.data({"removed": space}, "The demo is gone, with all that was in it.")


def _emptied(server: "Server") -> str | None:
    """The id of the space that is gone; None if it was not there any more."""
    from portico.interfaces.cli.server import api_path
    from portico.kernel.errors import Kind, PorticoError

    try:
        [space] = server.pages("/spaces")
    except PorticoError as error:
        if error.kind is not Kind.DENIED:
            raise
        return None
    server.delete(api_path("spaces", space["id"]), confirm=space["name"])
    return str(space["id"])
