"""A talk with an agent, at a real terminal and through a pipe."""

import threading
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.agent_answers import (
    AGENT,
    RUN,
    STARTED,
    a_run,
    event,
    page,
    run_ended,
    text,
    tool_began,
    tool_ended,
    tool_waits,
)
from tests.interfaces.cli.command_line import (
    CommandLine,
    Outcome,
    Person,
    Step,
    Types,
    interrupt,
    posted,
)
from tests.interfaces.cli.requests import ID, a_request, an_answer
from tests.interfaces.cli.scripted_server import Problem, Streamed

EVENTS = f"GET /agents/runs/{RUN}/events"


def answers(*told: str, **more: Any) -> dict[str, Any]:
    """A run in which this is told."""
    return {
        "GET /agents/helper": AGENT,
        "POST /agents/helper/runs": STARTED,
        EVENTS: Streamed(["".join(told)]),
        **more,
    }


HELLO = (text("Hel"), text("lo.", 3), run_ended())
READING = (
    text("I look.\n"),
    tool_began(path="notes.md"),
    tool_ended(),
    text("There it is.", turn=2),
    run_ended("There it is."),
)
SENDING = (tool_began(tool="mail.send"), tool_waits(ID), tool_ended(tool="mail.send"))


def test_through_a_pipe_the_answer_alone_is_data(cli: CommandLine) -> None:
    got = cli("agents chat helper 'What is there?'", answers(*READING))

    assert (got.code, got.out) == (0, "I look.\nThere it is.\n")
    assert got.err.splitlines() == [
        "┌ files.read  path notes.md",
        "└ ✓ files.read  0.2 s  # Notes first line",
        "completed · 1,200 tokens read, 34 written, $0.0042",
    ]
    assert got.sent == [{"message": "What is there?"}]


def test_the_question_may_come_from_standard_input(cli: CommandLine) -> None:
    got = cli("agents chat helper --quiet", answers(*HELLO), piped="From a file.\n")
    nothing = cli("agents chat helper", answers(), piped=" \n")

    assert got.sent == [{"message": "From a file.\n"}]
    assert (got.out, got.err) == ("Hello.\n", "")
    assert (nothing.code, nothing.sent) == (Exit.USAGE, [])


@pytest.mark.parametrize(
    ("told", "out", "err"),
    [
        ((text("Hel"), text("Hello.", 0), text("lo.", 3), run_ended()), "Hello.\n", ""),
        ((text("Hal"), text("Hello.", attempt=2), run_ended()), "Hal\nHello.\n", "begins anew"),
        ((run_ended("All at once."),), "All at once.\n", ""),
    ],
    ids=["told twice", "broken off", "did not stream"],
)
def test_an_answer_is_told_once(
    cli: CommandLine, told: tuple[str, ...], out: str, err: str
) -> None:
    got = cli("agents chat helper Hi", answers(*told))

    assert got.out == out
    assert err in got.err


def test_what_should_be_known_besides_is_told(cli: CommandLine) -> None:
    told = (
        event("thought.added", turn=1, attempt=1, offset=0, text="hm"),
        event("noted", code="fallback", message="another model is asked"),
        event("message.heard", number=2, text="and be quick"),
        event("reset", topic="t"),
        event("turn.ended", turn=1),
        tool_began(),
        tool_ended(failed=True),
        run_ended(),
    )

    lines = cli("agents chat helper Hi --thoughts", answers(*told)).err

    assert lines.startswith("hm")
    assert "! another model is asked" in lines
    assert "« and be quick" in lines
    assert "not kept any more" in lines
    assert "└ ✗ files.read  0.2 s  there is no such file" in lines


def test_a_program_gets_the_end_as_json(cli: CommandLine) -> None:
    got = cli("agents chat helper Hi --json", answers(*READING))

    wanted = {"answer": "There it is.", "tools": ["files.read"], "run": RUN}
    assert wanted.items() <= got.json.items()
    assert got.err == ""


FAILED = {"status": "failed", "error_code": "model_unavailable", "error": "It is away."}
SPENT = {"status": "exhausted", "error_code": "agent_budget_spent", "error": "No tokens left."}
BROKEN = event("error", code="store_unavailable", detail="The database is away.", fix=None)


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (run_ended("", **FAILED), Exit.FAILED, "The run failed: It is away."),
        (run_ended("", **SPENT, fix="Raise the limits."), Exit.BUDGET,
         "The run reached a limit: No tokens left."),
        (run_ended("", status="cancelled"), Exit.FAILED, "The run was cancelled."),
        (BROKEN, Exit.NOT_RUNNING, "The database is away."),
        (event("end"), Exit.FAILED, ""),
    ],
    ids=["failed", "spent", "cancelled", "error", "without a word"],
)  # fmt: skip
def test_the_exit_code_says_how_it_ended(cli: CommandLine, end: str, code: int, said: str) -> None:
    got = cli("agents chat helper Hi", answers(end))

    assert got.code == code
    assert said in got.err


def test_what_waits_is_said_and_not_waited_for_unless_asked(cli: CommandLine) -> None:
    waits = cli("agents chat helper Hi", answers(*SENDING, run_ended()))
    program = cli("agents chat helper Hi --json", answers(*SENDING))
    waited = cli("agents chat helper Hi --wait", answers(*SENDING, run_ended()))

    assert [got.code for got in (waits, program, waited)] == [Exit.APPROVAL, Exit.APPROVAL, 0]
    assert "portico approvals approve psvgnn" in waits.err
    assert program.json == {"run": RUN, "status": "waiting", "tool": "mail.send", "approval": ID}
    assert program.error["code"] == "agent_waits"


def test_a_talk_is_gone_on_with_by_a_short_name(cli: CommandLine) -> None:
    some = answers(*HELLO) | {"GET /traces": page(a_run(agent_name="other"))}

    got = cli("agents chat helper And? --continues psvgnn --model a:b", some)

    assert got.sent == [{"message": "And?", "continues": RUN, "model": "a:b"}]
    assert "That was a run of other: helper goes on" in got.err


NO_MODEL = Problem(404, {"code": "no_such_model", "title": "No such model", "detail": "No."})
SMALL = {"GET /models/a%3Asmal": NO_MODEL, "GET /models": [{"model": "a:small"}]}


BROKE = (tool_began(), tool_ended(failed=True))
NOTED = event("noted", code="no_tools", message="None of its tools can be used.")
MEND = {"status": "failed", "error_code": "x", "fix": "Mend it.", "error": "e"}


@pytest.mark.parametrize(
    ("told", "passed", "said"),
    [
        (READING, True, ["✓ completed in", "tools\tfiles.read", "tokens\t1234",
                         "trace\tportico agents trace psvgnn"]),
        ((*BROKE, text("Done.", turn=2), run_ended("Done.")), False,
         ["! completed in", "! files.read failed: there is no such file"]),
        ((*BROKE, tool_began("c2"), tool_ended("c2"), run_ended()), True,
         ["✓ completed in", "! files.read failed"]),
        ((NOTED, run_ended("Done.")), True, ["! None of its tools can be used."]),
        ((run_ended("  "),), False, ["✗"]),
        ((run_ended("", **MEND),), False, ["✗"]),
        ((event("end"),), False, []),
    ],
    ids=["well", "no tool worked", "some tool worked", "noted", "silent", "failed", "no word"],
)  # fmt: skip
def test_a_test_says_how_it_did(
    cli: CommandLine, told: tuple[str, ...], passed: bool, said: list[str]
) -> None:
    got = cli("agents test helper Hi", answers(*told))

    assert got.code == (0 if passed else Exit.FAILED)
    assert [words for words in said if words not in got.out + got.err] == []


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ((*BROKE, run_ended("Done.")),
         {"passed": False, "failed": [{"tool": "files.read", "why": "there is no such file"}]}),
        ((NOTED, run_ended("Done.")), {"notes": ["None of its tools can be used."]}),
        ((run_ended("  "),), {"passed": False}),
    ],
)  # fmt: skip
def test_a_program_gets_the_verdict_of_a_test(
    cli: CommandLine, told: tuple[str, ...], verdict: dict[str, Any]
) -> None:
    got = cli("agents test helper Hi --json", answers(*told)).json

    assert verdict.items() <= got.items()


def talked(cli: CommandLine, some: dict[str, Any], *steps: Step, begins: str = "Hi") -> Outcome:
    """At a terminal, until whoever sits there leaves."""
    me = {"GET /me": {"id": "prn_2", "name": "ana"}}
    return cli.watched(f"agents chat helper {begins}", me | some, *steps, leave="\x04")


def test_at_a_terminal_one_message_follows_another(cli: CommandLine) -> None:
    some = answers(*HELLO)
    some[EVENTS] = Streamed(["".join(HELLO), "".join(HELLO)])

    got = talked(
        cli, some, "you> ", Types("Hi\n"), "completed", ("you> ", 2), Types("And?\n"),
        ("completed", 2), ("you> ", 3), begins="",
    )  # fmt: skip

    assert got.sent == [{"message": "Hi"}, {"message": "And?", "continues": RUN}]
    assert got.out.count("Hello.\n") == 2
    assert "portico agents chat helper --continues psvgnn" in got.out
    assert got.code == 0


def test_words_of_command_are_for_the_talk_itself(cli: CommandLine) -> None:
    words = ["/help", "/tools", "/model", "/model a:b", "/stop", "/new", "", "/foo", "/quit"]
    steps: list[Step] = []
    for number, line in enumerate(words, 1):
        steps += [("you> ", number), Types(f"{line}\n")]

    got = talked(cli, answers(*HELLO), *steps)

    assert got.sent == [{"message": "Hi"}]
    for said in (
        "/stop or Ctrl-C stops it",
        "files.*",
        "Asking the model of the agent.",
        "Asking a:b.",
        "Nothing is running.",
        "is forgotten",
        "There is no command /foo.",
    ):
        assert said in got.out


def test_a_model_that_nobody_provides_is_not_taken(cli: CommandLine) -> None:
    got = talked(
        cli, answers(**SMALL), "you> ", Types("/model a:smal\n"), "Did you mean a:small?",
        Types("/model\n"), "Asking the model of the agent.", ("you> ", 3), begins="",
    )  # fmt: skip

    assert "Asking a:smal." not in got.out


def test_what_begins_as_a_path_is_no_command(cli: CommandLine) -> None:
    path = "/etc/hosts is what?"

    got = talked(
        cli, answers(*HELLO), "you> ", Types(f"{path}\n"), "completed", ("you> ", 2), begins=""
    )

    assert got.sent == [{"message": path}]


TOO_MANY = Problem(429, {"code": "x", "title": "Too many"})
FAILS = run_ended("", status="failed", error="It is away.", fix="Start it.")


@pytest.mark.parametrize(
    ("some", "said"),
    [
        (answers(**{"POST /agents/helper/runs": TOO_MANY}), ["Too many"]),
        (answers(FAILS), ["It is away.", "Start it."]),
    ],
    ids=["refused", "failed"],
)
def test_a_question_that_fails_ends_no_talk(
    cli: CommandLine, some: dict[str, Any], said: list[str]
) -> None:
    assert talked(cli, some, *said, "you> ").code == 0


def test_an_agent_that_is_not_there_is_not_talked_to(cli: CommandLine) -> None:
    got = talked(cli, answers() | {"GET /agents/helper": None}, begins="")

    assert (got.code, got.sent) == (Exit.FAILED, [])


class Live:
    """A run that goes on until it is told to."""

    def __init__(self, *told: str, then: str = "", more: dict[str, Any] | None = None) -> None:
        self._over = threading.Event()
        streamed = Streamed(["".join(told), then or run_ended()], open_until=self._over)
        self.answers = answers(**{EVENTS: streamed, **(more or {})})

    def ends(self, _: Person) -> None:
        self._over.set()


STOP = f"POST /agents/runs/{RUN}/stop"
IT_ENDS = ("completed", "you> ")


def test_who_types_while_it_works_is_heard(cli: CommandLine) -> None:
    live = Live(text("Thinking"), more={f"POST /agents/runs/{RUN}/messages": {}})

    got = talked(
        cli, live.answers, "Thinking", Types("\x1b[A"), Types("\t"), Types("é"), "say> é",
        Types("t vite\n"), posted(2), live.ends, *IT_ENDS,
    )  # fmt: skip

    assert got.sent == [{"message": "Hi"}, {"message": "ét vite"}]


@pytest.mark.parametrize("stop", [interrupt, Types("/stop\n")], ids=["ctrl-c", "/stop"])
def test_a_run_is_stopped_as_soon_as_it_can(cli: CommandLine, stop: Step) -> None:
    live = Live(text("Thinking"), then=run_ended("Thinking", status="stopped"), more={STOP: {}})

    got = talked(
        cli, live.answers, "Thinking", stop, "It stops as soon as it can", posted(2), live.ends,
        "stopped · ", "you> ",
    )  # fmt: skip

    assert STOP in got.routes
    assert got.code == 0


@pytest.mark.parametrize("how", ["\x04", "/leave\n", "/quit\n"])
def test_whoever_leaves_in_the_middle_leaves_it_to_go_on(cli: CommandLine, how: str) -> None:
    live = Live(text("Thinking"))

    got = talked(cli, live.answers, "Thinking", Types(how), "It goes on by itself.", live.ends)

    assert (got.code, got.sent) == (0, [{"message": "Hi"}])
    assert "portico agents stop psvgnn" in got.out


def test_while_it_works_what_is_no_command_is_not_said_to_it(cli: CommandLine) -> None:
    live = Live(text("Thinking"))

    got = talked(
        cli, live.answers, "Thinking", Types("/foo bar\n"), "There is no /foo while it works.",
        Types("/help\n"), ("/leave or Ctrl-D leaves", 2), live.ends, *IT_ENDS,
    )  # fmt: skip

    assert got.sent == [{"message": "Hi"}]


def test_the_second_time_one_leaves_without_waiting_for_its_end(cli: CommandLine) -> None:
    live = Live(text("Thinking"))

    got = talked(
        cli, live.answers, "Thinking", interrupt, "It stops as soon as it can", posted(2),
        interrupt, "It was told to stop", live.ends,
    )  # fmt: skip

    assert got.code == Exit.INTERRUPTED


WAITING = (tool_began(tool="mail.send"), tool_waits(ID))
REQUEST = {f"GET /approvals/{ID}": a_request()}


def test_what_it_asks_to_be_allowed_is_answered_right_there(cli: CommandLine) -> None:
    approved = {f"POST /approvals/{ID}/answer": an_answer("once")}
    live = Live(*WAITING, then=tool_ended(tool="mail.send") + run_ended(), more=REQUEST | approved)

    got = talked(
        cli, live.answers, "a approve", Types("a"), "approved once by ana", live.ends, *IT_ENDS
    )

    assert got.sent[1:] == [{"answer": "once", "via": "cli"}]
    assert "desktop (agent) wants mail.send" in got.out


def test_whoever_leaves_at_a_request_leaves_it_waiting(cli: CommandLine) -> None:
    live = Live(*WAITING, more=REQUEST)

    got = talked(cli, live.answers, "a approve", Types("\x04"), "It goes on by itself.", live.ends)

    assert (got.code, got.sent) == (0, [{"message": "Hi"}])


@pytest.mark.parametrize("key", ["s", "q"])
def test_whoever_skips_a_request_knows_what_can_be_typed_meanwhile(
    cli: CommandLine, key: str
) -> None:
    live = Live(*WAITING, more=REQUEST)

    got = talked(
        cli, live.answers, "a approve", Types(key), "goes on waiting.",
        "once somebody answers: portico approvals watch",
        "While it works: type to say something to it", live.ends, *IT_ENDS,
    )  # fmt: skip

    assert got.sent == [{"message": "Hi"}]


def test_after_a_refused_answer_nobody_is_told_to_answer(cli: CommandLine) -> None:
    live = Live(*WAITING, more=REQUEST)

    got = talked(
        cli, live.answers, "a approve", Types("a"), "The server refused", live.ends, *IT_ENDS
    )

    assert "once somebody answers" not in got.out


def test_if_somebody_else_was_first_it_goes_on(cli: CommandLine) -> None:
    live = Live(*WAITING, then=tool_ended(tool="mail.send") + run_ended(), more=REQUEST)

    got = talked(cli, live.answers, "a approve", live.ends, "It waits for that no more.", *IT_ENDS)

    assert got.sent == [{"message": "Hi"}]


OF_ANA = {"id": "prn_2", "name": "ana", "kind": "person", "key": None}


@pytest.mark.parametrize(
    ("request_", "said"),
    [(an_answer("once"), "completed"), (a_request(asker=OF_ANA), "It is your own request")],
    ids=["answered", "ones own"],
)
def test_what_is_answered_or_ones_own_is_not_asked(
    cli: CommandLine, request_: dict[str, Any], said: str
) -> None:
    some = answers(*SENDING, run_ended(), **{f"GET /approvals/{ID}": request_})

    assert "a approve" not in talked(cli, some, said, "you> ").out
