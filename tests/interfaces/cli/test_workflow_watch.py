"""A workflow watched at a real terminal."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome, Person, Step, Types, interrupt
from tests.interfaces.cli.picture.reports import a_report, a_told_step, an_event
from tests.interfaces.cli.picture.scenes import NOON, RUN
from tests.interfaces.cli.requests import waiting
from tests.interfaces.cli.scripted_server import Streamed
from tests.interfaces.cli.workflow_answers import ASKED, DONE, ENDED, FAILED, FAILURE, answers, told

EVENTS = f"GET /runs/{RUN}/events"
RUNNING = a_told_step("read", state="running", started_at=NOON)
WAITS = a_told_step("read", state="waiting", approval=ASKED, started_at=NOON)
UNSURE = a_told_step("pay", state="uncertain", started_at=NOON)
DRAWN = "q leave it running"
AGAIN = "c again to cancel it"


def watch(
    cli: CommandLine,
    some: dict[str, Any],
    *steps: Step,
    option: str = "",
    held: str | None = EVENTS,
) -> Outcome:
    return cli.watched(f"workflows watch {RUN} {option}", some, *steps, held=held, drawn=True)


def going_on(*steps: dict[str, Any], **report: Any) -> dict[str, Any]:
    begun = told(an_event("run.started", 0), over=False)
    found = answers(*(steps or [RUNNING]), **{"status": "running", **report})
    return found | {EVENTS: Streamed([begun])}


def test_it_is_drawn_until_it_is_over(cli: CommandLine) -> None:
    got = watch(cli, answers(DONE, **ENDED))

    last = got.out[got.out.rindex("morning") :]
    assert got.code == 0
    assert "✓ read" in last
    assert '"text": "hello"' in last


MANY = answers(*({**DONE, "id": f"s{number}"} for number in range(100)), **ENDED)


@pytest.mark.parametrize(
    ("some", "code", "said"),
    [
        (MANY, 0, ["All of it: portico workflows show 0aaaaa"]),
        (answers(FAILED, status="failed", error=FAILURE), Exit.FAILED,
         ["↳ tool_failed: no such file", "It failed at read: tool_failed: no such file"]),
        (going_on() | {EVENTS: None}, Exit.FAILED, ["✗"]),
    ],
    ids=["more than a screen", "failed", "refused for good"],
)  # fmt: skip
def test_how_it_ended_is_told_below_the_last_picture(
    cli: CommandLine, some: dict[str, Any], code: int, said: list[str]
) -> None:
    got = watch(cli, some, held=None)

    assert got.code == code
    assert [words for words in said if words not in got.out] == []


CANCELLED = {f"POST /workflows/{RUN}/cancel": a_report(RUNNING)}


@pytest.mark.parametrize(
    ("some", "steps", "option", "sent"),
    [
        ({}, (DRAWN, Types("q")), "", 0),
        ({}, (DRAWN, interrupt), "", 0),
        ({}, ("Ctrl-C leaves it running", interrupt), "--no-input", 0),
        (CANCELLED, (DRAWN, Types("c"), AGAIN, Types("xc"), (AGAIN, 2), Types("cq")), "", 1),
        ({}, (DRAWN, Types("c"), AGAIN, Types("c"), "The server answered 404.", Types("q")), "", 1),
    ],
    ids=["q", "ctrl-c", "without a keyboard", "cancelled", "refused"],
)
def test_it_is_left_running_unless_it_is_cancelled_twice(
    cli: CommandLine, some: dict[str, Any], steps: tuple[Step, ...], option: str, sent: int
) -> None:
    got = watch(cli, going_on() | some, *steps, option=option)

    assert got.code == Exit.INTERRUPTED
    assert "It goes on without you. To come back: portico run --attach 0aaaaa" in got.out
    assert got.sent == [None] * sent


def test_a_opens_the_requests_and_q_comes_back(cli: CommandLine) -> None:
    found = going_on(WAITS, status="waiting") | {
        "GET /me": {"id": "prn_2", "name": "ana"},
        "GET /approvals": waiting(),
        "GET /events": Streamed([]),
    }

    def comes_back(person: Person) -> None:
        drawn = person.screen.getvalue().count("morning")
        person.types("q")
        person.sees("morning", drawn + 1)

    got = watch(
        cli, found, "a approvals (1)", Types("a"), "Waiting for requests; q ends.", comes_back,
        Types("q"),
    )  # fmt: skip

    assert got.code == Exit.INTERRUPTED
    assert "waits for approval: portico approvals show psvgnn" in got.out


def test_u_asks_what_became_of_each_that_nobody_knows_of(cli: CommandLine) -> None:
    sent = {"tool": "post.send", "arguments": {"to": "bob"}, "started_at": NOON.isoformat()}
    other = a_told_step("mail", state="uncertain", started_at=NOON, called_with={"mail": sent})
    found = going_on(UNSURE, other, status="waiting")
    found[f"POST /workflows/{RUN}/resolve"] = a_report(UNSURE)

    got = watch(
        cli, found, "u uncertain (2)", Types("u"), "pay: server.pay", "pay: done, retry or skip?",
        Types("skip\n"), 'mail: post.send {"to": "bob"}, begun at', "mail: done, retry or skip?",
        Types("perhaps\n"), "'perhaps' is none of them. mail: done, retry or skip?", Types("\n"),
        ("u uncertain (2)", 2), Types("q"),
    )  # fmt: skip

    assert got.sent == [{"step": "pay", "outcome": "skip"}]


def test_a_server_that_has_gone_is_said_so(cli: CommandLine) -> None:
    comes_again = [told(an_event("run.started", 0), over=False)] * 3

    got = watch(
        cli, going_on() | {EVENTS: Streamed(comes_again)}, "The server has gone", Types("q"),
        held=None,
    )  # fmt: skip

    assert got.code == Exit.INTERRUPTED
