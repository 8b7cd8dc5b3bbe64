"""`portico audit`: list, export, check the chain here or on the server."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from portico.guard.core.audit import (
    Checking,
    Head,
    Link,
    head_from,
    link_from,
    space_of,
    verdict_json,
)
from portico.interfaces.cli.errors import Exit, InvalidUsage
from portico.interfaces.cli.server import NoAnswer, Server
from portico.interfaces.cli.terminal import PLAIN, At, check_free, shown, write_lines
from portico.kernel.ids import SpaceId


def entry_line(entry: dict[str, Any]) -> str:
    act = entry["act"] if isinstance(entry["act"], dict) else {}
    told = [
        str(entry["number"]),
        shown(entry["at"]),
        shown(act.get("name", entry["by"])),
        shown(act.get("action")),
        shown(act.get("subject")),
        *(shown(act[name]) for name in ("rule", "reason") if act.get(name)),
        *map(shown, _changed(act.get("facts"))),
    ]
    return "  ".join(told).replace("\n", " ")


def _changed(facts: object) -> Iterator[str]:
    """What was answered, and what became of what."""
    if not isinstance(facts, dict):
        return
    if answer := facts.get("answer"):
        yield "no" if answer == "reject" else f"yes ({answer})"
    was, now = facts.get("was"), facts.get("now", facts)
    if isinstance(was, dict) and isinstance(now, dict):
        yield ", ".join(
            f"{name}: {old} → {now[name]}"
            for name, old in was.items()
            if name in now and now[name] != old
        )
    elif was is not None and now is not facts:
        yield f"{was} → {now}"


def verdict_lines(verdict: dict[str, Any]) -> Iterator[str]:
    checked = f"{verdict['checked']:,} entries checked"
    if verdict["sound"]:
        yield f"Sound: {checked}, the last is {verdict['last']}."
    else:
        count = verdict["found"]
        yield f"NOT SOUND: {checked}, {count:,} {'finding' if count == 1 else 'findings'}."
    for finding in verdict["findings"]:
        yield f"  {finding['number']}: {finding['fault']}. {finding['told']}"
    if (more := verdict["found"] - len(verdict["findings"])) > 0:
        yield f"  and {more:,} more"
    if verdict["compared"]:
        agreed = f"{verdict['heads']:,} of the {verdict['compared']:,}"
        yield f"It agrees with {agreed} heads that it was compared with."
    else:
        yield (
            "It was compared with no head that was kept elsewhere: nobody can tell whether its "
            "end was cut off, or all of it made anew."
        )


def bar(done: int, of: int) -> str:
    part = done / of if of else 1.0
    full = round(20 * part)
    return f"checking {'█' * full}{'·' * (20 - full)} {done:,} of {of:,}"


_EACH: Final = 5_000

Tell = Callable[[str], None]
Heads = Mapping[SpaceId, Sequence[Head]]


def verify_there(server: Server, tell: Tell) -> dict[str, Any]:
    for line in server.lines("/audit/verify"):
        told = json.loads(line)
        if "verdict" in told:
            verdict: dict[str, Any] = told["verdict"]
            return verdict
        tell(bar(told["checked"], told["of"]))
    raise NoAnswer(0)


def check_lines(lines: Iterable[bytes], heads: Heads, tell: Tell) -> dict[str, Any]:
    """A line that is no entry is where the entry was that belongs there."""
    checking: Checking | None = None
    for line in lines:
        link = link_from(line)
        if checking is None:
            checking = _begun(link, heads)
        checking.add(link or Link(checking.expected, line, b""))
        if checking.checked % _EACH == 0:
            tell(f"checked {checking.checked:,} entries")
    if checking is None:
        raise InvalidUsage("There is not a single entry in it.")
    return dict(verdict_json(checking.verdict()))


def heads_of(file: Path | None) -> Heads:
    """By space. Raises `OSError`, and `InvalidUsage` if there is none in the file."""
    found: dict[SpaceId, list[Head]] = {}
    if file is None:
        return found
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if (whose := head_from(line)) is not None:
            found.setdefault(whose[0], []).append(whose[1])
    if not found:
        raise InvalidUsage(f"There is no head in {file}.")
    return found


def _begun(first: Link | None, heads: Heads) -> Checking:
    """Whose chain it is says its first entry, or the heads if they are all of one space."""
    space = None if first is None else space_of(first.text)
    if space is None and len(heads) == 1:
        space = next(iter(heads))
    if space is None:
        raise InvalidUsage("It does not begin with an entry of an audit.")
    return Checking(space, heads=heads.get(space, ()))


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
        raise InvalidUsage("--number must not be negative.")
    server = Server(at.services)
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
    lines = Server(at.services).lines("/audit/export")
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
            verdict = verify_there(Server(at.services), progress)
        else:
            verdict = check_lines(_lines(file, at), heads_of(heads), progress)
    at.data(verdict, "\n".join(verdict_lines(verdict)))
    return Exit.OK if verdict["sound"] else Exit.FAILED


def _lines(file: Path | None, at: At) -> Iterator[bytes]:
    if file is None:
        yield from (line.encode() for line in Server(at.services).lines("/audit/export"))
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
