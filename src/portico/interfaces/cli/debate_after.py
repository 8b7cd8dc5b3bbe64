"""What is done with a debate once it is on or over: stop it, mark it, decide it anew, share it, let
it out, remove it."""

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final, Literal

from portico.debate.core.conduct import percent
from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.debate_names import find_debate
from portico.interfaces.cli.debate_wish import Preset
from portico.interfaces.cli.errors import BadUsage, NeedsYes
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

Source = Literal["person", "test", "correction"]

_REPLAY_COLUMNS: Final = ["rules", "verdict", "why", "answer", "sure", "calls", "tokens"]


def stop(debate: str, /, *, at: At) -> None:
    """Stop a debate; it is decided by the answers in hand, if they are enough.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.house)
    found = server.post(path_to("debates", find_debate(server, debate), "stop"))
    over = found["status"] != "running"
    at.data(found, plain(found["told"]) if over else f"{found['id']} stops.")


def outcome(
    debate: str,
    how: str | None = None,
    /,
    *,
    answer: str | None = None,
    source: Source | None = None,
    note: str | None = None,
    at: At,
) -> None:
    """Say how a decision turned out; its voices weigh more or less from then on.

    portico debate outcome k3x9fa right
    portico debate outcome k3x9fa "the second one" --source test

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    how
        right, wrong, or what would have been the right answer.
    answer
        The right answer, where it is the word right or wrong itself.
    source
        How that is known: by a person, by a test, or by a later correction.
    note
        A word on it, for whoever looks later.
    """
    if (how is None) is (answer is None):
        raise BadUsage(
            "Say how it turned out, in one way.",
            fix=f"portico debate outcome {quote(debate)} right|wrong|ANSWER",
        )
    body: dict[str, Any] = {"answer": answer if how is None else how, "source": source}
    if how is not None and how.lower() in {"right", "wrong"}:
        body = {"right": how.lower() == "right", "source": source}
    body["note"] = note
    server = Server(at.house)
    path = path_to("debates", find_debate(server, debate), "outcome")
    kept = server.post(path, {name: value for name, value in body.items() if value is not None})
    known = kept.get("shown") or body.get("answer")
    right = "" if known is None else f" The right answer is {brief(known, 200)}."
    verdict = "right" if kept["decided_right"] else "not right"
    at.data(kept, plain(f"Marked: the decision was {verdict}.{right}"))


def replay(
    debate: str,
    /,
    *,
    preset: Preset | None = None,
    thoroughness: float | None = None,
    without: list[str] | None = None,
    rounds: int | None = None,
    at: At,
) -> int:
    """Decide a debate anew by other rules, from what was said in it. Nobody is asked, and it costs
    nothing; the debate stays as it is.

    Ends with 0 if it would have been decided, with 9 if not.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    preset
        vote, debate or quorum.
    thoroughness
        From 0 to 1.
    without
        A voice, as if it had not been there; may be given several times.
    rounds
        1 leaves the critique round out.
    """
    given = {
        "preset": preset,
        "thoroughness": thoroughness,
        "without": without,
        "rounds": rounds,
    }
    server = Server(at.house)
    path = path_to("debates", find_debate(server, debate), "replay")
    found = server.post(path, {name: value for name, value in given.items() if value is not None})
    rows = [
        _row("then", found["was"], found["calls_made"], found["tokens_spent"]),
        _row("now", found["now"], found["calls"], found["tokens"]),
    ]
    at.table(_REPLAY_COLUMNS, rows, found, right=["sure", "calls", "tokens"], fold=["answer"])
    at.say(plain(found["told"]))
    for each in found["notes"]:
        at.say(f"! {plain(each)}")
    return Exit.OK if found["now"]["verdict"] == "decided" else Exit.UNDECIDED


def share(debate: str, /, *, at: At) -> None:
    """Let everybody in its project read it who is cleared for it.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.house)
    found = server.post(path_to("debates", find_debate(server, debate), "share"))
    at.data(found, f"{found['id']} is shared with its project.")


def promote(debate: str, /, *, to: LabelOption = None, at: At) -> None:
    """Have a copy made that is less secret. Somebody else has to approve that.

    portico debate promote k3x9fa --to team

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    to
        How secret the copy is to be: public, team, confidential, +….
    """
    if to is None:
        raise BadUsage(
            "Say how secret the copy is to be.",
            fix=f"portico debate promote {quote(debate)} --to team",
        )
    server = Server(at.house)
    found = server.post(path_to("debates", find_debate(server, debate), "promote"), {"to": to})
    approval = found["approval"]
    at.data(found, f"The copy waits for somebody's yes, as {approval}.")
    at.say(f"Somebody else says yes to it: portico approvals approve {approval[-SHORT:]}")


def remove(debate: str, /, *, yes: bool = False, at: At) -> None:
    """Remove a debate with all that was said in it. What was learnt from its outcome goes too.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    yes
        Do not ask.
    """
    server = Server(at.house)
    which = find_debate(server, debate)
    question = f"Remove {which}, with all that was said in it?"
    if not yes and not at.confirm(question):
        raise NeedsYes(question)
    server.delete(path_to("debates", which))
    at.data({"id": which}, f"{which} is gone.")


def _row(rules: str, decision: Mapping[str, Any] | None, calls: int, tokens: int) -> JsonObject:
    if decision is None:
        return {"rules": rules, "calls": calls, "tokens": tokens}
    return {
        "rules": rules,
        "verdict": decision["verdict"].replace("_", " "),
        "why": decision["why"].replace("_", " "),
        "answer": brief(decision["answer"] or "", 200) or None,
        "sure": percent(decision["probability"]),
        "calls": calls,
        "tokens": tokens,
    }
