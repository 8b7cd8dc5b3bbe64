"""A talk with an agent, at a real terminal and through a pipe."""

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.agent_answers import (
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
from tests.faces.cli.requests import ID, a_request, an_answer
from tests.faces.cli.scripted_server import Problem, ScriptedServer, Streamed
from tests.faces.cli.test_approval_watch import Person, at_a_terminal
from tests.faces.cli.test_approvals import sent, served

Captured = pytest.CaptureFixture[str]
Act = Callable[[Person, ScriptedServer], None]

EVENTS = f"GET /agents/runs/{RUN}/events"


def answers(*told: str, **more: Any) -> dict[str, Any]:
    """A run in which this is told."""
    return {
        "GET /agents/helper": AGENT,
        "POST /agents/helper/runs": STARTED,
        EVENTS: Streamed(["".join(told)]),
        **more,
    }


def asked(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    """Where nobody sits at a terminal."""
    with served(root, some) as (house, server):
        return run(house, ["agents", *arguments]), server


HELLO = (text("Hel"), text("lo.", 3), run_ended())
READING = (
    text("I look.\n"),
    tool_began(path="notes.md"),
    tool_ended(),
    text("There it is.", turn=2),
    run_ended("There it is."),
)


def test_through_a_pipe_the_answer_alone_is_data(tmp_path: Path, capsys: Captured) -> None:
    code, server = asked(tmp_path, answers(*READING), "chat", "helper", "What is there?")

    told = capsys.readouterr()
    assert code == 0
    assert told.out == "I look.\nThere it is.\n"
    assert told.err.splitlines() == [
        "┌ files.read  path notes.md",
        "└ ✓ files.read  0.2 s  # Notes first line",
        "completed · 1,200 tokens read, 34 written, $0.0042",
    ]
    assert sent(server) == [{"message": "What is there?"}]


def test_the_question_may_come_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("From a file.\n"))

    _, server = asked(tmp_path, answers(*HELLO), "chat", "helper", "--quiet")

    assert sent(server) == [{"message": "From a file.\n"}]
    assert capsys.readouterr() == ("Hello.\n", "")


def test_without_a_question_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))

    code, server = asked(tmp_path, answers(), "chat", "helper")

    assert code == Exit.USAGE
    assert sent(server) == []


def test_what_is_told_twice_is_said_once(tmp_path: Path, capsys: Captured) -> None:
    told = (text("Hel"), text("Hello.", 0), text("lo.", 3), run_ended())

    asked(tmp_path, answers(*told), "chat", "helper", "Hi")

    assert capsys.readouterr().out == "Hello.\n"


def test_what_was_broken_off_is_said_to_begin_anew(tmp_path: Path, capsys: Captured) -> None:
    told = (text("Hal"), text("Hello.", attempt=2), run_ended())

    asked(tmp_path, answers(*told), "chat", "helper", "Hi")

    said = capsys.readouterr()
    assert said.out == "Hal\nHello.\n"
    assert "begins anew" in said.err


def test_one_that_did_not_stream_is_told_at_its_end(tmp_path: Path, capsys: Captured) -> None:
    asked(tmp_path, answers(run_ended("All at once.")), "chat", "helper", "Hi")

    assert capsys.readouterr().out == "All at once.\n"


def test_what_should_be_known_besides_is_told(tmp_path: Path, capsys: Captured) -> None:
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

    asked(tmp_path, answers(*told), "chat", "helper", "Hi", "--thoughts")

    lines = capsys.readouterr().err
    assert lines.startswith("hm")
    assert "! another model is asked" in lines
    assert "« and be quick" in lines
    assert "not kept any more" in lines
    assert "└ ✗ files.read  0.2 s  there is no such file" in lines


def test_a_program_gets_the_end_as_json(tmp_path: Path, capsys: Captured) -> None:
    asked(tmp_path, answers(*READING), "chat", "helper", "Hi", "--json")

    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["answer"], found["tools"], found["run"]) == (
        "There it is.",
        ["files.read"],
        RUN,
    )
    assert said.err == ""


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        (
            {"status": "failed", "error_code": "model_unavailable", "error": "It is away."},
            Exit.FAILED,
            "The run failed: It is away.",
        ),
        (
            {
                "status": "exhausted",
                "error_code": "agent_budget_spent",
                "error": "No tokens left.",
                "fix": "Raise the limits.",
            },
            Exit.BUDGET,
            "The run reached a limit: No tokens left.",
        ),
        ({"status": "cancelled"}, Exit.FAILED, "The run was cancelled."),
    ],
)
def test_the_exit_code_says_how_it_ended(
    tmp_path: Path, capsys: Captured, ended: dict[str, Any], code: int, said: str
) -> None:
    some = answers(run_ended("", **ended))

    assert asked(tmp_path, some, "chat", "helper", "Hi")[0] == code

    assert said in capsys.readouterr().err


def test_what_waits_is_said_and_not_waited_for_unless_asked(
    tmp_path: Path, capsys: Captured
) -> None:
    told = (tool_began(tool="mail.send"), tool_waits(ID), tool_ended(tool="mail.send"))
    some = answers(*told, run_ended())

    assert asked(tmp_path, some, "chat", "helper", "Hi")[0] == Exit.APPROVAL
    said = capsys.readouterr().err
    assert "portico approvals approve psvgnn" in said

    some = answers(*told)
    assert asked(tmp_path, some, "chat", "helper", "Hi", "--json")[0] == Exit.APPROVAL
    waits = {"run": RUN, "status": "waiting", "tool": "mail.send", "approval": ID}
    said_to_program = capsys.readouterr()
    assert json.loads(said_to_program.out) == waits
    assert json.loads(said_to_program.err)["error"]["code"] == "agent_waits"

    some = answers(*told, run_ended())
    assert asked(tmp_path, some, "chat", "helper", "Hi", "--wait")[0] == 0


def test_if_no_more_can_be_told_that_is_said(tmp_path: Path, capsys: Captured) -> None:
    broke = event("error", code="store_unavailable", detail="The database is away.", fix=None)

    code, _ = asked(tmp_path, answers(broke), "chat", "helper", "Hi")

    assert code == Exit.NOT_RUNNING
    assert "The database is away." in capsys.readouterr().err


def test_one_that_ends_without_a_word_is_not_taken_for_done(tmp_path: Path) -> None:
    some = answers(event("end"))

    assert asked(tmp_path, some, "chat", "helper", "Hi")[0] == Exit.FAILED
    assert asked(tmp_path, answers(event("end")), "test", "helper", "Hi")[0] == Exit.FAILED


def test_a_talk_is_gone_on_with_by_a_short_name(tmp_path: Path) -> None:
    some = answers(*HELLO) | {"GET /traces": page(a_run())}

    _, server = asked(
        tmp_path, some, "chat", "helper", "And?", "--continues", "psvgnn", "--model", "a:b"
    )

    assert sent(server) == [{"message": "And?", "continues": RUN, "model": "a:b"}]


def test_if_another_agent_goes_on_with_a_talk_that_is_said(
    tmp_path: Path, capsys: Captured
) -> None:
    some = answers(*HELLO) | {"GET /traces": page(a_run(agent_name="other"))}

    asked(tmp_path, some, "chat", "helper", "And?", "--continues", "psvgnn")

    assert "That was a run of other: helper goes on" in capsys.readouterr().err


NO_MODEL = Problem(404, {"code": "no_such_model", "title": "No such model", "detail": "No."})


@pytest.mark.parametrize("command", ["chat", "test"])
def test_a_model_that_is_not_there_is_not_asked(
    tmp_path: Path, capsys: Captured, command: str
) -> None:
    some = answers() | {"GET /models/a%3Asmal": NO_MODEL, "GET /models": [{"model": "a:small"}]}

    code, server = asked(tmp_path, some, command, "helper", "Hi", "--model", "a:smal")

    assert code == Exit.FAILED
    assert "Did you mean a:small?" in capsys.readouterr().err
    assert sent(server) == []


def test_a_test_in_which_no_tool_worked_has_not_passed(tmp_path: Path, capsys: Captured) -> None:
    told = (tool_began(), tool_ended(failed=True), text("Done.", turn=2), run_ended("Done."))

    code, _ = asked(tmp_path, answers(*told), "test", "helper", "Hi")

    said = capsys.readouterr().out
    assert code == Exit.FAILED
    assert "! completed in" in said
    assert "! files.read failed: there is no such file" in said

    asked(tmp_path, answers(*told), "test", "helper", "Hi", "--json")
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["passed"] is False
    assert verdict["failed"] == [{"tool": "files.read", "why": "there is no such file"}]


def test_a_test_in_which_some_tool_worked_has_passed(tmp_path: Path, capsys: Captured) -> None:
    told = (tool_began(), tool_ended(failed=True), tool_began("c2"), tool_ended("c2"), run_ended())

    assert asked(tmp_path, answers(*told), "test", "helper", "Hi")[0] == 0

    said = capsys.readouterr().out
    assert "✓ completed in" in said
    assert "! files.read failed" in said


def test_a_test_says_what_was_noted(tmp_path: Path, capsys: Captured) -> None:
    noted = event("noted", code="no_tools", message="None of its tools can be used.")
    told = (noted, run_ended("Done."))

    asked(tmp_path, answers(*told), "test", "helper", "Hi")
    assert "! None of its tools can be used." in capsys.readouterr().err

    asked(tmp_path, answers(*told), "test", "helper", "Hi", "--json")
    assert json.loads(capsys.readouterr().out)["notes"] == ["None of its tools can be used."]


def test_a_test_says_how_it_did(tmp_path: Path, capsys: Captured) -> None:
    code, _ = asked(tmp_path, answers(*READING), "test", "helper", "Hi")

    said = capsys.readouterr().out
    assert code == 0
    assert "✓ completed in" in said
    assert "tools\tfiles.read" in said
    assert "tokens\t1234" in said
    assert "trace\tportico agents trace psvgnn" in said


@pytest.mark.parametrize(
    "ended",
    [run_ended("  "), run_ended("", status="failed", error_code="x", fix="Mend it.", error="e")],
)
def test_without_an_answer_a_test_has_failed(tmp_path: Path, capsys: Captured, ended: str) -> None:
    assert asked(tmp_path, answers(ended), "test", "helper", "Hi", "--json")[0] == Exit.FAILED
    assert json.loads(capsys.readouterr().out)["passed"] is False

    assert asked(tmp_path, answers(ended), "test", "helper", "Hi")[0] == Exit.FAILED
    assert "✗" in capsys.readouterr().out


def talked(
    root: Path, monkeypatch: pytest.MonkeyPatch, some: dict[str, Any], act: Act, *more: str
) -> tuple[str, ScriptedServer, int]:
    """At a terminal, until whoever sits there leaves."""
    failed: list[BaseException] = []
    left = threading.Event()
    with (
        served(root, {"GET /me": {"id": "prn_2", "name": "ana"}, **some}) as (house, server),
        at_a_terminal(monkeypatch) as person,
    ):

        def acting() -> None:
            try:
                act(person, server)
            except AssertionError as error:
                failed.append(error)
                if not left.is_set():
                    os.kill(os.getpid(), signal.SIGINT)
                    os.kill(os.getpid(), signal.SIGINT)
            finally:
                person.types("\x04")

        thread = threading.Thread(target=acting)
        thread.start()
        code = run(house, ["agents", "chat", "helper", *more])
        left.set()
        thread.join()
        seen = person.screen.getvalue()
    assert not failed, failed
    return seen, server, code


def test_at_a_terminal_one_message_follows_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("you> ")
        person.types("Hi\n")
        person.sees("completed")
        person.sees("you> ", 2)
        person.types("And?\n")
        person.sees("completed", 2)
        person.sees("you> ", 3)

    some = answers(*HELLO)
    some[EVENTS] = Streamed(["".join(HELLO), "".join(HELLO)])

    seen, server, code = talked(tmp_path, monkeypatch, some, act)

    assert sent(server) == [{"message": "Hi"}, {"message": "And?", "continues": RUN}]
    assert seen.count("Hello.\n") == 2
    assert "portico agents chat helper --continues psvgnn" in seen
    assert code == 0


def test_words_of_command_are_for_the_talk_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        lines = ["/help", "/tools", "/model", "/model a:b", "/stop", "/new", "", "/foo", "/quit"]
        for number, line in enumerate(lines, 1):
            person.sees("you> ", number)
            person.types(f"{line}\n")

    seen, server, _ = talked(tmp_path, monkeypatch, answers(*HELLO), act, "Hi")

    assert sent(server) == [{"message": "Hi"}]
    for words in (
        "/stop or Ctrl-C stops it",
        "files.*",
        "Asking the model of the agent.",
        "Asking a:b.",
        "Nothing is running.",
        "is forgotten",
        "There is no command /foo.",
    ):
        assert words in seen


def test_a_model_that_nobody_provides_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("you> ")
        person.types("/model a:smal\n")
        person.sees("Did you mean a:small?")
        person.types("/model\n")
        person.sees("Asking the model of the agent.")
        person.sees("you> ", 3)

    some = answers() | {"GET /models/a%3Asmal": NO_MODEL, "GET /models": [{"model": "a:small"}]}

    seen, _, _ = talked(tmp_path, monkeypatch, some, act)

    assert "Asking a:smal." not in seen


def test_what_begins_as_a_path_is_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("you> ")
        person.types("/etc/hosts is what?\n")
        person.sees("completed")
        person.sees("you> ", 2)

    _, server, _ = talked(tmp_path, monkeypatch, answers(*HELLO), act)

    assert sent(server) == [{"message": "/etc/hosts is what?"}]


def test_what_is_refused_ends_no_talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Too many")
        person.sees("you> ")

    some = answers(*HELLO)
    some["POST /agents/helper/runs"] = Problem(429, {"code": "x", "title": "Too many"})

    assert talked(tmp_path, monkeypatch, some, act, "Hi")[2] == 0


def test_a_run_that_failed_is_told_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Start it.")
        person.sees("you> ")

    failed = run_ended("", status="failed", error="It is away.", fix="Start it.")

    seen, _, code = talked(tmp_path, monkeypatch, answers(failed), act, "Hi")

    assert "It is away." in seen
    assert code == 0


def test_an_agent_that_is_not_there_is_not_talked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = answers()
    del some["GET /agents/helper"]

    _, server, code = talked(tmp_path, monkeypatch, some, lambda _person, _server: None)

    assert code == Exit.FAILED
    assert sent(server) == []


def posted(server: ScriptedServer, count: int) -> None:
    """Waits until so much was."""
    end = time.monotonic() + 20
    while len(sent(server)) < count:
        assert time.monotonic() < end, server.asked
        time.sleep(0.005)


class Live:
    """A run that goes on as the test says."""

    def __init__(self, *told: str, then: str) -> None:
        self.over = threading.Event()
        self.streamed = Streamed(["".join(told), then], open_until=self.over)


def test_who_types_while_it_works_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(text("Thinking"), then=run_ended("Thinking"))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Thinking")
        person.types("\x1b[A")
        person.types("\t")
        person.types("é")
        person.sees("say> é")
        person.types("t vite\n")
        posted(server, 2)
        live.over.set()
        person.sees("completed")
        person.sees("you> ")

    some = answers() | {EVENTS: live.streamed, f"POST /agents/runs/{RUN}/messages": {}}

    _, server, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert sent(server) == [{"message": "Hi"}, {"message": "ét vite"}]


@pytest.mark.parametrize("how", ["ctrl-c", "/stop\n"])
def test_a_run_is_stopped_as_soon_as_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    live = Live(text("Thinking"), then=run_ended("Thinking", status="stopped"))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Thinking")
        if how == "ctrl-c":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            person.types(how)
        person.sees("It stops as soon as it can")
        posted(server, 2)
        live.over.set()
        person.sees("stopped · ")
        person.sees("you> ")

    some = answers() | {EVENTS: live.streamed, f"POST /agents/runs/{RUN}/stop": {}}

    _, server, code = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert [asked for asked, _ in server.asked if asked.endswith("/stop")]
    assert code == 0


@pytest.mark.parametrize("how", ["\x04", "/leave\n", "/quit\n"])
def test_whoever_leaves_in_the_middle_leaves_it_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    live = Live(text("Thinking"), then=run_ended())

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Thinking")
        person.types(how)
        person.sees("It goes on by itself.")
        live.over.set()

    seen, server, code = talked(
        tmp_path, monkeypatch, answers() | {EVENTS: live.streamed}, act, "Hi"
    )

    assert code == 0
    assert sent(server) == [{"message": "Hi"}]
    assert "portico agents stop psvgnn" in seen


def test_while_it_works_what_is_no_command_is_not_said_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(text("Thinking"), then=run_ended("Thinking"))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Thinking")
        person.types("/foo bar\n")
        person.sees("There is no /foo while it works.")
        person.types("/help\n")
        person.sees("/leave or Ctrl-D leaves", 2)
        live.over.set()
        person.sees("completed")
        person.sees("you> ")

    _, server, _ = talked(tmp_path, monkeypatch, answers() | {EVENTS: live.streamed}, act, "Hi")

    assert sent(server) == [{"message": "Hi"}]


def test_the_second_time_one_leaves_without_waiting_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(text("Thinking"), then=run_ended())

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("Thinking")
        os.kill(os.getpid(), signal.SIGINT)
        person.sees("It stops as soon as it can")
        posted(server, 2)
        os.kill(os.getpid(), signal.SIGINT)
        person.sees("It was told to stop")
        live.over.set()

    some = answers() | {EVENTS: live.streamed}

    _, _, code = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert code == Exit.INTERRUPTED


def test_what_it_asks_to_be_allowed_is_answered_right_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (tool_began(tool="mail.send"), tool_waits(ID))
    live = Live(*told, then=tool_ended(tool="mail.send") + run_ended("Sent."))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("a approve")
        person.types("a")
        person.sees("approved once by ana")
        live.over.set()
        person.sees("completed")
        person.sees("you> ")

    some = answers() | {
        EVENTS: live.streamed,
        f"GET /approvals/{ID}": a_request(),
        f"POST /approvals/{ID}/answer": an_answer("once"),
    }

    seen, server, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert sent(server)[1:] == [{"answer": "once", "via": "cli"}]
    assert "desktop (agent) wants mail.send" in seen


def test_whoever_leaves_at_a_request_leaves_it_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(tool_began(tool="mail.send"), tool_waits(ID), then=run_ended())

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("a approve")
        person.types("\x04")
        person.sees("It goes on by itself.")
        live.over.set()

    some = answers() | {EVENTS: live.streamed, f"GET /approvals/{ID}": a_request()}

    _, server, code = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert code == 0
    assert sent(server) == [{"message": "Hi"}]


@pytest.mark.parametrize("key", ["s", "q"])
def test_whoever_skips_a_request_knows_what_can_be_typed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    live = Live(tool_began(tool="mail.send"), tool_waits(ID), then=run_ended())

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("a approve")
        person.types(key)
        person.sees("goes on waiting.")
        person.sees("once somebody answers: portico approvals watch")
        person.sees("While it works: type to say something to it")
        live.over.set()
        person.sees("completed")

    some = answers() | {EVENTS: live.streamed, f"GET /approvals/{ID}": a_request()}

    _, server, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert sent(server) == [{"message": "Hi"}]


def test_after_a_refused_answer_nobody_is_told_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(tool_began(tool="mail.send"), tool_waits(ID), then=run_ended())

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("a approve")
        person.types("a")
        person.sees("The server refused")
        live.over.set()
        person.sees("completed")

    some = answers() | {EVENTS: live.streamed, f"GET /approvals/{ID}": a_request()}

    seen, _, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert "once somebody answers" not in seen


def test_if_somebody_else_was_first_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (tool_began(tool="mail.send"), tool_waits(ID))
    live = Live(*told, then=tool_ended(tool="mail.send") + run_ended("Sent."))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees("a approve")
        live.over.set()
        person.sees("It waits for that no more.")
        person.sees("completed")
        person.sees("you> ")

    some = answers() | {EVENTS: live.streamed, f"GET /approvals/{ID}": a_request()}

    _, server, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert sent(server) == [{"message": "Hi"}]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (an_answer("once"), "completed"),
        (
            a_request(asker={"id": "prn_2", "name": "ana", "kind": "person", "key": None}),
            "It is your own request",
        ),
    ],
)
def test_what_is_answered_or_ones_own_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: dict[str, Any], said: str
) -> None:
    told = (tool_began(tool="mail.send"), tool_waits(ID), tool_ended(tool="mail.send"))

    def act(person: Person, server: ScriptedServer) -> None:
        person.sees(said)
        person.sees("you> ")

    some = answers(*told, run_ended()) | {f"GET /approvals/{ID}": request_}

    seen, _, _ = talked(tmp_path, monkeypatch, some, act, "Hi")

    assert "a approve" not in seen
