"""Runs from the command line, against a server that says what it is told to."""

import json
import stat
from collections.abc import Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.interfaces.cli import server
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.run_text import duration
from portico.interfaces.cli.server import parsed
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Streamed

ONE = "run_01m7fh87g0e0080000000aaaaa"
TWO = "run_01m7fh87g0e0080000000bbbbb"
OTHER = "run_5h8kd46mnehzts3nbx2fwkmkdj"
EVENTS = f"GET /runs/{ONE}/events"


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
    EVENTS: {"data": [{"type": "run.queued"}], "next": None},
    "POST /runs": a_run(status="queued", input={}, result=None),
    f"POST /runs/{ONE}/cancel": a_run(status="cancelled"),
    f"POST /runs/{OTHER}/cancel": a_run(OTHER),
    f"POST /runs/{TWO}/cancel": a_run(TWO),
    f"POST /runs/{ONE}/resume": a_run(status="queued"),
    f"POST /runs/{ONE}/fork": a_run(TWO),
    f"POST /runs/{ONE}/signals/go%20on": a_run(),
}
STARTED = an_event("run.started", 1, run=ONE, kind="drill")
STEP = an_event("step.done", 2, step="fetch", seconds=0.41)
DONE = an_event("run.done", 3, run=ONE, kind="drill")
END = "event: end\ndata: {}\n\n"


def runs(cli: CommandLine, words: str, some: Any = None, **how: Any) -> Outcome:
    return cli(f"runs {words}", ANSWERS | (some or {}), **how)


def tail(cli: CommandLine, *told: str, option: str = "") -> Outcome:
    """Of a run of which this is told, on one connection."""
    return runs(cli, f"tail {ONE} {option}", {EVENTS: Streamed(["".join(told)])})


def test_runs_fit_a_screen_of_80_columns(cli: CommandLine) -> None:
    shown = runs(cli, "list", screen=80)

    assert [line.rstrip() for line in shown.lines] == snapshot(
        [
            "id                              kind   status  started            took  steps",
            "run_5h8kd46mnehzts3nbx2fwkmkdj  drill  done    2026-01-01 12:00  2.4 s      3",
            "run_01m7fh87g0e0080000000bbbbb  drill  done    2026-01-01 12:00  2.4 s      3",
            "run_01m7fh87g0e0080000000aaaaa  drill  done    2026-01-01 12:00  2.4 s      3",
        ]
    )


def test_a_list_is_no_longer_than_wished(cli: CommandLine) -> None:
    assert runs(cli, "list --limit 2 --json").json == {"data": LISTED[:2]}


def test_a_run_is_shown_with_its_steps(cli: CommandLine) -> None:
    shown = [
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
    ]

    assert runs(cli, f"show {ONE}").lines == [
        *shown,
        "a\tdone\t2026-01-01 12:00:01\t0.4 s\t-",
        "b\tfailed\t2026-01-01 12:00:01\t0.4 s\tno space left",
    ]
    assert runs(cli, f"show {ONE} --outputs").lines == [
        *shown,
        'a\tdone\t2026-01-01 12:00:01\t0.4 s\t{"a": 1}',
        "b\tfailed\t2026-01-01 12:00:01\t0.4 s\tno space left",
    ]
    assert runs(cli, f"show {ONE} --json").json == DETAIL


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
def test_a_run_may_be_named_by_enough_of_its_id(cli: CommandLine, short: str, meant: str) -> None:
    assert runs(cli, f"cancel {short}").routes[-1] == f"POST /runs/{meant}/cancel"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("cancel aaaaaa", Exit.FAILED, "portico runs list"),
        ("cancel run_999999", Exit.FAILED, "portico runs list"),
        ("cancel nosuchrun", Exit.FAILED, "portico runs list"),
        ("cancel run_01m7fh", Exit.USAGE, "short for 2 runs"),
        ("cancel run_01m7fh", Exit.USAGE, ONE),
    ],
)
def test_what_names_no_run_or_several_is_told(
    cli: CommandLine, words: str, code: int, said: str
) -> None:
    got = runs(cli, words)

    assert (got.code, got.sent) == (code, [])
    assert said in got.err


@pytest.mark.parametrize(
    ("given", "sent"),
    [("", {}), ("--input '{\"a\": 1}'", {"a": 1}), ("--input @{file}", {"steps": 9})],
)
def test_a_run_is_started_with_what_it_is_given(
    cli: CommandLine, given: str, sent: dict[str, Any]
) -> None:
    file = cli.file("input.json", '{"steps": 9}')

    got = runs(cli, f"start drill {given.replace('{file}', str(file))}")

    assert (got.code, got.out) == (0, f"{ONE}\n")
    assert got.err == "To follow it: portico runs tail 0aaaaa\n"
    assert got.sent == [{"kind": "drill", "input": sent, "label": None}]


@pytest.mark.parametrize(
    ("told", "result", "out", "err"),
    [
        ([STARTED, DONE], {"é": 1}, '{"é": 1}\n', []),
        (
            [
                an_event("run.waiting", 2, run=ONE, kind="drill", **{"for": waits})
                for waits in ([], ["go on"], ["go on"])
            ],
            {},
            "{}\n",
            ["It waits for: go on. To answer: portico runs signal 0aaaaa 'go on' '…'"],
        ),
    ],
    ids=["done", "asks meanwhile"],
)
def test_whoever_waits_for_a_run_gets_what_it_gave(
    cli: CommandLine, told: list[str], result: Any, out: str, err: list[str]
) -> None:
    story = Streamed(["".join([*told, DONE, END])])
    some = {EVENTS: story, f"GET /runs/{ONE}": a_run(result=result)}

    got = runs(cli, "start drill --wait", some)

    assert (got.code, got.out) == (0, out)
    assert got.err.splitlines() == [f"Started {ONE}.", *err]


@pytest.mark.requirement("cli:output:json-everywhere")
@pytest.mark.parametrize("command", ["start drill", "start drill --wait", f"fork {ONE} --from b"])
def test_a_program_is_told_nothing_that_is_not_json(cli: CommandLine, command: str) -> None:
    some = {EVENTS: Streamed([DONE + END]), f"GET /runs/{ONE}": a_run(result=None)}

    got = runs(cli, f"{command} --json", some)

    assert (got.code, got.json["kind"], got.err) == (0, "drill", "")


def test_whoever_waits_in_vain_is_told_why(cli: CommandLine) -> None:
    got = runs(cli, "start drill --wait", {EVENTS: Streamed([END])})

    assert (got.code, got.out) == (Exit.FAILED, "")
    assert "It is failed: no space left" in got.err
    assert "portico runs show 0aaaaa" in got.err


@pytest.mark.parametrize(
    ("words", "out", "err"),
    [
        ("cancel", f"{ONE} is cancelled.\n", ""),
        ("resume", f"{ONE} goes on.\n", ""),
        ("fork --from step-2", f"{TWO}\n", "To follow it: portico runs tail 0bbbbb\n"),
    ],
)
def test_stepping_in_says_what_became_of_it(
    cli: CommandLine, words: str, out: str, err: str
) -> None:
    got = runs(cli, f"{words} {ONE}")

    assert (got.code, got.out, got.err) == (0, out, err)


@pytest.mark.parametrize(
    ("said", "payload"), [("", None), ("'\"yes\"'", "yes"), ("'{\"ok\": true}'", {"ok": True})]
)
def test_an_answer_is_json(cli: CommandLine, said: str, payload: Any) -> None:
    assert runs(cli, f"signal {ONE} 'go on' {said}").sent == [{"payload": payload}]


def test_an_answer_to_what_was_not_asked_is_sent_and_said_to_be_early(cli: CommandLine) -> None:
    waiting = a_run(status="waiting", waits_for=["answer"])

    got = runs(cli, f"signal {ONE} wrong", {f"POST /runs/{ONE}/signals/wrong": waiting})

    assert (got.code, got.out) == (0, f"Told {ONE}.\n")
    assert got.err == "It waits for: answer. This is kept in case it asks for `wrong` later.\n"


def test_everything_of_a_run_goes_into_a_file_that_only_its_owner_reads(cli: CommandLine) -> None:
    target = cli.file("run.jsonl", "mine")

    kept = runs(cli, f"export {ONE} {target}")
    assert (kept.code, target.read_text()) == (Exit.FAILED, "mine")
    assert "--replace" in kept.err

    got = runs(cli, f"export {ONE} {target} --replace")
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [next(iter(line)) for line in lines] == ["run", "step", "step", "event"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert got.out == f"{target} (4 lines)\n"
    assert runs(cli, f"export {ONE}").out == target.read_text()


@pytest.mark.requirement("cli:runs:tail")
@pytest.mark.parametrize(
    ("last", "code"), [("run.done", 0), ("run.failed", 1), ("run.cancelled", 1), ("run.stuck", 1)]
)
def test_the_end_of_a_run_is_the_end_of_its_tail(cli: CommandLine, last: str, code: int) -> None:
    error = {"message": "no space left"} if last == "run.failed" else None
    over = an_event(last, 4, run=ONE, kind="drill", error=error)
    heart = ":\n\nretry: 1000\n\n"

    got = tail(cli, heart, STARTED, STEP, heart, over, END)

    assert got.code == code
    assert got.lines[:2] == ["12:03:01 run.started", "12:03:01 step.done       fetch  0.4 s"]
    assert got.lines[2].split()[1:] == [last, *(["no", "space", "left"] if error else [])]


@pytest.mark.requirement("cli:runs:tail")
def test_a_tail_goes_on_where_it_was_when_the_server_comes_back(cli: CommandLine) -> None:
    streamed = Streamed([STARTED, STEP, DONE + END])

    got = runs(cli, f"tail {ONE}", {EVENTS: streamed})

    assert streamed.marks == [None, "mark1", "mark2"]
    assert [line.split()[1] for line in got.lines] == ["run.started", "step.done", "run.done"]
    assert got.err.count("The server has gone") == got.err.count("It is back.") == 2


def test_a_program_gets_one_object_a_line(cli: CommandLine) -> None:
    delta = an_event("text.delta", 2, text="he")

    got = tail(cli, STARTED, delta, DONE, END, option="--json")

    types = [json.loads(line)["type"] for line in got.lines]
    assert types == ["run.started", "text.delta", "run.done"]


def test_a_person_is_not_told_a_text_twice(cli: CommandLine) -> None:
    delta = an_event("text.delta", 2, part="answer", text="he")
    added = an_event("text.added", 3, part="answer", text="hello", done=True)

    first = tail(cli, delta, added, DONE, END).lines[0]

    assert first == "12:03:01 text.added      answer  text hello  done true"


def test_what_is_not_kept_any_more_is_mentioned_and_nothing_moves_the_cursor(
    cli: CommandLine,
) -> None:
    reset = f"event: reset\ndata: {json.dumps({'topic': ONE})}\n\n"
    evil = an_event("step.done", 2, step="\x1b[2Jgone\nand more", seconds=1)

    got = tail(cli, reset, evil, DONE, END)

    assert "not kept any more" in got.err
    assert "gone" in got.out
    assert "\x1b" not in got.out


def test_the_tail_of_all_runs_has_only_what_is_new_and_says_whose_it_is(cli: CommandLine) -> None:
    new = DONE.replace("2026-01-01T12:03:01Z", "2999-01-01T12:03:01Z")
    told = Streamed([STARTED + new])  # then there is nothing more to tell

    (line,) = runs(cli, "tail", {"GET /events": told}).lines

    assert line.split()[1:] == ["run.done", "…0aaaaa", "drill"]


@pytest.mark.parametrize("meant", [ONE, "0aaaaa", ""])
def test_a_server_that_does_not_come_is_not_waited_for_any_longer(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, meant: str
) -> None:
    monkeypatch.setattr(server, "AT_FIRST", 0)

    got = cli(f"runs tail {meant}")

    assert got.code == Exit.NOT_RUNNING
    assert "portico up" in got.err


@pytest.mark.parametrize("meant", [ONE, "0aaaaa"])
def test_a_server_that_is_not_there_yet_is_waited_for(cli: CommandLine, meant: str) -> None:
    got = runs(cli, f"tail {meant}", {EVENTS: Streamed([DONE + END])}, late=True)

    assert got.code == 0
    assert got.err.count("not there yet") == 1


def test_a_stream_that_is_refused_says_why(cli: CommandLine) -> None:
    got = runs(cli, f"tail {TWO}")

    assert got.code == Exit.FAILED
    assert "unknown" in got.err


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
