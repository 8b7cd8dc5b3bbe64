"""Debates that are on or over: listed, shown, stopped, marked, decided anew, shared, let out."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.agent_answers import page
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.debate_answers import (
    DEBATE,
    NO_COST,
    ONE,
    a_debate,
    a_decided,
    a_decision,
    a_voice,
    a_whole,
    answers,
    undecided,
)
from tests.interfaces.cli.scripted_server import Raw

SHORT = "psvgnn"
OTHER = "dbt_01m7fxv1skfhf86xxtf6other2"
ITS = f"/debates/{DEBATE}"
NOTHING: dict[str, Any] = {}


def debate(cli: CommandLine, words: str, some: dict[str, Any] = NOTHING, **how: Any) -> Outcome:
    return cli(f"debate {words}", answers(**some), **how)


def test_they_are_listed_newest_first(cli: CommandLine) -> None:
    got = debate(cli, "list prime --status decided")

    [row] = got.rows
    assert got.code == Exit.OK
    assert [row[0], row[1], *row[3:6]] == [f"…{SHORT}", "decided", "8.0 s", "3", "1500"]
    assert row[7:] == ["93 %", "no", "Is 91 a prime number?"]
    assert "q=prime" in got.addresses[0]
    assert "status=decided" in got.addresses[0]


AWAY = a_voice("program:claude", available=False, why="It is not installed, or not found.")


@pytest.mark.parametrize("words", ["list", "voices"])
def test_on_a_narrow_screen_there_are_fewer_columns(cli: CommandLine, words: str) -> None:
    shown = debate(cli, words, {"GET /debate-voices": page(AWAY)}, screen=70).lines

    assert max(map(len, shown)) <= 70
    if words == "voices":
        assert shown[0].split() == ["voice", "price", "there", "why"]


def test_one_is_shown_by_six_letters_of_its_id(cli: CommandLine) -> None:
    got = debate(cli, f"show {SHORT}")

    assert got.code == Exit.OK
    assert f"id\t{DEBATE}" in got.lines
    assert "read_by\twhoever started it" in got.lines
    assert got.lines[-1] == "answer\tno"


def test_how_it_was_decided_is_the_exit_code_of_show_too(cli: CommandLine) -> None:
    whole = a_whole(undecided(private=False))

    assert debate(cli, f"show {SHORT} --json", {f"GET {ITS}": whole}).code == Exit.UNDECIDED


def test_one_that_is_on_can_be_followed(cli: CommandLine) -> None:
    on = {f"GET {ITS}": a_whole(a_debate())}

    assert f"portico debate show {SHORT} --follow" in debate(cli, f"show {SHORT}", on).err
    assert f"✓ {ONE}: no" in debate(cli, f"show {SHORT} --follow", on).err


BOTH = {"GET /debates": page(a_decided(), a_decided(id=OTHER))}
HARBOUR = {"id": "prj_01m7fxv1skfhf86xxtf6psvgnn", "name": "harbour"}


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("nosuch", Exit.FAILED, "There is no debate 'nosuch' that you may read."),
        ("abc", Exit.USAGE, "too short"),
        ("dbt_01m7fxv", Exit.USAGE, "short for 2 debates"),
    ],
)
def test_a_name_that_stands_for_none_or_several_is_refused(
    cli: CommandLine, name: str, code: int, said: str
) -> None:
    got = debate(cli, f"show {name}", BOTH)

    assert got.code == code
    assert said in got.err


def test_its_log_is_a_text(cli: CommandLine) -> None:
    some = {f"GET {ITS}/log": Raw(b"# Is 91 a prime number?\x1b[2J\n")}

    assert debate(cli, f"log …{SHORT}", some).out == "# Is 91 a prime number?�[2J\n"
    assert debate(cli, f"log {DEBATE} --json").json == a_whole(a_decided())


def test_a_log_is_folded_between_words_for_a_person_alone(cli: CommandLine) -> None:
    line = "    because: " + "herons are birds " * 8
    some = {f"GET {ITS}/log": Raw(f"Question: what?\n{line}\n".encode())}

    shown = debate(cli, f"log {DEBATE}", some, screen=70)

    assert debate(cli, f"log {DEBATE}", some).out == f"Question: what?\n{line}\n"
    assert all(len(each) <= 70 for each in shown.lines)
    assert " ".join(shown.out.split()) == f"Question: what? {' '.join(line.split())}"
    assert shown.lines[2].startswith("      ")


@pytest.mark.parametrize(
    ("words", "route", "found", "said"),
    [
        (f"stop {DEBATE}", f"POST {ITS}/stop", a_debate(), f"{DEBATE} stops."),
        (f"stop {DEBATE}", f"POST {ITS}/stop", a_decided(), "Decided: no (93 %)"),
        (f"share {SHORT}", f"POST {ITS}/share", a_decided(), "is shared with its project"),
        (f"remove {DEBATE}", f"DELETE {ITS}", {}, "is gone."),
        (f"remove {DEBATE} --yes", f"DELETE {ITS}", {}, "is gone."),
        ("personas remove lawyer --yes", "DELETE /debate-personas/lawyer", {}, "lawyer"),
    ],
)
def test_what_becomes_of_one_is_told(
    cli: CommandLine, words: str, route: str, found: dict[str, Any], said: str
) -> None:
    got = debate(cli, words, {route: found}, typed="y\n")

    assert (got.code, got.routes[-1]) == (0, route)
    assert said in got.out


MARKED = {"decided_right": False, "right": "c:yes", "shown": "yes", "source": "person"}
NOT_RIGHT = "Marked: the decision was not right. The right answer is yes.\n"


@pytest.mark.parametrize(
    ("words", "sent", "kept", "said"),
    [
        ("Wrong", {"right": False}, MARKED, NOT_RIGHT),
        ("'the second one'", {"answer": "the second one"}, MARKED, NOT_RIGHT),
        ("--answer right", {"answer": "right"}, MARKED, NOT_RIGHT),
        ("yes --source test --note 'ran it'",
         {"answer": "yes", "source": "test", "note": "ran it"}, MARKED, NOT_RIGHT),
        ("right", {"right": True}, {"decided_right": True, "right": None, "source": "person"},
         "Marked: the decision was right.\n"),
    ],
)  # fmt: skip
def test_how_it_turned_out_is_marked_and_echoed(
    cli: CommandLine, words: str, sent: dict[str, Any], kept: dict[str, Any], said: str
) -> None:
    got = debate(cli, f"outcome {SHORT} {words}", {f"POST {ITS}/outcome": kept})

    assert (got.sent, got.out) == ([sent], said)


def test_a_replay_shows_then_and_now(cli: CommandLine) -> None:
    found = {
        "was": None,
        "now": a_decision(),
        "told": "Decided: no (93 %).",
        "calls": 2,
        "calls_made": 3,
        "tokens": 900,
        "tokens_spent": 1_500,
        "notes": ["A critique round was not held then."],
    }
    unsure = found | {"now": a_decision(verdict="no_decision", why="too_unsure", answer=None)}

    got = debate(
        cli, f"replay {SHORT} --preset quorum --without {ONE}", {f"POST {ITS}/replay": found}
    )
    then = debate(cli, f"replay {SHORT}", {f"POST {ITS}/replay": unsure})

    assert (got.code, then.code) == (Exit.OK, Exit.UNDECIDED)
    assert got.sent == [{"preset": "quorum", "without": [ONE]}]
    assert got.lines == [
        "then\t-\t-\t-\t-\t3\t1500",
        "now\tdecided\tcertain\tno\t93 %\t2\t900",
    ]
    assert "! A critique round was not held then." in got.err
    assert "now\tno decision\ttoo unsure\t-" in then.out


def test_voices_say_whether_they_are_there(cli: CommandLine) -> None:
    there = a_voice(ONE, available=True, why=None, tariff={"input": "1.25", "output": "10"})
    free = a_voice("llamacpp:x", available=True, why=None, tariff={"input": "0", "output": "0"})
    away = a_voice("program:claude", kind="program", available=False, why="It is not installed.")
    some = {"GET /debate-voices": page(there, free, away | {"bounded": False})}

    got = debate(cli, "voices --fresh", some)

    assert "fresh=true" in got.addresses[0]
    assert got.lines == [
        f"{ONE}\tmodel\tollama\tyes\t$1.25 / $10\tpublic\tyes\t-",
        "llamacpp:x\tmodel\tllamacpp\tyes\tfree\tpublic\tyes\t-",
        "program:claude\tprogram\tprogram\tno\t-\tpublic\tno\tIt is not installed.",
    ]
    assert debate(cli, "voices SMALL", some).lines == got.lines[:1]
    assert "None match." in debate(cli, "voices nobody", some).err


def test_a_copy_that_is_less_secret_waits_for_somebody(cli: CommandLine) -> None:
    some = {f"POST {ITS}/promote": {"approval": "apr_01m7fxv1skfhf86xxtf6psabcd"}}

    got = debate(cli, f"promote {SHORT} --to team", some)

    assert got.sent == [{"to": "team"}]
    assert "portico approvals approve psabcd" in got.err


def test_personas_are_listed_and_made(cli: CommandLine) -> None:
    words = "Look at the licence."
    persona = {
        "name": "lawyer",
        "instructions": words,
        "specialist": True,
        "built_in": False,
        "made_by": "prn_1",
        "changed_at": None,
    }
    some = {"GET /debate-personas": page(persona), "PUT /debate-personas/lawyer": persona}

    piped = debate(cli, "personas put lawyer", some, piped="From a file.")
    made = debate(cli, f"personas put lawyer '{words}' --specialist", some)

    assert debate(cli, "personas list", some).rows == [["lawyer", "yes", "no", words]]
    assert made.sent == [{"instructions": words, "specialist": True}]
    assert piped.sent[0]["instructions"] == "From a file."


NO_CAP = {"tokens": None, "money": None}
BUDGET = f"/projects/{HARBOUR['id']}/debate-budget"


@pytest.mark.parametrize(
    ("words", "put"),
    [
        ("--tokens 2M", {"tokens": 2_000_000, "money": "5"}),
        ("--usd $20.5", {"tokens": 100, "money": "20.5"}),
        ("--none", NO_CAP),
    ],
)
def test_a_budget_of_a_project_keeps_what_is_not_said(
    cli: CommandLine, words: str, put: dict[str, Any]
) -> None:
    found = {"cap": {"tokens": 100, "money": "5"}, "spent": NO_COST}
    some = {"GET /projects/harbour": HARBOUR, f"GET {BUDGET}": found, f"PUT {BUDGET}": found}

    assert debate(cli, f"budget harbour {words}", some).sent == [put]


def test_a_budget_is_shown_with_what_was_spent(cli: CommandLine) -> None:
    spent = {"tokens": 1_500, "money": "0.0042", "calls": 3}
    some = {"GET /projects/harbour": HARBOUR, f"GET {BUDGET}": {"cap": NO_CAP, "spent": spent}}

    assert debate(cli, "budget harbour", some).lines == [
        "project\tharbour",
        "tokens\t1,500 of any number",
        "money\t$0.0042 of any sum",
        "calls\t3",
    ]
