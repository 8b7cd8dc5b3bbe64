"""Runs from the command line, against a server that says what it is told to."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.faces.cli import patience
from portico.faces.cli.app import run
from portico.faces.cli.following import parsed
from portico.faces.cli.run_words import duration
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import a_screen
from tests.faces.cli.scripted_server import ScriptedServer, Streamed, answering

Captured = pytest.CaptureFixture[str]

ONE = "run_01m7fh87g0e0080000000aaaaa"
TWO = "run_01m7fh87g0e0080000000bbbbb"
OTHER = "run_5h8kd46mnehzts3nbx2fwkmkdj"


@pytest.fixture(autouse=True)
def in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def a_run(id_: str = ONE, **changes: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "kind": "drill",
        "status": "done",
        "principal": "prn_1",
        "label": "team",
        "created_at": "2026-01-01T12:00:00Z",
        "started_at": "2026-01-01T12:00:01Z",
        "finished_at": "2026-01-01T12:00:03.400Z",
        "waits_for": [],
        "wakes_at": None,
        "attempts": 1,
        "forked_from": None,
        "error": None,
    } | changes


def a_step(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "state": "done",
        "started_at": "2026-01-01T12:00:01Z",
        "finished_at": "2026-01-01T12:00:01.400Z",
        "due_at": None,
        "output": {"a": 1},
        "error": None,
    } | changes


def an_event(type_: str, number: int = 1, **facts: Any) -> str:
    data = {"topic": ONE, "type": type_, "at": "2026-01-01T12:03:01Z", "facts": facts}
    return f"id: mark{number}\nevent: {type_}\ndata: {json.dumps(data)}\n\n"


LISTED = [a_run(each, steps_over=3) for each in (OTHER, TWO, ONE)]
FAILED = {"type": "OSError", "message": "no space left", "code": None, "step": "b"}
DETAIL = a_run(
    input={"steps": 2},
    result=None,
    status="failed",
    error=FAILED,
    steps=[a_step("a"), a_step("b", state="failed", output=None, error=FAILED)],
)
ANSWERS: dict[str, Any] = {
    "GET /runs": {"data": LISTED, "next": None},
    f"GET /runs/{ONE}": DETAIL,
    f"GET /runs/{ONE}/events": {"data": [{"type": "run.queued"}], "next": None},
    "POST /runs": a_run(status="queued", input={}, result=None),
    f"POST /runs/{ONE}/cancel": a_run(status="cancelled"),
    f"POST /runs/{ONE}/resume": a_run(status="queued"),
    f"POST /runs/{ONE}/fork": a_run(TWO),
    f"POST /runs/{ONE}/signals/go%20on": a_run(),
}
STARTED = an_event("run.started", 1, run=ONE, kind="drill")
STEP = an_event("step.done", 2, step="fetch", seconds=0.41)
DONE = an_event("run.done", 3, run=ONE, kind="drill")
END = "event: end\ndata: {}\n\n"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with answering({**ANSWERS}) as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    house = ScriptedHouse(tmp_path)
    house.remote = server.url
    house.whereabouts().key_file.write_text("ptc_mine")
    return house


def streaming(server: ScriptedServer, path: str, *connections: str) -> Streamed:
    streamed = Streamed([*connections])
    server.answers = {**server.answers, f"GET {path}": streamed}
    return streamed


def test_runs_fit_a_screen_of_80_columns(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "25")
    screen = a_screen(monkeypatch)

    assert run(house, ["runs", "list"]) == 0

    assert [line.rstrip() for line in screen.getvalue().splitlines()] == snapshot(
        [
            "id                              kind   status  started            took  steps",
            "run_5h8kd46mnehzts3nbx2fwkmkdj  drill  done    2026-01-01 12:00  2.4 s      3",
            "run_01m7fh87g0e0080000000bbbbb  drill  done    2026-01-01 12:00  2.4 s      3",
            "run_01m7fh87g0e0080000000aaaaa  drill  done    2026-01-01 12:00  2.4 s      3",
        ]
    )


def test_a_list_is_no_longer_than_wished(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "list", "--limit", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"data": LISTED[:2]}

    assert run(house, ["runs", "list", "--limit", "0"]) == 2


def test_a_run_is_shown_with_its_steps(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "show", ONE]) == 0

    assert capsys.readouterr().out.splitlines() == snapshot(
        [
            "id\trun_01m7fh87g0e0080000000aaaaa",
            "kind\tdrill",
            "status\tfailed",
            "label\tteam",
            "created\t2026-01-01 12:00:00",
            "started\t2026-01-01 12:00:01",
            "took\t2.4 s",
            'input\t{"steps": 2}',
            "error\tno space left",
            "",
            "a\tdone\t2026-01-01 12:00:01\t0.4 s\t-",
            "b\tfailed\t2026-01-01 12:00:01\t0.4 s\tno space left",
        ]
    )


def test_what_the_steps_gave_is_shown_when_asked_for(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["runs", "show", ONE, "--outputs"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == snapshot(
        [
            'a\tdone\t2026-01-01 12:00:01\t0.4 s\t{"a": 1}',
            "b\tfailed\t2026-01-01 12:00:01\t0.4 s\tno space left",
        ]
    )

    assert run(house, ["runs", "show", ONE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == DETAIL


@pytest.mark.parametrize(
    ("short", "meant"),
    [
        (ONE, ONE),
        ("run_5h8kd4", OTHER),
        ("5h8kd4", OTHER),
        ("0aaaaa", ONE),
        ("000000bbbbb", TWO),
        (f"{TWO[:-4]}", TWO),
    ],
)
def test_a_run_may_be_named_by_enough_of_its_id(
    house: ScriptedHouse, server: ScriptedServer, short: str, meant: str
) -> None:
    run(house, ["runs", "cancel", short])

    assert server.asked[-1][0] == f"POST /runs/{meant}/cancel"


@pytest.mark.parametrize("short", ["aaaaaa", "run_999999", "nosuchrun"])
def test_what_names_no_run_is_not_found(house: ScriptedHouse, capsys: Captured, short: str) -> None:
    assert run(house, ["runs", "cancel", short]) == 1

    assert "portico runs list" in capsys.readouterr().err


@pytest.mark.parametrize("short", ["", "x", "aaaaa", "run_", "run_5h8kd"])
def test_what_is_too_short_to_name_a_run_is_refused(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured, short: str
) -> None:
    assert run(house, ["runs", "cancel", short]) == 2

    assert "at least six letters" in capsys.readouterr().err
    assert server.asked == []


def test_what_names_several_runs_is_asked_about(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "cancel", "run_01m7fh"]) == 2

    told = capsys.readouterr().err
    assert "short for 2 runs" in told
    assert ONE in told


def test_a_run_is_started_with_what_it_is_given(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured, tmp_path: Path
) -> None:
    file = tmp_path / "input.json"
    file.write_text('{"steps": 9}')

    for given, sent in [
        ([], {}),
        (["--input", '{"a": 1}'], {"a": 1}),
        (["--input", f"@{file}"], {"steps": 9}),
    ]:
        assert run(house, ["runs", "start", "drill", *given]) == 0
        assert server.asked[-1] == (
            "POST /runs",
            {"kind": "drill", "input": sent, "label": None},
        )
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == (
            f"{ONE}\n",
            "To follow it: portico runs tail 0aaaaa\n",
        )


@pytest.mark.parametrize("given", ["steps=3", "[1]", '"a"'])
def test_an_input_that_is_no_json_object_is_refused_here(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured, given: str
) -> None:
    assert run(house, ["runs", "start", "drill", "--input", given]) == 2

    assert server.asked == []
    assert "It is a JSON object" in capsys.readouterr().err


def test_where_an_input_ceases_to_be_json_is_told(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "start", "drill", "--input", '{"steps": 3,\n bad']) == 2

    told = capsys.readouterr().err
    assert "line 2 column 2" in told
    assert "It is a JSON object" in told


def test_whoever_waits_for_a_run_gets_what_it_gave(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    streaming(server, f"/runs/{ONE}/events", STARTED + DONE + END)
    server.answers = {**server.answers, f"GET /runs/{ONE}": a_run(result={"é": 1})}

    assert run(house, ["runs", "start", "drill", "--wait"]) == 0

    assert capsys.readouterr().out == '{"é": 1}\n'


def test_whoever_waits_for_a_run_that_waits_for_an_answer_is_told_once(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    pausing = an_event("run.waiting", 2, run=ONE, kind="drill", **{"for": []})
    waiting = an_event("run.waiting", 3, run=ONE, kind="drill", **{"for": ["go on"]})
    streaming(server, f"/runs/{ONE}/events", pausing + waiting + waiting + DONE + END)
    server.answers = {**server.answers, f"GET /runs/{ONE}": a_run(result=None)}

    assert run(house, ["runs", "start", "drill", "--wait"]) == 0

    assert capsys.readouterr().err.splitlines() == [
        f"Started {ONE}.",
        "It waits for: go on. To answer: portico runs signal 0aaaaa 'go on' '…'",
    ]


@pytest.mark.requirement("cli:output:json-everywhere")
@pytest.mark.parametrize(
    "command", [["start", "drill"], ["start", "drill", "--wait"], ["fork", ONE, "--from", "b"]]
)
def test_a_program_is_told_nothing_that_is_not_json(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured, command: list[str]
) -> None:
    streaming(server, f"/runs/{ONE}/events", DONE + END)
    server.answers = {**server.answers, f"GET /runs/{ONE}": a_run(result=None)}

    assert run(house, ["runs", *command, "--json"]) == 0

    captured = capsys.readouterr()
    assert json.loads(captured.out)["kind"] == "drill"
    assert captured.err == ""


def test_whoever_waits_in_vain_is_told_why(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    streaming(server, f"/runs/{ONE}/events", END)

    assert run(house, ["runs", "start", "drill", "--wait"]) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "It is failed: no space left" in captured.err
    assert "portico runs show 0aaaaa" in captured.err


def test_stepping_in_says_what_became_of_it(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "cancel", ONE]) == 0
    assert run(house, ["runs", "resume", ONE]) == 0
    assert run(house, ["runs", "fork", ONE, "--from", "step-2"]) == 0

    captured = capsys.readouterr()
    assert captured.out.splitlines() == [f"{ONE} is cancelled.", f"{ONE} goes on.", TWO]
    assert captured.err == "To follow it: portico runs tail 0bbbbb\n"


@pytest.mark.parametrize(
    ("said", "payload"), [([], None), (['"yes"'], "yes"), (['{"ok": true}'], {"ok": True})]
)
def test_an_answer_is_json(
    house: ScriptedHouse, server: ScriptedServer, said: list[str], payload: Any
) -> None:
    assert run(house, ["runs", "signal", ONE, "go on", *said]) == 0

    assert server.asked[-1] == (f"POST /runs/{ONE}/signals/go%20on", {"payload": payload})


def test_an_answer_to_what_was_not_asked_is_sent_and_said_to_be_early(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    waiting = a_run(status="waiting", waits_for=["answer"])
    server.answers = {**server.answers, f"POST /runs/{ONE}/signals/wrong": waiting}

    assert run(house, ["runs", "signal", ONE, "wrong"]) == 0

    captured = capsys.readouterr()
    assert captured.out == f"Told {ONE}.\n"
    assert captured.err == (
        "It waits for: answer. This is kept in case it asks for `wrong` later.\n"
    )


def test_an_answer_that_is_no_json_is_not_sent(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    assert run(house, ["runs", "signal", ONE, "go on", "yes"]) == 2

    assert server.asked == []
    assert "'\"yes\"'" in capsys.readouterr().err


def test_everything_of_a_run_goes_into_a_file_that_only_its_owner_reads(
    house: ScriptedHouse, capsys: Captured, tmp_path: Path
) -> None:
    target = tmp_path / "run.jsonl"
    target.touch(0o644)

    assert run(house, ["runs", "export", ONE, str(target), "--replace"]) == 0

    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [next(iter(line)) for line in lines] == ["run", "step", "step", "event"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert capsys.readouterr().out == f"{target} (4 lines)\n"


def test_a_file_that_is_there_is_replaced_only_when_told_to(
    house: ScriptedHouse, capsys: Captured, tmp_path: Path
) -> None:
    target = tmp_path / "run.jsonl"
    target.write_text("mine")

    assert run(house, ["runs", "export", ONE, str(target)]) == 1

    assert target.read_text() == "mine"
    assert "--replace" in capsys.readouterr().err


def test_without_a_file_everything_of_a_run_is_printed(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["runs", "export", ONE]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.requirement("cli:runs:tail")
@pytest.mark.parametrize(
    ("last", "code"), [("run.done", 0), ("run.failed", 1), ("run.cancelled", 1), ("run.stuck", 1)]
)
def test_the_end_of_a_run_is_the_end_of_its_tail(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured, last: str, code: int
) -> None:
    error = {"message": "no space left"} if last == "run.failed" else None
    over = an_event(last, 4, run=ONE, kind="drill", error=error)
    heart = ":\n\nretry: 1000\n\n"
    streaming(server, f"/runs/{ONE}/events", heart + STARTED + STEP + heart + over + END)

    assert run(house, ["runs", "tail", ONE]) == code

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["12:03:01 run.started", "12:03:01 step.done       fetch  0.4 s"]
    assert lines[2].split()[1:] == [last, *(["no", "space", "left"] if error else [])]


@pytest.mark.requirement("cli:runs:tail")
def test_a_tail_goes_on_where_it_was_when_the_server_comes_back(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    streamed = streaming(server, f"/runs/{ONE}/events", STARTED, STEP, DONE + END)

    assert run(house, ["runs", "tail", ONE]) == 0

    captured = capsys.readouterr()
    assert streamed.marks == [None, "mark1", "mark2"]
    assert [line.split()[1] for line in captured.out.splitlines()] == [
        "run.started",
        "step.done",
        "run.done",
    ]
    assert captured.err.count("The server has gone") == captured.err.count("It is back.") == 2


def test_a_program_gets_one_object_a_line(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    delta = an_event("text.delta", 2, text="he")
    streaming(server, f"/runs/{ONE}/events", STARTED + delta + DONE + END)

    assert run(house, ["runs", "tail", ONE, "--json"]) == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["run.started", "text.delta", "run.done"]


def test_a_person_is_not_told_a_text_twice(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    delta = an_event("text.delta", 2, part="answer", text="he")
    added = an_event("text.added", 3, part="answer", text="hello", done=True)
    streaming(server, f"/runs/{ONE}/events", delta + added + DONE + END)

    assert run(house, ["runs", "tail", ONE]) == 0

    assert (
        capsys.readouterr().out.splitlines()[0]
        == "12:03:01 text.added      answer  text hello  done true"
    )


def test_what_is_not_kept_any_more_is_mentioned(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    reset = f"event: reset\ndata: {json.dumps({'topic': ONE})}\n\n"
    streaming(server, f"/runs/{ONE}/events", reset + DONE + END)

    assert run(house, ["runs", "tail", ONE]) == 0

    assert "not kept any more" in capsys.readouterr().err


def test_nothing_of_what_a_run_tells_can_move_the_cursor(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    evil = an_event("step.done", 2, step="\x1b[2Jgone\nand more", seconds=1)
    streaming(server, f"/runs/{ONE}/events", evil + DONE + END)

    run(house, ["runs", "tail", ONE])

    assert "\x1b" not in capsys.readouterr().out


def test_the_tail_of_all_runs_has_only_what_is_new_and_says_whose_it_is(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    new = DONE.replace("2026-01-01T12:03:01Z", "2999-01-01T12:03:01Z")
    streaming(server, "/events", STARTED + new)  # then there is nothing more to tell

    assert run(house, ["runs", "tail"]) == 0

    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[1:] == ["run.done", "…0aaaaa", "drill"]


@pytest.mark.parametrize("meant", [[ONE], ["0aaaaa"], []])
def test_a_server_that_does_not_come_is_not_waited_for_any_longer(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, meant: list[str]
) -> None:
    monkeypatch.setattr(patience, "AT_FIRST", 0)
    house = ScriptedHouse(tmp_path)
    house.whereabouts().key_file.write_text("ptc_mine")

    assert run(house, ["runs", "tail", *meant]) == 4

    assert "portico up" in capsys.readouterr().err


@pytest.mark.parametrize("meant", [ONE, "0aaaaa"])
def test_a_server_that_is_not_there_yet_is_waited_for(
    tmp_path: Path, capsys: Captured, meant: str
) -> None:
    house = ScriptedHouse(tmp_path)
    house.whereabouts().key_file.write_text("ptc_mine")
    with answering({**ANSWERS}, late=True) as server:
        house.remote = server.url
        streaming(server, f"/runs/{ONE}/events", DONE + END)

        assert run(house, ["runs", "tail", meant]) == 0

    assert capsys.readouterr().err.count("not there yet") == 1


def test_a_stream_that_is_refused_says_why(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["runs", "tail", TWO]) == 1

    assert "unknown" in capsys.readouterr().err


def test_an_event_without_a_name_or_a_mark_is_one_too() -> None:
    (told,) = parsed(['data: {"a": 1}', ""])

    assert (told.type, told.data, told.mark) == ("message", {"a": 1}, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (99.9, "99.9 s"),
        (100, "1 min 40 s"),
        (5999, "99 min 59 s"),
        (6000, "1 h 40 min"),
        (360_000, "100 h 0 min"),
    ],
)
def test_how_long_it_took_is_told_as_people_tell_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text
