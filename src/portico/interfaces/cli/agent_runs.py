"""What agents did: their runs, one of them turn by turn, and how tools and models were doing."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal

from portico.agents.core.errors import AgentRunNotFound
from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.agent_words import money, run_row, trace_lines
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.moments import moment
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_names import LATEST, SHORT, find_run, named
from portico.interfaces.cli.run_words import duration
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import At

_NOT_TO_RESUME: Final = "run_not_over"
Status = Literal["running", "waiting", "completed", "stopped", "exhausted", "failed", "cancelled"]
_COLUMNS: Final = [
    "run", "agent", "status", "started", "took", "turns", "tools", "tokens", "money", "error",
    "asked",
]  # fmt: skip


def runs(  # noqa: PLR0913 # each an option
    agent: str | None = None,
    /,
    *,
    status: list[Status] | None = None,
    tool: str | None = None,
    error: str | None = None,
    text: str | None = None,
    since: str | None = None,
    until: str | None = None,
    mine: bool = False,
    limit: int = 20,
    at: At,
) -> None:
    """The latest runs of agents, newest first.

    Parameters
    ----------
    agent
        Only of this one.
    status
        Only those; may be given several times.
    tool
        Only those that used this tool: server.tool.
    error
        Only those that something went wrong in: a code.
    text
        Only those in which this was said, by anybody.
    since
        Only those that were started then or later: 2026-05-01, 2026-05-01T14:30, or so long ago:
        90m, 2h, 3d.
    until
        Only those that were started before then.
    mine
        Only those that you started.
    limit
        How many at most.
    """
    if limit < 1:
        raise BadUsage("--limit must be at least 1.")
    server = AgentServer(at.house)
    which = {
        "status": status,
        "tool": tool,
        "error": error,
        "text": text,
        "since": moment("--since", since),
        "until": moment("--until", until),
        "mine": "true" if mine else None,
    }
    pages = server.pages("/traces", limit=min(limit, 200), agent=agent, **which)
    found = list(islice(pages, limit))
    if not found and agent is not None:
        server.get(path_to("agents", agent))  # one that is not there has no runs for that reason
    right = ["took", "turns", "tools", "tokens", "money"]
    at.table(_COLUMNS, [run_row(each) for each in found], {"data": found}, right=right)
    if not found and any(value is not None for value in which.values()):
        at.say("None match.")
    elif not found:
        at.say(f"There are none. To begin one: portico agents chat {agent or 'NAME'}")


def trace(run: str, /, *, otlp: bool = False, at: At) -> None:
    """One run, turn by turn: what was said, which tools were used, and what that took.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    otlp
        As OpenTelemetry's JSON, for a collector of traces.
    """
    server = AgentServer(at.house)
    run_id = find_agent_run(server, run)
    if otlp:
        exported = server.get(path_to("traces", run_id, "export"))
        print(json.dumps(exported, ensure_ascii=False))
        return
    found = server.get(path_to("traces", run_id))
    at.data(found, "" if at.json else "\n".join(trace_lines(found)))


def say(run: str, message: str, /, *, at: At) -> None:
    """Say something to a run while it is on: its next turn takes it in.

    portico agents say w8xbqf "Only those of this year."

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    message
        What to say to it.
    """
    server = AgentServer(at.house)
    run_id = find_agent_run(server, run)
    said = server.post(path_to("agents", "runs", run_id, "messages"), {"message": message})
    at.data(said, f"{run_id} hears it before its next turn.")


def stop(run: str, /, *, at: At) -> None:
    """Have a run stop as soon as it can; what it has said by then is its answer.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    server = AgentServer(at.house)
    run_id = find_agent_run(server, run)
    server.post(path_to("agents", "runs", run_id, "stop"))
    at.data({"run": run_id}, f"{run_id} stops.")


def resume(run: str, /, *, at: At) -> None:
    """Take up a run again that failed: no model and no tool is asked again for what they gave.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    server = AgentServer(at.house)
    run_id = find_agent_run(server, run)
    try:
        server.post(path_to("agents", "runs", run_id, "resume"))
    except Refused as error:
        if error.code == _NOT_TO_RESUME:
            short = run_id[-SHORT:]
            error.fix = f"To go on with what was said: portico agents chat NAME --continues {short}"
        raise
    at.data({"run": run_id}, f"{run_id} goes on.")


def resolve(run: str, step: str, outcome: Literal["done", "retry", "skip"], /, *, at: At) -> None:
    """Say what became of a call that was begun and of which nobody knows whether it was made.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    step
        As `portico runs show` names it: call-2-0.
    outcome
        done: it was; retry: it was not, make it; skip: it was not, leave it.
    """
    server = AgentServer(at.house)
    run_id = find_agent_run(server, run)
    body = {"step": step, "outcome": outcome}
    server.post(path_to("agents", "runs", run_id, "resolve"), body)
    at.data({"run": run_id, **body}, f"{step} of {run_id}: {outcome}.")


def stats(
    what: Literal["tools", "models"] = "tools",
    /,
    *,
    agent: str | None = None,
    at: At,
) -> None:
    """How tools or models were doing in the runs of agents.

    Parameters
    ----------
    what
        tools or models.
    agent
        Only in runs of this one.
    """
    server = AgentServer(at.house)
    if what == "tools":
        found = server.get("/stats/tools", agent=agent)
        columns = ["tool", "uses", "failures", "early", "median", "p95", "codes"]
        rows = [
            each
            | {
                "median": duration(each["p50"]),
                "p95": duration(each["p95"]),
                "codes": ", ".join(f"{code} {count}" for code, count in each["codes"].items()),
            }
            for each in found["data"]
        ]
    else:
        found = server.get("/stats/models", agent=agent)
        columns = ["model", "turns", "read", "written", "money", "median", "p95", "tokens_a_second"]
        rows = [_model_row(each) for each in found["data"]]
    at.table(columns, rows, found, right=["median", "p95", "money"])
    if not rows:
        at.say("Nothing has been used yet.")


def find_agent_run(server: Server, text: str) -> str:
    """The run's whole id. Raises `AgentRunNotFound`, `BadUsage`."""
    return run_and_agent(server, text)[0]


def run_and_agent(server: Server, text: str) -> tuple[str, str | None]:
    """With the name of its agent, where a list had to be looked at. Raises the same."""
    agents: dict[str, str] = {}

    def latest() -> Iterator[str]:
        for each in islice(server.pages("/traces"), LATEST):
            agents[each["run"]] = each["agent_name"]
            yield each["run"]

    try:
        run = named(text, latest(), listed="portico agents runs")
    except RunNotFound:
        run = _in_no_list_of_agents(server, text)
    return run, agents.get(run)


def _in_no_list_of_agents(server: Server, text: str) -> str:
    """Raises `AgentRunNotFound`, `BadUsage`."""
    try:
        return find_run(server, text)
    except RunNotFound as error:
        raise AgentRunNotFound(text) from error


def _model_row(each: dict[str, Any]) -> dict[str, Any]:
    speed = each["tokens_a_second"]
    return each | {
        "read": each["input"],
        "written": each["output"],
        "money": money(each["money"]),
        "median": duration(each["p50"]),
        "p95": duration(each["p95"]),
        "tokens_a_second": None if speed is None else round(speed),
    }
