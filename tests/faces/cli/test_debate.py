"""A question is debated from the command line, by a program or before a person's eyes."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.debate_follow import part_line
from portico.faces.cli.exits import Exit
from portico.faces.cli.following import Told
from tests.faces.cli.agent_answers import event
from tests.faces.cli.debate_answers import (
    DEBATE,
    ONE,
    THREE,
    TWO,
    a_debate,
    a_decided,
    a_note,
    a_whole,
    an_estimate,
    answered,
    answers,
    asked,
    ended,
    failed,
    undecided,
)
from tests.faces.cli.screen import TtyText, a_screen
from tests.faces.cli.scripted_server import Problem, ScriptedServer, Streamed
from tests.faces.cli.test_approvals import sent, served, types

Captured = pytest.CaptureFixture[str]

ASKED = "Is 91 a prime number?"
COSTLY = an_estimate(most={"tokens": 4_000, "money": "0.12", "calls": 2})


def debate(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, some) as (house, server):
        return run(house, ["debate", *arguments]), server


def begun(server: ScriptedServer) -> list[Any]:
    return [body for asked, body in server.asked if asked == "POST /debates"]


def test_through_a_pipe_the_answer_alone_is_data(tmp_path: Path, capsys: Captured) -> None:
    code, server = debate(tmp_path, answers(), ASKED)

    told = capsys.readouterr()
    assert code == Exit.OK
    assert told.out == "no\n"
    assert told.err.splitlines() == [
        f"Asked blindly: {ONE}, {TWO}",
        f"… {ONE}: of another family",
        f"… {TWO}: of another family",
        f"✓ {ONE}: no (500 tokens, 1.2 s, 90 % sure)",
        f"✓ {TWO}: no (500 tokens, 1.2 s)",
        "  no 80 % · yes 15 % · 1,000 tokens spent · 900 reserved · of 20,000",
        f"… {THREE}: of another family",
        f"✗ {THREE}: it said nothing",
        "Not done: the critique round, as the budget has no room for it (up to 1,200 tokens less).",
        "Decided: no (93 %), since whoever was left could not have changed it.",
        f"5 % yes ({THREE}): It looks like one.",
        "Once you know how it turned out: portico debate outcome psvgnn right|wrong|ANSWER",
    ]
    assert begun(server) == [{"question": ASKED}]


def test_what_is_wished_is_sent_and_nothing_else(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes")
    wished = [
        "Which one?", "--choice", "A", "--choice", "B", "--voice", f"{ONE},{TWO}", "--roles",
        "critic", "--roles", f"{TWO}=security+architect", "--preset", "quorum", "--thoroughness",
        "0.8", "--budget", "20k", "--budget-usd", "0.50", "--deadline", "2m", "--guests", "1",
        "--material", str(notes), "--label", "team", "--shared", "--unbounded", "--analyze",
        "--topic", "sql", "--memory", "notes/a", "--kind", "choice", "--force", "--no-follow",
    ]  # fmt: skip

    _, server = debate(tmp_path, answers(), *wished)

    assert begun(server) == [
        {
            "question": "Which one?",
            "choices": ["A", "B"],
            "kind": "choice",
            "topic": "sql",
            "voices": [ONE, TWO],
            "roles": ["critic", f"{TWO}=security+architect"],
            "preset": "quorum",
            "thoroughness": 0.8,
            "cap": {"tokens": 20_000, "money": "0.50"},
            "deadline_seconds": 120,
            "guests": 1,
            "memory": ["notes/a"],
            "material": "# Notes",
            "label": "team",
            "shared": True,
            "unbounded": True,
            "analyze": True,
        }
    ]


def test_the_material_may_come_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a diff"))

    _, server = debate(tmp_path, answers(), ASKED, "--material", "-")

    assert begun(server)[0]["material"] == "a diff"


def test_a_project_is_known_by_its_name(tmp_path: Path) -> None:
    some = answers(**{"GET /projects/harbour": {"id": "prj_1", "name": "harbour"}})

    _, server = debate(tmp_path, some, ASKED, "--project", "harbour")

    assert begun(server)[0]["project"] == "prj_1"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ((" ",), "Nothing is asked."),
        (("lst",), "Did you mean list?"),
        (("rm",), "Did you mean remove?"),
        ((ASKED, "--budget", "many"), "is no number of tokens"),
        ((ASKED, "--budget-usd", "-1"), "is no sum"),
        ((ASKED, "--budget-usd", "NaN"), "is no sum"),
        ((ASKED, "--deadline", "soon"), "is not how long"),
        ((ASKED, "--deadline", "0"), "nobody answers in no time"),
        ((ASKED, "--thoroughness", "2"), "2 is not between 0 and 1"),
        ((ASKED, "--thoroughness", "nan"), "nan is not between 0 and 1"),
        ((ASKED, "--label", "shiny"), "shiny"),
        ((ASKED, "--choice", "A"), "Give --choice at least twice."),
    ],
)
def test_what_is_not_said_right_asks_nobody(
    tmp_path: Path, capsys: Captured, wrong: tuple[str, ...], told: str
) -> None:
    code, server = debate(tmp_path, answers(), *wrong)

    assert code == Exit.USAGE
    assert told in capsys.readouterr().err
    assert server.asked == []


def test_a_file_that_is_no_text_is_refused(tmp_path: Path, capsys: Captured) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\xff")

    code, server = debate(tmp_path, answers(), ASKED, "--material", str(picture))

    assert code == Exit.USAGE
    assert "is no text" in capsys.readouterr().err
    assert begun(server) == []


@pytest.mark.parametrize(
    ("text", "many"), [("20000", 20_000), ("20,000", 20_000), ("20k", 20_000), ("2M", 2_000_000)]
)
def test_tokens_are_written_as_people_write_them(tmp_path: Path, text: str, many: int) -> None:
    _, server = debate(tmp_path, answers(), ASKED, "--budget", text)

    assert begun(server)[0]["cap"] == {"tokens": many}


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (a_decided(), Exit.OK),
        (undecided(), Exit.UNDECIDED),
        (undecided(status="escalated"), Exit.UNDECIDED),
        (undecided(status="stopped", decision=None), Exit.UNDECIDED),
        (a_decided(status="stopped"), Exit.OK),
        (undecided(status="failed", decision=None), Exit.FAILED),
    ],
)
def test_how_it_ended_is_the_exit_code(tmp_path: Path, end: dict[str, Any], code: int) -> None:
    assert debate(tmp_path, answers(end=a_whole(end)), ASKED)[0] == code


def test_without_a_decision_there_is_no_data(tmp_path: Path, capsys: Captured) -> None:
    debate(tmp_path, answers(end=a_whole(undecided())), ASKED)

    told = capsys.readouterr()
    assert told.out == ""
    assert "No decision: the voices are split." in told.err
    assert "portico debate log psvgnn" in told.err


def test_a_program_gets_all_of_it_as_json(tmp_path: Path, capsys: Captured) -> None:
    whole = a_whole(a_decided())

    code, _ = debate(tmp_path, answers(end=whole), ASKED, "--json")

    told = capsys.readouterr()
    assert code == Exit.OK
    assert json.loads(told.out) == whole
    assert told.err == ""


def test_started_only_its_id_is_printed(tmp_path: Path, capsys: Captured) -> None:
    code, _ = debate(tmp_path, answers(), ASKED, "--no-follow")

    told = capsys.readouterr()
    assert code == Exit.OK
    assert told.out == f"{DEBATE}\n"
    assert "portico debate show psvgnn --follow" in told.err


def test_seats_for_guests_are_told_at_once(tmp_path: Path, capsys: Captured) -> None:
    some = answers(**{"POST /debates": a_debate(guests=2)})

    debate(tmp_path, some, ASKED, "--guests", "2")

    first = capsys.readouterr().err.splitlines()[0]
    assert first == f"{DEBATE} has 2 seats for guests: join_debate at /mcp/debate"


def test_an_estimate_asks_nobody_and_adds_up(tmp_path: Path, capsys: Captured) -> None:
    code, server = debate(tmp_path, answers(), ASKED, "--estimate")

    told = capsys.readouterr()
    assert code == Exit.OK
    assert begun(server) == []
    assert told.out.splitlines() == [
        f"{ONE}\t1\t2000\t$0.00\tyes",
        f"{TWO}\t1\t2000\t$0.00\tyes",
        "all, at most\t2\t4000\t$0.00\t-",
    ]
    assert "usually about 2,500 tokens in 2 calls" in told.err


def test_an_estimate_of_an_analysis_says_that_it_is_one(tmp_path: Path, capsys: Captured) -> None:
    one = an_estimate(most={"tokens": 4_000, "money": "0", "calls": 1})
    debate(tmp_path, answers(**{"POST /debate-estimate": one}), ASKED, "--estimate", "--analyze")

    told = capsys.readouterr().err
    assert told.startswith("An analysis: ")
    assert "in 1 call and" in told


def test_what_was_said_without_a_decision_is_no_dissent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    debate(tmp_path, answers(end=a_whole(undecided())), ASKED)

    assert "  said     5 % yes" in screen.getvalue()
    assert "dissent" not in screen.getvalue()


def test_an_estimate_that_does_not_fit_says_what_it_takes(tmp_path: Path, capsys: Captured) -> None:
    some = answers(
        **{"POST /debate-estimate": an_estimate(fits=False, notes=["It takes 4,000 tokens."])}
    )

    code, _ = debate(tmp_path, some, ASKED, "--estimate")

    assert code == Exit.BUDGET
    assert "! It takes 4,000 tokens." in capsys.readouterr().err


def test_where_nobody_can_be_asked_money_needs_a_word(tmp_path: Path, capsys: Captured) -> None:
    some = answers(**{"POST /debate-estimate": COSTLY})

    code, server = debate(tmp_path, some, ASKED)

    assert code == Exit.APPROVAL
    assert begun(server) == []
    assert "--force" in capsys.readouterr().err
    assert debate(tmp_path, some, ASKED, "--force")[0] == Exit.OK


@pytest.mark.parametrize(
    "estimate", [COSTLY, an_estimate(most={"tokens": 60_000, "money": "0", "calls": 9})]
)
@pytest.mark.parametrize(("said", "held"), [("y\n", 1), ("n\n", 0)])
def test_a_person_is_asked_before_it_costs_money_or_much(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    estimate: dict[str, Any],
    said: str,
    held: int,
) -> None:
    screen = a_screen(monkeypatch)
    types(monkeypatch, said)

    _, server = debate(tmp_path, answers(**{"POST /debate-estimate": estimate}), ASKED)

    assert len(begun(server)) == held
    assert "Start it? [y/N]" in screen.getvalue()
    assert "all, at most" in screen.getvalue()


def test_what_costs_nothing_is_held_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setattr("sys.stdin", TtyText(""))

    code, _ = debate(tmp_path, answers(), ASKED)

    assert code == Exit.OK
    assert "Start it?" not in screen.getvalue()


def test_a_budget_that_is_too_small_is_refused_by_the_server(
    tmp_path: Path, capsys: Captured
) -> None:
    refusal = {
        "code": "budget_too_small",
        "title": "The budget is too small",
        "detail": "The first pair takes 4000 tokens at most, and 10 are left.",
        "fix": "Give it at least 4000 tokens, or name cheaper voices.",
    }
    some = answers(
        **{
            "POST /debate-estimate": COSTLY | {"fits": False},
            "POST /debates": Problem(429, refusal),
        }
    )

    code, _ = debate(tmp_path, some, ASKED, "--budget", "10")

    assert code == Exit.BUDGET
    assert "at least 4000 tokens" in capsys.readouterr().err


def test_a_person_sees_the_verdict_the_dissent_and_the_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "100")

    debate(tmp_path, answers(), ASKED)

    text = screen.getvalue()
    rows = [line.split() for line in text[text.index("voice ") :].splitlines()]
    assert "Decided: no (93 %)" in text
    assert f"dissent  5 % yes ({THREE}): It looks like one." in text
    assert rows[1][:6] == [ONE, "1", "300", "300", "600", "$0.0021"]
    assert rows[3][6:] == ["it", "said", "nothing"]
    assert rows[4] == ["answers", "that", "were", "lost", "-", "-", "-", "300", "-", "-"]
    assert rows[5] == ["all", "3", "-", "-", "1,500", "$0.0042", "-"]


def test_on_a_narrow_screen_the_costs_have_fewer_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "70")

    debate(tmp_path, answers(), ASKED)

    text = screen.getvalue()
    table = text[text.index("voice ") : text.index("Once you know")]
    assert "written" not in table
    assert all(len(line) <= 70 for line in table.splitlines())


def test_a_long_answer_stands_below_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    long = "First this.\nThen that."
    some = a_decided()
    some["decision"]["synthesis"] = long

    debate(tmp_path, answers(end=a_whole(some)), ASKED)

    assert f"\n\n{long}\n" in screen.getvalue()


def test_the_parts_of_an_analysis_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    plan = a_note("plan", ONE, 200)
    part = {"tokens": 650, "money": "0", "calls": 2}
    parts = [a_decided(spent=part), undecided(spent=part)]
    whole = a_whole(a_decided(analysis=True), plan, parts=parts)
    began = event("part.began", debate=DEBATE, question="Is it odd?")

    debate(tmp_path, answers(began, ended(), end=whole), ASKED, "--analyze")

    text = screen.getvalue()
    assert "├ …psvgnn Is it odd?" in text
    assert "no_decision" in text
    assert "were lost" not in text
    assert "dissent" not in text
    rows = [line.split() for line in text[text.index("voice ") :].splitlines()]
    assert rows[1][0] == ONE
    assert rows[1][6:] == ["cut", "it", "into", "questions"]
    figures = [int(row[4].replace(",", "")) for row in rows[1:5]]
    assert sum(figures[:3]) == figures[3] == 1_500
    assert "portico debate outcome" not in text


def test_what_is_said_in_the_parts_of_an_analysis_is_told_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    part, over = "dbt_01m7fxv1skfhf86xxtf6psvg22", threading.Event()

    def lined(which: str, told: Told) -> str | None:
        line = part_line(which, told)
        if told.type == "debate.ended":
            over.set()
        return line

    monkeypatch.setattr("portico.faces.cli.debate_follow.part_line", lined)
    began = event("part.began", debate=part, question="Is it odd?")
    decision = {"answer": "yes", "probability": 0.9}
    end = event("debate.ended", decision=decision, status="decided", tokens=9, money="0", seconds=1)
    in_it = "".join([asked(ONE), answered(ONE, "yes"), failed(TWO, "gone"), end])
    some = answers(
        end=a_whole(a_decided(analysis=True)),
        **{
            "POST /debates": a_debate(analysis=True),
            f"GET /debates/{DEBATE}/events": Streamed([began, ended()], open_until=over),
            f"GET /debates/{part}/events": Streamed([in_it]),
        },
    )

    threading.Timer(10, over.set).start()
    debate(tmp_path, some, ASKED, "--analyze")

    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == [
        "├ …psvg22 Is it odd?",
        f"│ …psvg22 ✓ {ONE}: yes",
        f"│ …psvg22 ✗ {TWO}: gone",
        "│ …psvg22 is over: yes",
    ]


def test_what_could_not_be_held_back_is_said(tmp_path: Path, capsys: Captured) -> None:
    whole = a_whole(
        a_decided(),
        a_note("said", "program:claude", 900, overrun=120, body={"shown": "no"}),
        a_note("skipped", None, body={"what": "judging", "why": "budget", "saved": 0}),
        outcomes=[{"shown": "yes", "decided_right": False, "source": "test"}],
    )

    debate(tmp_path, answers(end=whole), "show", DEBATE)

    told = capsys.readouterr().err
    assert "! program:claude spent 120 tokens beyond" in told
    assert "Not done: comparing the answers, as the budget has no room for it.\n" in told
    assert "It turned out not right; right is yes (test)." in told


def test_strangers_words_do_not_move_the_cursor(tmp_path: Path, capsys: Captured) -> None:
    some = a_decided()
    some["decision"]["answer"] = "no\x1b[2J"
    some["told"] = "Decided: no\x1b[2J."

    debate(tmp_path, answers(end=a_whole(some)), ASKED)

    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err


def test_a_stream_that_breaks_is_told_as_what_it_is(tmp_path: Path, capsys: Captured) -> None:
    broken = event("error", code="debate_not_found", detail="It is gone.", fix=None)

    code, _ = debate(tmp_path, answers(broken), ASKED)

    assert code == Exit.NOT_RUNNING
    assert "It is gone." in capsys.readouterr().err


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_whoever_breaks_it_off_without_a_terminal_stops_it_and_has_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, how: tuple[str, ...]
) -> None:
    def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("portico.faces.cli.debate_view.DebateView.take", broken_off)

    code, server = debate(tmp_path, answers(), ASKED, *how)

    told = capsys.readouterr()
    assert code == Exit.INTERRUPTED
    assert (f"POST /debates/{DEBATE}/stop", None) in server.asked
    assert "Decided: no (93 %)" in told.out + told.err
    assert DEBATE[-6:] in told.out + told.err


def test_without_a_question_it_is_said_what_there_is(tmp_path: Path, capsys: Captured) -> None:
    code, server = debate(tmp_path, answers())

    assert code == Exit.OK
    assert 'portico debate "QUESTION"' in capsys.readouterr().out
    assert sent(server) == []


def test_a_server_that_comes_back_tells_the_rest(tmp_path: Path, capsys: Captured) -> None:
    first = event("round.began", 1, round=2, voices=[ONE])
    streamed = Streamed([first, ended()])

    code, _ = debate(tmp_path, answers(**{f"GET /debates/{DEBATE}/events": streamed}), ASKED)

    assert code == Exit.OK
    assert streamed.marks == [None, "1"]
    assert f"Critique round: {ONE}" in capsys.readouterr().err
