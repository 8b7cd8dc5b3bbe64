"""Debates that were held: listed, shown, with all that was said."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice
from textwrap import wrap
from typing import Any, Final, Literal

from portico.interfaces.cli.agent_words import brief, plain
from portico.interfaces.cli.bridge_names import project_id
from portico.interfaces.cli.debate_end import show_end
from portico.interfaces.cli.debate_hold import followed
from portico.interfaces.cli.debate_names import find_debate
from portico.interfaces.cli.debate_words import answer_of, debate_row, exit_of, with_commas
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_words import took
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

Status = Literal["running", "decided", "no_decision", "escalated", "stopped", "failed"]

_COLUMNS: Final = [
    "debate", "status", "started", "took", "voices", "tokens", "money", "sure", "answer",
    "question",
]  # fmt: skip
_FROM: Final = {"started": 80, "took": 100, "voices": 100, "money": 100}
"""How wide a screen has to be for these."""
_VOICE_FROM: Final = {"kind": 110, "clearance": 100, "family": 80, "bounded": 80}
_VOICE_COLUMNS: Final = ["voice", "kind", "family", "bounded", "price", "clearance", "there", "why"]


def list_(
    words: str | None = None,
    /,
    *,
    project: str | None = None,
    status: Status | None = None,
    limit: int = 20,
    at: At,
) -> None:
    """The debates that you may read, newest first.

    Parameters
    ----------
    words
        Only those whose question has these.
    project
        Only those of this project, by its name or its id.
    status
        Only those.
    limit
        How many at most.
    """
    if limit < 1:
        raise BadUsage("--limit must be at least 1.")
    server = Server(at.house)
    which = {
        "project": None if project is None else project_id(server, project),
        "status": status,
        "q": words,
    }
    found = list(islice(server.pages("/debates", limit=min(limit, 200), **which), limit))
    right = ["took", "voices", "tokens", "money", "sure"]
    rows: Sequence[JsonObject] = [debate_row(each) for each in found]
    rows = with_commas(rows) if at.for_a_person else rows
    columns = [each for each in _COLUMNS if at.width is None or at.width >= _FROM.get(each, 0)]
    at.table(columns, rows, {"data": found}, right=right, fold=["answer", "question"])
    if not found and any(value is not None for value in which.values()):
        at.say("None match.")
    elif not found:
        at.say('There are none. To hold one: portico debate "A question?"')


def show(debate: str, /, *, follow: bool = False, at: At) -> int:
    """What came of a debate: the verdict, who dissents, and what each voice cost.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    follow
        Look on to its end, if it is not over.
    """
    server = Server(at.house)
    whole = server.get(path_to("debates", find_debate(server, debate)))
    found = whole["debate"]
    running = found["status"] == "running"
    if running and follow:
        return followed(server, found, at)
    if not at.json:
        answer: JsonObject = {} if at.for_a_person else {"answer": answer_of(found)}
        at.facts({**_facts(found), **answer})
    show_end(whole, at, shown=True)
    return exit_of(found)


def log(debate: str, /, *, at: At) -> None:
    """All that was said and done in a debate, in order, with what was saved and why.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.house)
    which = find_debate(server, debate)
    if at.json:
        at.data(server.get(path_to("debates", which)), "")
        return
    text = server.download(path_to("debates", which, "log")).content.decode(errors="replace")
    lines = plain(text).removesuffix("\n").split("\n")
    print("\n".join(part for line in lines for part in _within(line, at.width)))


def voices(text: str | None = None, /, *, fresh: bool = False, at: At) -> None:
    """Whom a debate can ask: models, agents, programs, and whether they are there.

    Parameters
    ----------
    text
        Only those with this in their name.
    fresh
        Ask each of them again whether it is there.
    """
    query = {"fresh": "true"} if fresh else {}
    there = Server(at.house).get("/debate-voices", **query)["data"]
    found = [each for each in there if (text or "").lower() in each["name"].lower()]
    rows = [
        {
            **each,
            "voice": plain(each["name"]),
            "price": _price(each.get("tariff")),
            "there": each["available"],
        }
        for each in found
    ]
    columns = [
        each for each in _VOICE_COLUMNS if at.width is None or at.width >= _VOICE_FROM.get(each, 0)
    ]
    at.table(columns, rows, {"data": found}, red=["no"], fold=["why"])
    if not found and there:
        at.say("None match.")
    elif not found:
        at.say(
            "There are none. Connect a model: portico models providers shows whom Portico looks for"
        )


def _within(line: str, width: int | None) -> Sequence[str]:
    """Between words, and set in as it was; a program gets it as it is."""
    if width is None or len(line) <= width:
        return [line]
    margin = " " * min(len(line) - len(line.lstrip()) + 2, width // 2)
    return wrap(
        line,
        width,
        subsequent_indent=margin,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def _price(tariff: dict[str, str] | None) -> str | None:
    """In US dollars a million tokens, read and written."""
    if tariff is None:
        return None
    free = not Decimal(tariff["input"]) and not Decimal(tariff["output"])
    return "free" if free else f"${tariff['input']} / ${tariff['output']}"


def _facts(debate: Mapping[str, Any]) -> JsonObject:
    question = debate["question"]
    facts = {
        "id": debate["id"],
        "question": brief(question["text"], 10_000),
        "kind": question["kind"],
        "choices": question["choices"] or None,
        "preset": debate["preset"],
        "thoroughness": debate["thoroughness"],
        "status": debate["status"],
        "label": debate["label"],
        "read_by": "whoever started it" if debate["private"] else "the project",
        "part_of": debate["part_of"],
        "started": debate["started_at"],
        "took": took(debate["started_at"], debate["ended_at"]),
    }
    return {name: value for name, value in facts.items() if value is not None}
