"""The audit, from the command line."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from portico.interfaces.cli.audit_check import check_lines, heads_of, verify_there
from portico.interfaces.cli.audit_words import entry_line, verdict_lines
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.exporting import check_free, write_lines
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import PLAIN, At

app = App(
    name="audit",
    help="What was done and decided; whether it is true.",
    help_format="plaintext",
    default_parameter=PLAIN,
)
_PAUSE: Final = 1.0
_PAGE: Final = 100


@app.command(name="tail", sort_key=1)
def tail(
    *,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"])] = False,
    number: Annotated[int, Parameter(name=["--number", "-n"])] = 20,
    action: str | None = None,
    subject: str | None = None,
    at: At,
) -> None:
    """The latest entries, oldest first.

    Parameters
    ----------
    follow
        Go on with what comes, until Ctrl-C.
    number
        How many to begin with.
    action
        Only these; may have wildcards: key.*
    subject
        Only what was done to these; may have wildcards: mail.*
    """
    if number < 0:
        raise BadUsage("--number must not be negative.")
    server = Server(at.house)
    wanted = {"action": action, "subject": subject}
    latest = _after(server, 0, number, wanted) if number else []
    _tell(latest, at)
    if follow:
        last = latest[-1]["number"] if latest else server.get("/audit/head")["number"]
        while True:
            time.sleep(_PAUSE)
            _tell(new := _after(server, last, None, wanted), at)
            last = new[-1]["number"] if new else last


@app.command(name="export", sort_key=2)
def export(target: Path | None = None, /, *, replace: bool = False, at: At) -> None:
    """All of it, oldest first, a line each, exactly as it was hashed.

    Parameters
    ----------
    target
        The file to write; standard output if left away.
    replace
        Even if there is such a file already, which is then lost.
    """
    check_free(target, replace=replace)
    lines = Server(at.house).lines("/audit/export")
    write_lines(at, lines, target, "entries")


@app.command(name="verify", sort_key=3)
def verify(*, file: Path | None = None, heads: Path | None = None, at: At) -> int:
    """Find out whether anything was changed, left out, put in, moved or cut off.

    The server checks its own database against the heads that it has exported. With --file or
    --heads it is checked here instead, so that nobody has to believe the server.

    Exits with 0 if it is sound, else with 1.

    Parameters
    ----------
    file
        What `portico audit export` has written; no server is needed.
    heads
        Heads that were kept elsewhere: a copy of the server's audit-heads.ndjson.
    """
    with at.working("checking the audit") as progress:
        if file is None and heads is None:
            verdict = verify_there(Server(at.house), progress)
        else:
            verdict = check_lines(_lines(file, at), heads_of(heads), progress)
    at.data(verdict, "\n".join(verdict_lines(verdict)))
    return Exit.OK if verdict["sound"] else Exit.FAILED


def _lines(file: Path | None, at: At) -> Iterator[bytes]:
    if file is None:
        yield from (line.encode() for line in Server(at.house).lines("/audit/export"))
        return
    with file.open("rb") as stream:
        yield from stream


def _after(
    server: Server, last: int, most: int | None, wanted: Mapping[str, str | None]
) -> Sequence[dict[str, Any]]:
    """What came after the entry of that number, oldest first."""
    newer = takewhile(lambda entry: entry["number"] > last, _newest_first(server, wanted))
    return [*islice(newer, most)][::-1]


def _newest_first(server: Server, wanted: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    """Past pages with nothing on them: what is seldom is looked for a part at a time."""
    after = None
    while True:
        page = server.get("/audit", limit=_PAGE, after=after, **wanted)
        yield from page["data"]
        after = page["next"]
        if after is None:
            return


def _tell(entries: Sequence[dict[str, Any]], at: At) -> None:
    for entry in entries:
        at.data(entry, entry_line(entry))
    sys.stdout.flush()
