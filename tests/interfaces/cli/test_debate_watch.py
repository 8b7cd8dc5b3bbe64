"""A debate watched at a real terminal: drawn in place, asked before it is stopped."""

import re
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.agent_answers import event
from tests.interfaces.cli.command_line import CommandLine, Outcome, Step, Types, interrupt
from tests.interfaces.cli.debate_answers import BEGAN, DEBATE, ONE, answers, asked, ended, stands
from tests.interfaces.cli.scripted_server import Gone, Streamed

EVENTS = f"GET /debates/{DEBATE}/events"
STOP = f"POST /debates/{DEBATE}/stop"
DRAWN = "80 %"
STOP_IT = "Stop the debate?"


def watch(
    cli: CommandLine,
    some: dict[str, Any],
    *steps: Step,
    option: str = "",
    held: str | None = EVENTS,
) -> Outcome:
    command = f"debate 'Is 91 a prime number?' {option}"
    return cli.watched(command, some, *steps, held=held, drawn=True)


def going_on(**more: Any) -> dict[str, Any]:
    return answers(BEGAN, asked(ONE), stands(("no", 0.8), ("yes", 0.15)), **more)


def test_it_is_drawn_to_its_end(cli: CommandLine) -> None:
    got = watch(cli, answers(), held=None)

    assert got.code == Exit.OK
    assert re.search(r"no +█+▌?░* +80 %", got.out)
    assert "another answer" in got.out
    assert re.search(r"1,000 tokens spent( · 900 reserved)? · of 20,000", got.out)
    assert f"✓ {ONE}" in got.out
    assert "Decided: no (93 %)" in got.out


def test_whoever_leaves_it_leaves_it_running(cli: CommandLine) -> None:
    got = watch(cli, going_on(), DRAWN, Types("q"))

    assert got.code == Exit.INTERRUPTED
    assert STOP not in got.routes
    assert "It goes on by itself. What came of it: portico debate show psvgnn" in got.out


@pytest.mark.parametrize(
    ("steps", "option", "stopped"),
    [
        ((DRAWN, interrupt, STOP_IT, Types("y"), "It stops as soon as it can.", Types("q")), "", 1),
        ((DRAWN, interrupt, STOP_IT, Types("n"), Types("q")), "", 0),
        ((DRAWN, interrupt, STOP_IT, interrupt), "", 0),
        (("Ctrl-C stops it", interrupt), "--no-input", 1),
    ],
    ids=["yes", "no", "twice", "nobody can be asked"],
)
def test_ctrl_c_asks_before_it_is_stopped(
    cli: CommandLine, steps: tuple[Step, ...], option: str, stopped: int
) -> None:
    got = watch(cli, going_on(), *steps, option=option)

    assert got.code == Exit.INTERRUPTED
    assert got.routes.count(STOP) == stopped


def test_a_stop_that_is_refused_is_said(cli: CommandLine) -> None:
    some = going_on(**{STOP: Gone()})

    got = watch(cli, some, DRAWN, interrupt, STOP_IT, Types("y"), "Nothing answers at", Types("q"))

    assert got.code == Exit.INTERRUPTED


@pytest.mark.parametrize(
    ("some", "code", "said"),
    [
        (answers(**{EVENTS: Streamed([BEGAN, ended()])}), Exit.OK,
         "waiting for it to come back"),
        (answers(event("error", code="debate_not_found", detail="It is gone.", fix=None)),
         Exit.NOT_RUNNING, "It is gone."),
    ],
    ids=["for a while", "for good"],
)  # fmt: skip
def test_a_server_that_goes_away_is_waited_for(
    cli: CommandLine, some: dict[str, Any], code: int, said: str
) -> None:
    got = watch(cli, some, held=None)

    assert got.code == code
    assert said in got.out
