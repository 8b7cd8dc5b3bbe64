"""Debates that are on or over: listed, shown, stopped, marked, decided anew, shared, let out."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.agent_answers import page
from tests.faces.cli.debate_answers import (
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
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import Raw, ScriptedServer
from tests.faces.cli.test_approvals import sent, served

Captured = pytest.CaptureFixture[str]

SHORT = "psvgnn"
OTHER = "dbt_01m7fxv1skfhf86xxtf6other2"


def debate(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, answers(**some)) as (house, server):
        return run(house, ["debate", *arguments]), server


def test_they_are_listed_newest_first(tmp_path: Path, capsys: Captured) -> None:
    code, server = debate(tmp_path, {}, "list", "prime", "--status", "decided")

    row = capsys.readouterr().out.split("\t")
    assert code == Exit.OK
    assert [row[0], row[1], *row[3:6]] == [f"…{SHORT}", "decided", "8.0 s", "3", "1500"]
    assert row[7:] == ["93 %", "no", "Is 91 a prime number?\n"]
    assert "q=prime" in server.addresses[0]
    assert "status=decided" in server.addresses[0]


@pytest.mark.parametrize(
    ("more", "told"), [((), "There are none. To hold one"), (("prime",), "None match.")]
)
def test_where_there_are_none_that_is_said(
    tmp_path: Path, capsys: Captured, more: tuple[str, ...], told: str
) -> None:
    debate(tmp_path, {"GET /debates": page()}, "list", *more)

    assert told in capsys.readouterr().err


def test_on_a_narrow_screen_the_list_has_fewer_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "70")

    debate(tmp_path, {}, "list")

    assert max(map(len, screen.getvalue().splitlines())) <= 70


def test_a_list_of_nothing_is_no_list(tmp_path: Path) -> None:
    assert debate(tmp_path, {}, "list", "--limit", "0")[0] == Exit.USAGE


def test_one_is_shown_by_six_letters_of_its_id(tmp_path: Path, capsys: Captured) -> None:
    code, _ = debate(tmp_path, {}, "show", SHORT)

    out = capsys.readouterr().out.splitlines()
    assert code == Exit.OK
    assert f"id\t{DEBATE}" in out
    assert "read_by\twhoever started it" in out
    assert out[-1] == "answer\tno"


def test_how_it_was_decided_is_the_exit_code_of_show_too(tmp_path: Path) -> None:
    whole = a_whole(undecided(private=False))

    code, _ = debate(tmp_path, {f"GET /debates/{DEBATE}": whole}, "show", SHORT, "--json")

    assert code == Exit.UNDECIDED


def test_one_that_is_on_can_be_followed(tmp_path: Path, capsys: Captured) -> None:
    on = {f"GET /debates/{DEBATE}": a_whole(a_debate())}

    debate(tmp_path, on, "show", SHORT)
    assert f"portico debate show {SHORT} --follow" in capsys.readouterr().err

    debate(tmp_path, on, "show", SHORT, "--follow")
    assert f"✓ {ONE}: no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("nosuch", Exit.FAILED, "There is no debate 'nosuch' that you may read."),
        ("abc", Exit.USAGE, "too short"),
        ("dbt_01m7fxv", Exit.USAGE, "short for 2 debates"),
    ],
)
def test_a_name_that_stands_for_none_or_several_is_refused(
    tmp_path: Path, capsys: Captured, name: str, code: int, told: str
) -> None:
    both = {"GET /debates": page(a_decided(), a_decided(id=OTHER))}

    assert debate(tmp_path, both, "show", name)[0] == code
    assert told in capsys.readouterr().err


def test_its_log_is_a_text(tmp_path: Path, capsys: Captured) -> None:
    some = {f"GET /debates/{DEBATE}/log": Raw(b"# Is 91 a prime number?\x1b[2J\n")}

    debate(tmp_path, some, "log", f"…{SHORT}")

    assert capsys.readouterr().out == "# Is 91 a prime number?�[2J\n"


def test_a_program_gets_its_notes_for_a_log(tmp_path: Path, capsys: Captured) -> None:
    debate(tmp_path, {}, "log", DEBATE, "--json")

    assert json.loads(capsys.readouterr().out) == a_whole(a_decided())


@pytest.mark.parametrize(
    ("found", "told"), [(a_debate(), f"{DEBATE} stops."), (a_decided(), "Decided: no (93 %)")]
)
def test_one_is_stopped(tmp_path: Path, capsys: Captured, found: dict[str, Any], told: str) -> None:
    debate(tmp_path, {f"POST /debates/{DEBATE}/stop": found}, "stop", DEBATE)

    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "sent_"),
    [
        (["right"], {"right": True}),
        (["Wrong"], {"right": False}),
        (["the second one"], {"answer": "the second one"}),
        (["--answer", "right"], {"answer": "right"}),
        (["yes", "--source", "test", "--note", "ran it"],
         {"answer": "yes", "source": "test", "note": "ran it"}),
    ],
)  # fmt: skip
def test_how_it_turned_out_is_marked_and_echoed(
    tmp_path: Path, capsys: Captured, said: list[str], sent_: dict[str, Any]
) -> None:
    kept = {"decided_right": False, "right": "c:yes", "shown": "yes", "source": "person"}

    _, server = debate(tmp_path, {f"POST /debates/{DEBATE}/outcome": kept}, "outcome", SHORT, *said)

    assert sent(server) == [sent_]
    assert capsys.readouterr().out == (
        "Marked: the decision was not right. The right answer is yes.\n"
    )


def test_only_that_it_was_right_needs_no_answer(tmp_path: Path, capsys: Captured) -> None:
    kept = {"decided_right": True, "right": None, "source": "person"}

    debate(tmp_path, {f"POST /debates/{DEBATE}/outcome": kept}, "outcome", SHORT, "right")

    assert capsys.readouterr().out == "Marked: the decision was right.\n"


@pytest.mark.parametrize("said", [[], ["right", "--answer", "yes"]])
def test_an_outcome_is_said_in_one_way(tmp_path: Path, said: list[str]) -> None:
    code, server = debate(tmp_path, {}, "outcome", SHORT, *said)

    assert code == Exit.USAGE
    assert server.asked == []


def test_a_log_is_folded_between_words_for_a_person_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    line = "    because: " + "herons are birds " * 8
    some = {f"GET /debates/{DEBATE}/log": Raw(f"Question: what?\n{line}\n".encode())}

    debate(tmp_path, some, "log", DEBATE)
    assert capsys.readouterr().out == f"Question: what?\n{line}\n"

    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "70")
    debate(tmp_path, some, "log", DEBATE)
    shown = screen.getvalue().splitlines()
    assert all(len(each) <= 70 for each in shown)
    assert " ".join(screen.getvalue().split()) == f"Question: what? {' '.join(line.split())}"
    assert shown[2].startswith("      ")


def test_on_a_narrow_screen_voices_have_fewer_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = a_voice("program:claude", available=False, why="It is not installed, or not found.")
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "70")

    debate(tmp_path, {"GET /debate-voices": page(away)}, "voices")

    assert screen.getvalue().splitlines()[0].split() == ["voice", "price", "there", "why"]
    assert all(len(line) <= 70 for line in screen.getvalue().splitlines())


def test_a_replay_shows_then_and_now(tmp_path: Path, capsys: Captured) -> None:
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
    some = {f"POST /debates/{DEBATE}/replay": found}

    code, server = debate(tmp_path, some, "replay", SHORT, "--preset", "quorum", "--without", ONE)

    told = capsys.readouterr()
    assert sent(server) == [{"preset": "quorum", "without": [ONE]}]
    assert told.out.splitlines() == [
        "then\t-\t-\t-\t-\t3\t1500",
        "now\tdecided\tcertain\tno\t93 %\t2\t900",
    ]
    assert "! A critique round was not held then." in told.err
    found["now"] = a_decision(verdict="no_decision", why="too_unsure", answer=None)
    assert (code, debate(tmp_path, some, "replay", SHORT)[0]) == (Exit.OK, Exit.UNDECIDED)
    assert "now\tno decision\ttoo unsure\t-" in capsys.readouterr().out


def test_voices_say_whether_they_are_there(tmp_path: Path, capsys: Captured) -> None:
    there = a_voice(ONE, available=True, why=None, tariff={"input": "1.25", "output": "10"})
    free = a_voice("llamacpp:x", available=True, why=None, tariff={"input": "0", "output": "0"})
    away = a_voice("program:claude", kind="program", available=False, why="It is not installed.")
    some = {"GET /debate-voices": page(there, free, away | {"bounded": False})}

    _, server = debate(tmp_path, some, "voices", "--fresh")

    assert "fresh=true" in server.addresses[0]
    assert capsys.readouterr().out.splitlines() == [
        f"{ONE}\tmodel\tollama\tyes\t$1.25 / $10\tpublic\tyes\t-",
        "llamacpp:x\tmodel\tllamacpp\tyes\tfree\tpublic\tyes\t-",
        "program:claude\tprogram\tprogram\tno\t-\tpublic\tno\tIt is not installed.",
    ]


def test_voices_are_found_by_a_part_of_their_name(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /debate-voices": page(a_voice(ONE, available=True, why=None))}

    debate(tmp_path, some, "voices", "SMALL")
    debate(tmp_path, some, "voices", "nobody")

    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1
    assert "None match." in told.err


def test_without_voices_it_is_said_how_to_get_some(tmp_path: Path, capsys: Captured) -> None:
    debate(tmp_path, {"GET /debate-voices": page()}, "voices")

    assert "portico models providers" in capsys.readouterr().err


def test_one_is_shared(tmp_path: Path, capsys: Captured) -> None:
    debate(tmp_path, {f"POST /debates/{DEBATE}/share": a_decided()}, "share", SHORT)

    assert "is shared with its project" in capsys.readouterr().out


def test_a_copy_that_is_less_secret_waits_for_somebody(tmp_path: Path, capsys: Captured) -> None:
    some = {f"POST /debates/{DEBATE}/promote": {"approval": "apr_01m7fxv1skfhf86xxtf6psabcd"}}

    _, server = debate(tmp_path, some, "promote", SHORT, "--to", "team")

    assert sent(server) == [{"to": "team"}]
    assert "portico approvals approve psabcd" in capsys.readouterr().err
    assert debate(tmp_path, some, "promote", SHORT)[0] == Exit.USAGE


def test_one_is_removed_by_whoever_says_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some: dict[str, Any] = {f"DELETE /debates/{DEBATE}": {}}
    gone = f"DELETE /debates/{DEBATE}"

    code, server = debate(tmp_path, some, "remove", DEBATE)
    assert code == Exit.APPROVAL
    assert server.asked == []

    monkeypatch.setattr("sys.stdin", TtyText("y\n"))
    assert debate(tmp_path, some, "remove", DEBATE)[1].asked == [(gone, None)]
    assert debate(tmp_path, some, "remove", DEBATE, "--yes")[1].asked == [(gone, None)]
    assert "is gone." in capsys.readouterr().out


PERSONA = {
    "name": "lawyer",
    "instructions": "Look at the licence.",
    "specialist": True,
    "built_in": False,
    "made_by": "prn_1",
    "changed_at": None,
}


def test_personas_are_listed_made_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    some = {
        "GET /debate-personas": page(PERSONA),
        "PUT /debate-personas/lawyer": PERSONA,
        "DELETE /debate-personas/lawyer": {},
    }

    debate(tmp_path, some, "personas", "list")
    assert capsys.readouterr().out == "lawyer\tyes\tno\tLook at the licence.\n"

    _, server = debate(
        tmp_path, some, "personas", "put", "lawyer", "Look at the licence.", "--specialist"
    )
    wanted = {"instructions": "Look at the licence.", "specialist": True}
    assert server.asked == [("PUT /debate-personas/lawyer", wanted)]

    monkeypatch.setattr("sys.stdin", io.StringIO("From a file."))
    _, server = debate(tmp_path, some, "personas", "put", "lawyer")
    assert server.asked[0][1]["instructions"] == "From a file."

    assert debate(tmp_path, some, "personas", "put", "lawyer", " ")[0] == Exit.USAGE
    assert debate(tmp_path, some, "personas", "remove", "lawyer")[0] == Exit.APPROVAL
    assert debate(tmp_path, some, "personas", "remove", "lawyer", "--yes")[0] == Exit.OK


NO_CAP = {"tokens": None, "money": None}
HARBOUR = {"id": "prj_01m7fxv1skfhf86xxtf6psvgnn", "name": "harbour"}
BUDGET = f"/projects/{HARBOUR['id']}/debate-budget"


@pytest.mark.parametrize(
    ("said", "put"),
    [
        (["--tokens", "2M"], {"tokens": 2_000_000, "money": "5"}),
        (["--usd", "$20.5"], {"tokens": 100, "money": "20.5"}),
        (["--none"], NO_CAP),
    ],
)
def test_a_budget_of_a_project_keeps_what_is_not_said(
    tmp_path: Path, said: list[str], put: dict[str, Any]
) -> None:
    found = {"cap": {"tokens": 100, "money": "5"}, "spent": NO_COST}
    some = {"GET /projects/harbour": HARBOUR, f"GET {BUDGET}": found, f"PUT {BUDGET}": found}

    _, server = debate(tmp_path, some, "budget", "harbour", *said)

    assert server.asked[-1] == (f"PUT {BUDGET}", put)


def test_a_budget_is_shown_with_what_was_spent(tmp_path: Path, capsys: Captured) -> None:
    spent = {"tokens": 1_500, "money": "0.0042", "calls": 3}
    some = {"GET /projects/harbour": HARBOUR, f"GET {BUDGET}": {"cap": NO_CAP, "spent": spent}}

    debate(tmp_path, some, "budget", "harbour")

    assert capsys.readouterr().out.splitlines() == [
        "project\tharbour",
        "tokens\t1,500 of any number",
        "money\t$0.0042 of any sum",
        "calls\t3",
    ]
    assert debate(tmp_path, some, "budget", "harbour", "--none", "--usd", "1")[0] == Exit.USAGE
