"""`portico status` and `doctor`: how this installation is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from portico.engine.core.store import CheckResult, State, worst
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.services import GivenUp, Running, SupervisorStatus
from portico.interfaces.cli.terminal import At, Terminal, shown
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue

_Report = Mapping[str, Any]


def in_words(boxes: Sequence[_Report] | None) -> str:
    """As `GET /status` gives them."""
    if boxes is None:
        return "being tried"
    for box in boxes:
        if box["offered"]:
            return f"{box['backend']}, {box['held']} probes held"
    told = [_why_not(box) for box in boxes] or ["the setting box.backend is none"]
    return "; ".join(["none", *told])


def _why_not(box: _Report) -> str:
    fix = f" (fix: {box['fix']})" if box["fix"] else ""
    if box["missing"]:
        return f"{box['backend']}: {box['missing']}{fix}"
    escapes = ", ".join(box["escapes"]) or "not tried"
    return f"{box['backend']} does not hold: {escapes}{fix}"


def kept_up(at: Terminal) -> JsonValue:
    """To a program an object, to a person a sentence; nothing of a server that left no note."""
    keeping, url = at.services.keeping(), at.services.whereabouts().server_url
    server = next((each for each in keeping.servers() if each.url == url), None)
    keeper = keeping.keeper()
    alive = keeper if keeper is not None and keeper.alive and keeper.url == url else None
    if server is None:
        return None
    if at.json:
        return {
            "supervised": alive is not None,
            "started_by": server.started_by,
            "process": server.pid,
            "since": server.since,
            "supervisor": None if alive is None else alive.pid,
            "supervised_since": None if alive is None else alive.since,
            "restarts": 0 if alive is None else alive.restarts,
            "died_at": None if alive is None else alive.died_at,
            "why": None if alive is None else alive.why,
        }
    return _unkept(server) if alive is None else _kept(alive)


def say_why(at: Terminal) -> None:
    """What is known of a server that is not there. Raises `GivenUp`."""
    where, keeper = at.services.whereabouts(), at.services.keeping().keeper()
    if keeper is None or where.remote is not None or keeper.died_at is None:
        return
    when = shown(keeper.died_at)
    if keeper.gave_up and not keeper.alive:
        raise GivenUp(keeper, when, where.log_file)
    if keeper.alive:
        at.say(f"It died, {when}: {keeper.why}. It is being started again.")


def _kept(keeper: SupervisorStatus) -> str:
    told = f"since {shown(keeper.since)}, process {keeper.pid}"
    if not keeper.restarts:
        return f"{told}, no restarts"
    times = "1 restart" if keeper.restarts == 1 else f"{keeper.restarts} restarts"
    return f"{told}, {times}; the last, {shown(keeper.died_at)}: {keeper.why}"


def _unkept(server: Running) -> str:
    told = f"no: process {server.pid} runs since {shown(server.since)}"
    if server.started_by == "terminal":
        return f"{told}, in a terminal"
    return f"{told}, and what kept it up has gone: portico restart"


def status(*, verbose: bool = False, wait: float = 0, at: At) -> int:
    """How the running server is; exits with 4 if it does not run.

    Parameters
    ----------
    verbose
        Also who you are there, where things are kept, and the database's version.
    wait
        Seconds to wait until it is ready, if it has only just been started.
    """
    from portico.interfaces.cli.server import NotRunning, Server, retry_until

    where = at.services.whereabouts()
    server = Server(at.services)
    with at.working("waiting for the server"):
        try:
            found = retry_until(
                lambda: server.get("/status"), wait, enough=lambda status: status["ready"]
            )
        except NotRunning:
            say_why(at)
            raise
    facts = {
        "server": where.remote or where.server_url,
        "version": found["version"],
        "ready": found["ready"],
        "box": in_words(found["boxes"]),
        "secrets": found["secrets"] or "cannot be reached: portico doctor",
    }
    if where.remote is None:
        facts["kept_up"] = kept_up(at)
    if verbose:
        me = server.get("/me")
        store = found["store"]
        facts |= {
            "you_are": me["name"],
            "roles": me["roles"],
            "clearance": me["clearance"],
            "database": f"PostgreSQL {store['server_version']} ({store['source']})",
            "migrations_applied": store["migrations_applied"],
            "migrations_pending": store["migrations_pending"],
            "config_file": str(where.config_file),
            "key_file": str(where.key_file),
            "data": str(where.data),
            "log_file": None if where.log_file is None else str(where.log_file),
        }
    at.details(facts)
    return Exit.OK if found["ready"] else Exit.NOT_RUNNING


_MARKS: Final = {State.GOOD: "✓", State.MENDED: "✓", State.WARNING: "!", State.BROKEN: "✗"}


async def doctor(*, fix: bool = False, at: At) -> int:
    """Find what is wrong; --fix mends what it can. Exits with 1 if something is broken.

    Parameters
    ----------
    fix
        Mend what can be mended without asking: open files, missing migrations, what a killed
        server has left.
    """
    findings: list[CheckResult] = []
    in_turn = at.for_a_person  # the lines are the progress: what is broken may take long
    with at.alone():
        try:
            async for finding in at.services.diagnose()(mend=fix):
                findings.append(finding)
                if in_turn:
                    _show(at, finding)
        finally:
            with suppress(PorticoError):  # there may be none; that is among the findings
                await at.services.store().release()
    if not in_turn:
        rows = [
            {"check": each.check, "state": each.state, "detail": each.detail, "fix": each.fix}
            for each in findings
        ]
        at.table(["check", "state", "detail", "fix"], rows, {"checks": rows})
    return Exit.FAILED if worst(findings) is State.BROKEN else Exit.OK


def _show(at: Terminal, finding: CheckResult) -> None:
    at.line(f"{_MARKS[finding.state]} {finding.check.ljust(14)} {finding.detail}")
    if finding.fix:
        at.line(f"  {' ' * 14} fix: {finding.fix}")
