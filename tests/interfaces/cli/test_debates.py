"""A question is debated from the command line, by a program or before a person's eyes."""

import threading
from typing import Any

import pytest

from portico.interfaces.cli.debate_view import part_line
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.server import ReceivedEvent
from tests.interfaces.cli.agent_answers import event
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.debate_answers import (
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
from tests.interfaces.cli.scripted_server import Problem, Streamed

ASKED = "Is 91 a prime number?"
EVENTS = f"GET /debates/{DEBATE}/events"
ESTIMATE = "POST /debate-estimate"
COSTLY = an_estimate(most={"tokens": 4_000, "money": "0.12", "calls": 2})


def debate(cli: CommandLine, words: str = "", some: Any = None, **how: Any) -> Outcome:
    return cli(f"debate '{ASKED}' {words}", some or answers(), **how)


def begun(got: Outcome) -> list[Any]:
    return [body for route, body in got.asked if route == "POST /debates"]


def test_through_a_pipe_the_answer_alone_is_data(cli: CommandLine) -> None:
    got = debate(cli)

    assert (got.code, got.out) == (Exit.OK, "no\n")
    assert got.err.splitlines() == [
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
    assert begun(got) == [{"question": ASKED}]


def test_what_is_wished_is_sent_and_nothing_else(cli: CommandLine) -> None:
    notes = cli.file("notes.md", "# Notes")

    got = cli(
        f"debate 'Which one?' --choice A --choice B --voice {ONE},{TWO} --roles critic "
        f"--roles {TWO}=security+architect --preset quorum --thoroughness 0.8 --budget 20k "
        f"--budget-usd 0.50 --deadline 2m --guests 1 --material {notes} --label team --shared "
        "--unbounded --analyze --topic sql --memory notes/a --kind choice --force --no-follow",
        answers(),
    )

    assert begun(got) == [
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


HARBOUR = answers(**{"GET /projects/harbour": {"id": "prj_1", "name": "harbour"}})


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("--material -", {"material": "a diff"}),
        ("--project harbour", {"project": "prj_1"}),
        ("--budget 20000", {"cap": {"tokens": 20_000}}),
        ("--budget 20,000", {"cap": {"tokens": 20_000}}),
        ("--budget 20k", {"cap": {"tokens": 20_000}}),
        ("--budget 2M", {"cap": {"tokens": 2_000_000}}),
    ],
)
def test_a_wish_is_written_as_people_write_it(
    cli: CommandLine, words: str, wished: dict[str, Any]
) -> None:
    got = debate(cli, words, HARBOUR | answers(), piped="a diff")

    assert begun(got) == [{"question": ASKED, **wished}]


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
def test_how_it_ended_is_the_exit_code(cli: CommandLine, end: dict[str, Any], code: int) -> None:
    assert debate(cli, some=answers(end=a_whole(end))).code == code


def test_without_a_decision_there_is_no_data_and_no_dissent(cli: CommandLine) -> None:
    some = answers(end=a_whole(undecided()))

    got = debate(cli, some=some)
    shown = debate(cli, some=answers(end=a_whole(undecided())), screen=80).out

    assert got.out == ""
    assert "No decision: the voices are split." in got.err
    assert "portico debate log psvgnn" in got.err
    assert "  said     5 % yes" in shown
    assert "dissent" not in shown


def test_a_program_gets_all_of_it_as_json(cli: CommandLine) -> None:
    whole = a_whole(a_decided())

    got = debate(cli, "--json", answers(end=whole))

    assert (got.code, got.json, got.err) == (Exit.OK, whole, "")


def test_started_only_its_id_is_printed(cli: CommandLine) -> None:
    got = debate(cli, "--no-follow")

    assert (got.code, got.out) == (Exit.OK, f"{DEBATE}\n")
    assert "portico debate show psvgnn --follow" in got.err


def test_seats_for_guests_are_told_at_once(cli: CommandLine) -> None:
    got = debate(cli, "--guests 2", answers(**{"POST /debates": a_debate(guests=2)}))

    first = got.err.splitlines()[0]
    assert first == f"{DEBATE} has 2 seats for guests: join_debate at /mcp/debate"


def test_an_estimate_asks_nobody_and_adds_up(cli: CommandLine) -> None:
    got = debate(cli, "--estimate")

    assert (got.code, begun(got)) == (Exit.OK, [])
    assert got.lines == [
        f"{ONE}\t1\t2000\t$0.00\tyes",
        f"{TWO}\t1\t2000\t$0.00\tyes",
        "all, at most\t2\t4000\t$0.00\t-",
    ]
    assert "usually about 2,500 tokens in 2 calls" in got.err


@pytest.mark.parametrize(
    ("words", "estimate", "code", "said"),
    [
        ("--analyze", an_estimate(most={"tokens": 4_000, "money": "0", "calls": 1}), Exit.OK,
         ["An analysis: ", "in 1 call and"]),
        ("", an_estimate(fits=False, notes=["It takes 4,000 tokens."]), Exit.BUDGET,
         ["! It takes 4,000 tokens."]),
    ],
    ids=["an analysis", "does not fit"],
)  # fmt: skip
def test_an_estimate_says_what_it_takes(
    cli: CommandLine, words: str, estimate: dict[str, Any], code: int, said: list[str]
) -> None:
    got = debate(cli, f"--estimate {words}", answers(**{ESTIMATE: estimate}))

    assert got.code == code
    assert [each for each in said if each not in got.err] == []


def test_where_nobody_can_be_asked_money_needs_a_word(cli: CommandLine) -> None:
    got = debate(cli, some=answers(**{ESTIMATE: COSTLY}))

    assert (got.code, begun(got)) == (Exit.APPROVAL, [])
    assert "--force" in got.err
    assert debate(cli, "--force", answers(**{ESTIMATE: COSTLY})).code == Exit.OK


@pytest.mark.parametrize(
    ("estimate", "said", "held"),
    [
        (COSTLY, "y\n", 1),
        (COSTLY, "n\n", 0),
        (an_estimate(most={"tokens": 60_000, "money": "0", "calls": 9}), "y\n", 1),
        (an_estimate(most={"tokens": 60_000, "money": "0", "calls": 9}), "n\n", 0),
        (an_estimate(), "", 1),
    ],
    ids=["money", "money, no", "much", "much, no", "little"],
)
def test_a_person_is_asked_before_it_costs_money_or_much(
    cli: CommandLine, estimate: dict[str, Any], said: str, held: int
) -> None:
    got = debate(cli, some=answers(**{ESTIMATE: estimate}), typed=said, screen=80)

    assert len(begun(got)) == held
    assert ("Start it? [y/N]" in got.out) == ("all, at most" in got.out) == bool(said)


def test_a_budget_that_is_too_small_is_refused_by_the_server(cli: CommandLine) -> None:
    refusal = {
        "code": "budget_too_small",
        "title": "The budget is too small",
        "detail": "The first pair takes 4000 tokens at most, and 10 are left.",
        "fix": "Give it at least 4000 tokens, or name cheaper voices.",
    }
    unfit = {ESTIMATE: COSTLY | {"fits": False}, "POST /debates": Problem(429, refusal)}

    got = debate(cli, "--budget 10", answers(**unfit))

    assert got.code == Exit.BUDGET
    assert "at least 4000 tokens" in got.err


def rows(text: str) -> list[list[str]]:
    """Of the table of what each voice took."""
    return [line.split() for line in text[text.index("voice ") :].splitlines()]


def test_a_person_sees_the_verdict_the_dissent_and_the_costs(cli: CommandLine) -> None:
    text = debate(cli, screen=100).out

    assert "Decided: no (93 %)" in text
    assert f"dissent  5 % yes ({THREE}): It looks like one." in text
    assert rows(text)[1][:6] == [ONE, "1", "300", "300", "600", "$0.0021"]
    assert rows(text)[3][6:] == ["it", "said", "nothing"]
    assert rows(text)[4] == ["answers", "that", "were", "lost", "-", "-", "-", "300", "-", "-"]
    assert rows(text)[5] == ["all", "3", "-", "-", "1,500", "$0.0042", "-"]


def test_on_a_narrow_screen_the_costs_have_fewer_columns(cli: CommandLine) -> None:
    text = debate(cli, screen=70).out

    table = text[text.index("voice ") : text.index("Once you know")]
    assert "written" not in table
    assert all(len(line) <= 70 for line in table.splitlines())


def test_a_long_answer_stands_below_the_verdict(cli: CommandLine) -> None:
    long = "First this.\nThen that."
    some = a_decided()
    some["decision"]["synthesis"] = long

    assert f"\n\n{long}\n" in debate(cli, some=answers(end=a_whole(some)), screen=80).out


def test_the_parts_of_an_analysis_are_shown(cli: CommandLine) -> None:
    part = {"tokens": 650, "money": "0", "calls": 2}
    parts = [a_decided(spent=part), undecided(spent=part)]
    whole = a_whole(a_decided(analysis=True), a_note("plan", ONE, 200), parts=parts)
    began = event("part.began", debate=DEBATE, question="Is it odd?")

    text = debate(cli, "--analyze", answers(began, ended(), end=whole), screen=120).out

    assert "├ …psvgnn Is it odd?" in text
    assert "no_decision" in text
    assert not any(each in text for each in ("were lost", "dissent", "portico debate outcome"))
    assert rows(text)[1][0] == ONE
    assert rows(text)[1][6:] == ["cut", "it", "into", "questions"]
    figures = [int(row[4].replace(",", "")) for row in rows(text)[1:5]]
    assert sum(figures[:3]) == figures[3] == 1_500


def test_what_is_said_in_the_parts_of_an_analysis_is_told_as_it_comes(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, over = "dbt_01m7fxv1skfhf86xxtf6psvg22", threading.Event()

    def lined(which: str, told: ReceivedEvent) -> str | None:
        line = part_line(which, told)
        if told.type == "debate.ended":
            over.set()
        return line

    monkeypatch.setattr("portico.interfaces.cli.debate_view.part_line", lined)
    began = event("part.began", debate=part, question="Is it odd?")
    decision = {"answer": "yes", "probability": 0.9}
    end = event("debate.ended", decision=decision, status="decided", tokens=9, money="0", seconds=1)
    in_it = "".join([asked(ONE), answered(ONE, "yes"), failed(TWO, "gone"), end])
    some = answers(
        end=a_whole(a_decided(analysis=True)),
        **{
            "POST /debates": a_debate(analysis=True),
            EVENTS: Streamed([began, ended()], open_until=over),
            f"GET /debates/{part}/events": Streamed([in_it]),
        },
    )
    threading.Timer(10, over.set).start()

    assert debate(cli, "--analyze", some).err.splitlines()[:4] == [
        "├ …psvg22 Is it odd?",
        f"│ …psvg22 ✓ {ONE}: yes",
        f"│ …psvg22 ✗ {TWO}: gone",
        "│ …psvg22 is over: yes",
    ]


def test_what_could_not_be_held_back_is_said(cli: CommandLine) -> None:
    whole = a_whole(
        a_decided(),
        a_note("said", "program:claude", 900, overrun=120, body={"shown": "no"}),
        a_note("skipped", None, body={"what": "judging", "why": "budget", "saved": 0}),
        outcomes=[{"shown": "yes", "decided_right": False, "source": "test"}],
    )

    told = cli(f"debate show {DEBATE}", answers(end=whole)).err

    assert "! program:claude spent 120 tokens beyond" in told
    assert "Not done: comparing the answers, as the budget has no room for it.\n" in told
    assert "It turned out not right; right is yes (test)." in told


def test_strangers_words_do_not_move_the_cursor(cli: CommandLine) -> None:
    some = a_decided(told="Decided: no\x1b[2J.")
    some["decision"]["answer"] = "no\x1b[2J"

    got = debate(cli, some=answers(end=a_whole(some)))

    assert "\x1b" not in got.out + got.err


@pytest.mark.parametrize("how", ["", "--json"])
def test_whoever_breaks_it_off_without_a_terminal_stops_it_and_has_what_was_said(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("portico.interfaces.cli.debate_view.DebateView.take", broken_off)

    got = debate(cli, how)

    assert got.code == Exit.INTERRUPTED
    assert f"POST /debates/{DEBATE}/stop" in got.routes
    assert "Decided: no (93 %)" in got.out + got.err
    assert DEBATE[-6:] in got.out + got.err


def test_without_a_question_it_is_said_what_there_is(cli: CommandLine) -> None:
    got = cli("debate", answers())

    assert (got.code, got.sent) == (Exit.OK, [])
    assert 'portico debate "QUESTION"' in got.out


def test_a_server_that_comes_back_tells_the_rest(cli: CommandLine) -> None:
    streamed = Streamed([event("round.began", 1, round=2, voices=[ONE]), ended()])

    got = debate(cli, some=answers(**{EVENTS: streamed}))

    assert (got.code, streamed.marks) == (Exit.OK, [None, "1"])
    assert f"Critique round: {ONE}" in got.err


def test_a_stream_that_breaks_is_told_as_what_it_is(cli: CommandLine) -> None:
    broken = event("error", code="debate_not_found", detail="It is gone.", fix=None)

    got = debate(cli, some=answers(broken))

    assert got.code == Exit.NOT_RUNNING
    assert "It is gone." in got.err
