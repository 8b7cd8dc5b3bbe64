"""`portico runs`: start, list, watch, control."""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.interfaces.cli import server as patience
from portico.interfaces.cli.errors import Exit, FileInTheWay, InvalidUsage, RunNotDone
from portico.interfaces.cli.run_text import (
    SHORT,
    event_line,
    failure,
    find_run,
    run_facts,
    step_row,
    took,
)
from portico.interfaces.cli.server import RESET, Following, Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, shown
from portico.kernel.json import JsonObject

_OVER: Final = frozenset({"run.done", "run.failed", "run.cancelled", "run.stuck"})


def tail_one(server: Server, run: str, at: Terminal) -> int:
    last = ""
    for told in Following(server, at.say)(api_path("runs", run, "events")):
        _tell(told.type, told.data, at, of_many=False)
        last = told.type if told.type in _OVER else last
    return Exit.OK if last == "run.done" else Exit.FAILED


def tail_all(server: Server, at: Terminal) -> None:
    """The stream has everything from the beginning; what is older than our coming is not news."""
    following = Following(server, at.say)
    for told in following("/events", topics="runs"):
        began = following.began_at
        if began is None or told.data.get("at", "9") >= f"{began:%Y-%m-%dT%H:%M:%S}":
            _tell(told.type, told.data, at, of_many=True)


def _tell(type_: str, event: Mapping[str, Any], at: Terminal, *, of_many: bool) -> None:
    """Pieces of text come again, put together, in what is kept; a person is not told them twice."""
    if type_ == RESET:
        at.say("Some of what happened is not kept any more.")
    elif at.json:
        print(json.dumps(event, ensure_ascii=False), flush=True)
    elif type_ != "text.delta":
        print(event_line(event, of_many=of_many), flush=True)


app = App(
    name="runs",
    help="Start, watch and control runs.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_AN_OBJECT: Final = "It is a JSON object, such as: --input '{\"steps\": 3}'"
_A_TEXT: Final = "A text has quotes of its own: '\"yes\"'"

Status = Literal["queued", "running", "waiting", "done", "failed", "cancelled", "stuck"]


@app.command(name="list", sort_key=1)
def list_(
    *,
    status: list[Status] | None = None,
    kind: str | None = None,
    limit: int = 20,
    at: At,
) -> None:
    """The latest runs, newest first.

    Parameters
    ----------
    status
        Only those; may be given several times.
    kind
        Only runs of this kind.
    limit
        How many at most.
    """
    if limit < 1:
        raise InvalidUsage("--limit must be at least 1.")
    asked = Server(at.services).pages("/runs", limit=min(limit, 200), status=status, kind=kind)
    found = list(islice(asked, limit))
    rows = [
        each
        | {
            "started": each["started_at"],
            "took": took(each["started_at"], each["finished_at"]),
            "steps": each["steps_over"],
        }
        for each in found
    ]
    columns = ["id", "kind", "status", "started", "took", "steps"]
    at.table(columns, rows, {"data": found}, right=["took"])


@app.command(name="show", sort_key=2)
def show(run: str, /, *, outputs: bool = False, at: At) -> None:
    """One run, and its steps.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    outputs
        Also what each step gave.
    """
    server = Server(at.services)
    found = server.get(api_path("runs", find_run(server, run)))
    if at.json:
        at.data(found, "")
        return
    at.details(run_facts(found))
    if found["steps"]:
        print()
        columns = ["step", "state", "started", "took", *(["output"] if outputs else ["error"])]
        at.table(columns, [step_row(each) for each in found["steps"]], None, right=["took"])


@app.command(name="tail", sort_key=3)
def tail(run: str | None = None, /, *, at: At) -> int:
    """Follow what happens to a run, to its end, or to all runs from now on, until Ctrl-C.

    Exits with 0 if the run was done, else with 1. A server that is restarted is waited for,
    and one that is not there yet for ten seconds.

    Parameters
    ----------
    run
        Which one; all of them if left away.
    """
    server = Server(at.services)
    if run is None:
        tail_all(server, at)
        return Exit.OK
    found = patience.retry_until(lambda: find_run(server, run), patience.AT_FIRST, at.say)
    return tail_one(server, found, at)


@app.command(name="start", sort_key=4)
def start(
    kind: str,
    /,
    *,
    input_: Annotated[str, Parameter(name="--input")] = "{}",
    label: str | None = None,
    key: str | None = None,
    wait: bool = False,
    at: At,
) -> None:
    """Start a run, and print its id.

    Parameters
    ----------
    kind
        What it does: drill.
    input_
        What it is given: a JSON object, or @FILE to read it from there.
    label
        How secret it is and what it gives: public, team, confidential+finance …
    key
        Of your choice: starting twice under the same key starts one run.
    wait
        Until it has ended, and print what it gave; exits with 1 if it was not done.
    """
    server = Server(at.services)
    wish = {"kind": kind, "input": _object(input_), "label": label}
    made = server.post("/runs", wish, key=key)
    run = str(made["id"])
    if not wait:
        _started(at, made)
        return
    at.say(f"Started {run}.")
    with at.working(f"waiting for {run}"):
        _until_over(server, run, at)
    ended = server.get(api_path("runs", run))
    done = ended["status"] == "done"
    if done or at.json:
        at.data(ended, json.dumps(ended["result"], ensure_ascii=False))
    if not done:
        raise RunNotDone(run, ended["status"], failure(ended["error"]))


@app.command(name="cancel", sort_key=5)
def cancel(run: str, /, *, at: At) -> None:
    """End RUN; what it has done stays done.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    found = _step_in(at, run, "cancel")
    at.data(found, f"{found['id']} is {found['status']}.")


@app.command(name="resume", sort_key=6)
def resume(run: str, /, *, at: At) -> None:
    """Take up RUN again, which failed, was cancelled or is stuck, where it was.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    found = _step_in(at, run, "resume")
    at.data(found, f"{found['id']} goes on.")


@app.command(name="fork", sort_key=7)
def fork(run: str, /, *, from_: Annotated[str, Parameter(name="--from")], at: At) -> None:
    """Start another run from the middle of RUN, and print its id.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    from_
        The step from which everything is done anew; what ended before it is kept.
    """
    server = Server(at.services)
    made = server.post(api_path("runs", find_run(server, run), "fork"), {"step": from_})
    _started(at, made)


@app.command(name="signal", sort_key=8)
def signal(run: str, topic: str, payload: str = "null", /, *, at: At) -> None:
    """Tell RUN something that it waits for, or will; the first answer counts.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    topic
        What it waits for, as `runs show` names it.
    payload
        The answer, in JSON.
    """
    server = Server(at.services)
    body = {"payload": _json(payload, "The answer", _A_TEXT)}
    told = server.post(api_path("runs", find_run(server, run), "signals", topic), body)
    if told["waits_for"] and topic not in told["waits_for"]:
        at.say(
            f"It waits for: {_listed(told['waits_for'])}."
            f" This is kept in case it asks for `{shown(topic)}` later."
        )
    at.data(told, f"Told {told['id']}.")


@app.command(name="export", sort_key=9)
def export(run: str, target: Path | None = None, /, *, replace: bool = False, at: At) -> None:
    """Everything of RUN: the run, its steps, its events, one JSON object a line.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    target
        The file to write; standard output if left away.
    replace
        Even if there is such a file, which is then lost.
    """
    if target is not None and target.exists() and not replace:
        raise FileInTheWay(target)
    server = Server(at.services)
    lines = (
        json.dumps(each, ensure_ascii=False) for each in _all_of(server, find_run(server, run))
    )
    if target is None:
        for line in lines:
            print(line)
        return
    count = 0
    with at.working("exporting"), os.fdopen(_private(target), "w", encoding="utf-8") as stream:
        for line in lines:
            stream.write(f"{line}\n")
            count += 1
    at.data({"file": str(target), "lines": count}, f"{target} ({count:,} lines)")


def _started(at: Terminal, made: JsonObject) -> None:
    run = str(made["id"])
    at.say(f"To follow it: portico runs tail {run[-SHORT:]}")
    at.data(made, run)


def _until_over(server: Server, run: str, at: Terminal) -> None:
    """Whoever waits is told if it is for somebody's answer: perhaps their own."""
    said: set[str] = set()
    for told in Following(server, at.say)(api_path("runs", run, "events")):
        topics = told.data["facts"].get("for") if told.type == "run.waiting" else None
        if topics and not said.issuperset(topics):
            answer = f"portico runs signal {run[-SHORT:]} {shlex.quote(shown(topics[0]))} '…'"
            at.say(f"It waits for: {_listed(topics)}. To answer: {answer}")
            said.update(topics)


def _listed(topics: Sequence[str]) -> str:
    return ", ".join(map(shown, topics))


def _step_in(at: At, run: str, verb: str) -> JsonObject:
    server = Server(at.services)
    found: JsonObject = server.post(api_path("runs", find_run(server, run), verb))
    return found


def _all_of(server: Server, run: str) -> Iterator[JsonObject]:
    found = server.get(api_path("runs", run))
    steps = found.pop("steps")
    yield {"run": found}
    yield from ({"step": step} for step in steps)
    yield from ({"event": event} for event in server.pages(api_path("runs", run, "events")))


def _private(target: Path) -> int:
    """A new file that nobody else can read at any moment, or an old one from now on."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def _object(text: str) -> JsonObject:
    if text.startswith("@"):
        name = text[1:]
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    value = _json(text, "The input", _AN_OBJECT)
    if not isinstance(value, dict):
        raise InvalidUsage("The input is not a JSON object.", fix=_AN_OBJECT)
    return value


def _json(text: str, what: str, fix: str) -> Any:  # noqa: ANN401 # JSON of any kind
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidUsage(f"{what} is not JSON: {error}.", fix=fix) from error
