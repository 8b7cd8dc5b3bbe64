"""`portico agents test`: one question to an agent, and how it did."""

import time
from typing import Any

from portico.interfaces.cli.agent_follow import Question, heard, started
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.agent_talk import Talked
from portico.interfaces.cli.agent_words import money, plain, tokens_of
from portico.interfaces.cli.errors import AgentNotDone
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.run_words import duration
from portico.interfaces.cli.terminal import At


def try_out(
    name: str,
    message: str,
    /,
    *,
    model: str | None = None,
    wait: bool = False,
    at: At,
) -> int:
    """Ask an agent something once, and say how it did: what it answered, which tools it used, and
    what that took. It has not passed without an answer, nor if no use of a tool worked.

    portico agents test helper "Which files are there?" --json

    Parameters
    ----------
    name
        Which agent.
    message
        What to ask it.
    model
        Ask this one instead of the agent's own: provider:model.
    wait
        If somebody has to approve something, until they have.
    """
    server = AgentServer(at.house)
    if model is not None:
        server.check_model(model)
    began = time.monotonic()
    run = started(server, Question(agent=name, message=message, model=model))
    talked = Talked(at)
    heard(server, run, talked, wait=wait)
    seconds = time.monotonic() - began
    if talked.ended is None:
        raise AgentNotDone(run, None)
    verdict = _verdict(run, talked, seconds)
    if at.json:
        at.data(verdict, "")
    else:
        _tell(at, verdict)
    return Exit.OK if verdict["passed"] else Exit.FAILED


def _verdict(run: str, talked: Talked, seconds: float) -> dict[str, Any]:
    ended = talked.ended or {}
    answered = bool(str(ended["answer"]).strip())
    in_vain = bool(talked.tools) and len(talked.failed) >= len(talked.tools)
    return {
        "run": run,
        "passed": ended["status"] == "completed" and answered and not in_vain,
        "status": ended["status"],
        "answered": answered,
        "answer": ended["answer"],
        "tools": talked.tools,
        "failed": [{"tool": tool, "why": why} for tool, why in talked.failed],
        "notes": talked.notes,
        "tokens": tokens_of(ended["usage"]),
        "money": ended["money"],
        "seconds": round(seconds, 2),
        "error": ended["error_code"],
        "fix": ended["fix"],
    }


def _tell(at: At, verdict: dict[str, Any]) -> None:
    finished = verdict["status"] == "completed" and verdict["answered"]
    sign = "✓" if verdict["passed"] else "!" if finished else "✗"
    at.line(f"{sign} {verdict['status']} in {duration(verdict['seconds'])}", loud=True)
    for each in verdict["failed"]:
        at.line(f"! {plain(each['tool'])} failed: {each['why']}")
    at.facts(
        {
            "tools": ", ".join(map(plain, verdict["tools"])) or "none",
            "tokens": verdict["tokens"],
            "money": money(verdict["money"]),
            **({"error": verdict["error"]} if verdict["error"] else {}),
            **({"fix": verdict["fix"]} if verdict["fix"] else {}),
            "trace": f"portico agents trace {verdict['run'][-6:]}",
        }
    )
