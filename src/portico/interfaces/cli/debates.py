"""`portico debate`: ask, list, show, replay, outcomes, personas."""

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice
from shlex import quote
from textwrap import wrap
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.debate.core.conduct import percent
from portico.interfaces.cli.agent_text import brief, plain
from portico.interfaces.cli.bridge_text import project_id
from portico.interfaces.cli.debate_start import DebateOptions, Kind, Preset, budget, followed
from portico.interfaces.cli.debate_text import (
    answer_of,
    debate_row,
    exit_of,
    find_debate,
    show_end,
    with_commas,
)
from portico.interfaces.cli.errors import ConfirmationRequired, Exit, InvalidUsage
from portico.interfaces.cli.run_text import SHORT, took
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, LabelOption
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
        raise InvalidUsage("--limit must be at least 1.")
    server = Server(at.services)
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
    server = Server(at.services)
    whole = server.get(api_path("debates", find_debate(server, debate)))
    found = whole["debate"]
    running = found["status"] == "running"
    if running and follow:
        return followed(server, found, at)
    if not at.json:
        answer: JsonObject = {} if at.for_a_person else {"answer": answer_of(found)}
        at.details({**_facts(found), **answer})
    show_end(whole, at, shown=True)
    return exit_of(found)


def log(debate: str, /, *, at: At) -> None:
    """All that was said and done in a debate, in order, with what was saved and why.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.services)
    which = find_debate(server, debate)
    if at.json:
        at.data(server.get(api_path("debates", which)), "")
        return
    text = server.download(api_path("debates", which, "log")).content.decode(errors="replace")
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
    there = Server(at.services).get("/debate-voices", **query)["data"]
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


Source = Literal["person", "test", "correction"]

_REPLAY_COLUMNS: Final = ["rules", "verdict", "why", "answer", "sure", "calls", "tokens"]


def stop(debate: str, /, *, at: At) -> None:
    """Stop a debate; it is decided by the answers in hand, if they are enough.

    Parameters
    ----------
    debate
        Its id, or six letters or more of its beginning or its end.
    """
    server = Server(at.services)
    found = server.post(api_path("debates", find_debate(server, debate), "stop"))
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
        raise InvalidUsage(
            "Say how it turned out, in one way.",
            fix=f"portico debate outcome {quote(debate)} right|wrong|ANSWER",
        )
    body: dict[str, Any] = {"answer": answer if how is None else how, "source": source}
    if how is not None and how.lower() in {"right", "wrong"}:
        body = {"right": how.lower() == "right", "source": source}
    body["note"] = note
    server = Server(at.services)
    path = api_path("debates", find_debate(server, debate), "outcome")
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
    server = Server(at.services)
    path = api_path("debates", find_debate(server, debate), "replay")
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
    server = Server(at.services)
    found = server.post(api_path("debates", find_debate(server, debate), "share"))
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
        raise InvalidUsage(
            "Say how secret the copy is to be.",
            fix=f"portico debate promote {quote(debate)} --to team",
        )
    server = Server(at.services)
    found = server.post(api_path("debates", find_debate(server, debate), "promote"), {"to": to})
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
    server = Server(at.services)
    which = find_debate(server, debate)
    question = f"Remove {which}, with all that was said in it?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    server.delete(api_path("debates", which))
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


personas_app = App(
    name="personas",
    help="What voices are told to look at. A persona shapes an answer, never what it weighs.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_PERSONAS_COLUMNS: Final = ["name", "specialist", "built_in", "instructions"]
_HOW: Final = 'portico debate personas put NAME "What to look at."'


@personas_app.command(name="list", sort_key=1)
def list_personas(*, at: At) -> None:
    """Those that are built in, and those that were made here."""
    found = Server(at.services).get("/debate-personas")["data"]
    rows = [{**each, "instructions": brief(each["instructions"], 300)} for each in found]
    at.table(_PERSONAS_COLUMNS, rows, {"data": found})


@personas_app.command(name="put", sort_key=2)
def put(
    name: str,
    instructions: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    specialist: bool = False,
    at: At,
) -> None:
    """Make a persona, or change one that was made here.

    Parameters
    ----------
    name
        What it is called in --roles.
    instructions
        What a voice is told; from standard input if left away.
    specialist
        In a quorum, whoever speaks as this may veto with evidence, and a person decides then.
    """
    piped = instructions is None and not sys.stdin.isatty()
    text = sys.stdin.read() if piped else instructions
    if not text or not text.strip():
        raise InvalidUsage("It is not said what to look at.", fix=_HOW)
    body = {"instructions": text, "specialist": specialist}
    kept = Server(at.services).put(api_path("debate-personas", name), body)
    at.data(kept, plain(f"{kept['name']} is there; to use it: --roles {kept['name']}"))


@personas_app.command(name="remove", sort_key=3)
def remove_persona(name: str, /, *, yes: bool = False, at: At) -> None:
    """Remove a persona that was made here.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask.
    """
    question = f"Remove the persona {name}?"
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
    Server(at.services).delete(api_path("debate-personas", name))
    at.data({"name": name}, f"{name} is gone.")


app = App(
    name="debate",
    usage='Usage: portico debate "QUESTION" [OPTIONS]\n       portico debate COMMAND [OPTIONS]',
    help="""Ask several voices, and get the likeliest answer, or none.

Whatever is none of the commands below is a question: put it in quotes.

portico debate "Is 91 a prime number?" --budget 20k
portico debate "Which store?" --choice PostgreSQL --choice SQLite --roles architect,critic

Ends with 0 if it was decided, with 9 if it was not, with 7 if the budget is too small.""",
    help_format="plaintext",
    default_parameter=PLAIN,
)
app.command(list_, name="list", sort_key=1)
app.command(show, name="show", sort_key=2)
app.command(log, name="log", sort_key=3)
app.command(stop, name="stop", sort_key=4)
app.command(outcome, name="outcome", sort_key=5)
app.command(replay, name="replay", sort_key=6)
app.command(voices, name="voices", sort_key=7)
app.command(personas_app)
app.command(share, name="share", sort_key=9)
app.command(promote, name="promote", sort_key=10)
app.command(budget, name="budget", sort_key=11)
app.command(remove, name="remove", sort_key=12)

_File = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


@app.default
def debate(  # noqa: PLR0913 # an option each
    question: str | None = None,
    /,
    *,
    choice: list[str] | None = None,
    kind: Kind | None = None,
    topic: str | None = None,
    voice: list[str] | None = None,
    roles: list[str] | None = None,
    preset: Preset | None = None,
    thoroughness: float | None = None,
    budget: str | None = None,
    budget_usd: str | None = None,
    deadline: str | None = None,
    guests: int | None = None,
    project: str | None = None,
    memory: list[str] | None = None,
    material: _File = None,
    label: LabelOption = None,
    shared: bool = False,
    analyze: bool = False,
    unbounded: bool = False,
    estimate: bool = False,
    force: bool = False,
    no_follow: bool = False,
    at: At,
) -> int | None:
    """Ask several voices blindly, weigh what they answer, and stop as soon as it is clear.

    Parameters
    ----------
    question
        What is asked.
    choice
        One of the answers to choose from; given at least twice.
    kind
        What is asked for; without this it is found by the words of the question.
    topic
        What it is about, in a word: track records are kept by topic.
    voice
        Whom to ask: provider:model, agent:NAME or program:NAME; several times, or with commas.
        Without this those of the setting debate.voices.
    roles
        Personas for the voices, in turn: architect,critic; two in one: security+critic; for one
        of them: openai:gpt-5=critic.
    preset
        vote: blind answers, weighed. debate: and one critique round if they are split. quorum: two
        thirds of the weight, two families, vetoes. Without this by the kind of the question.
    thoroughness
        From 0 to 1: how sure it is to be, with how many voices at most, 3 to 9, in how many rounds.
    budget
        Tokens that it may spend at most, such as 20k. It is never passed. What it may cost in money
        stays as the setting debate.cap_dollars has it.
    budget_usd
        US dollars that it may spend at most. Its tokens stay as debate.cap_tokens has them.
    deadline
        How long it may take, such as 90s or 5m. Then it is decided by the answers in hand.
    guests
        Seats for agents of others, who join by MCP.
    project
        The project of the bridge that it is part of, by its name or its id.
    memory
        A key of the project's memory that every voice reads; may be given several times.
    material
        A file that every voice reads, or - for standard input.
    label
        How secret the question is, if it is more than its project and its memory are. Each debate
        is a task of its own: what you know from another one counts only if you say it here.
    shared
        With the project from the beginning; else only you read it.
    analyze
        Cut it into questions first, have each debated, and put the answers together.
    unbounded
        Also ask voices that cannot be held to a maximum, such as programs.
    estimate
        Only say what it would cost.
    force
        Do not ask whether that is all right.
    no_follow
        Only start it, and print its id.
    """
    from portico.interfaces.cli.debate_start import estimated, held

    if question is None:
        app.help_print()
        return None
    wish = DebateOptions(
        question=question,
        choice=choice,
        kind=kind,
        topic=topic,
        voice=voice,
        roles=roles,
        preset=preset,
        thoroughness=thoroughness,
        budget=budget,
        budget_usd=budget_usd,
        deadline=deadline,
        guests=guests,
        project=project,
        memory=memory,
        material=material,
        label=label,
        shared=shared,
        unbounded=unbounded,
        analyze=analyze,
    )
    if estimate:
        return estimated(wish, at)
    return held(wish, at, force=force, follow=not no_follow)
