"""The scripted model that agents are measured with, and what is told of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.agents_figures import (
    Ended,
    Overheads,
    lost,
    miscalled,
    miscounted,
    overheads,
    p95_ms,
    ratio,
)
from benchmarks.agents_measured import Measured, Storm
from benchmarks.agents_model import MODEL, Asked
from benchmarks.agents_report import report
from benchmarks.agents_scripts import Place, Script, Turn, Wish, place_of, played, seen_in
from benchmarks.agents_setting_up import body
from benchmarks.agents_stage import Stage, stage
from benchmarks.agents_tools import PROGRAM, counted
from benchmarks.agents_work import EARLY, wanted_answer
from portico.bench.processes import environment
from tests.benchmarks.tool_server import answers_of

LOOK = Wish(tool="look", arguments={"run": "$run", "step": "a", "seconds": 0.5}, closes=0.5)
SCRIPT = Script(name="small", turns=[Turn(seconds=0.02, first=0.01, calls=[LOOK]), Turn()])


def _called(script: Script, run: str) -> list[dict[str, Any]]:
    """A conversation that is at its second turn."""
    function = {"name": "counting__look", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": script.asked(run)},
        {"role": "assistant", "content": "words", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": 'It says: {"step": "a"}'},
    ]


def test_a_conversation_says_itself_which_turn_comes_next() -> None:
    messages = _called(SCRIPT, "r1")

    assert place_of(messages[:2]) == Place("small", "r1", 1, [])
    assert place_of(messages) == Place(
        "small", "r1", 2, [("counting__look", 'It says: {"step": "a"}')]
    )
    assert place_of([{"role": "user", "content": "hello"}]) is None


def test_a_run_that_goes_on_from_another_is_counted_from_its_own_question() -> None:
    again = [*_called(SCRIPT, "r1"), {"role": "user", "content": SCRIPT.asked("r2")}]

    assert place_of(again) == Place("small", "r2", 1, [])


def test_the_answer_tells_what_reads_gave_and_nothing_else() -> None:
    heard = [("outside__look", '{"step": "a"}'), ("outside__change", '{"step": "b"}')]

    assert seen_in(SCRIPT, heard) == ["a"]
    assert SCRIPT.answer("r1", ["a"]) == "r1 is done; seen: a"
    assert wanted_answer(SCRIPT, "r1") == "r1 is done; seen: a"


def test_the_pieces_of_a_turn_come_in_order_and_a_call_closes_when_it_is_said_to() -> None:
    place = Place("small", "r1", 1, [])
    turn = Turn(seconds=1.0, first=0.2, calls=[LOOK])

    pieces = list(played(turn, place, ["counting__look"], "one two"))

    times = [at for at, _ in pieces]
    arguments = "".join(
        part["function"]["arguments"] for _, delta in pieces for part in delta.get("tool_calls", ())
    )
    assert times == sorted(times)
    assert times[0] == 0.2
    assert times[-1] == 0.5
    assert "".join(delta.get("content", "") for _, delta in pieces) == "one two"
    assert json.loads(arguments) == {"run": "r1", "step": "a", "seconds": 0.5}
    assert pieces[2][1]["tool_calls"][0]["function"]["name"] == "counting__look"


def _asked(run: str, *turns: tuple[int, float, float]) -> list[Asked]:
    return [
        Asked(script="s", run=run, turn=turn, came=came, said=came, over=over)
        for turn, came, over in turns
    ]


def _ended(
    run: str, ended: float, *, status: str = "completed", answer: str | None = None
) -> Ended:
    said = wanted_answer(SCRIPT, run) if answer is None else answer
    return Ended(run=run, started=0.0, ended=ended, status=status, answer=said)


def test_an_overhead_is_what_neither_the_model_nor_the_tool_takes() -> None:
    asked = _asked("r1", (1, 1.0, 2.0), (2, 2.75, 3.0))

    found = overheads(SCRIPT, asked, [_ended("r1", 3.125)])

    assert found.starting == [1.0]
    assert found.turns == [0.25, 0.125]


def test_a_run_is_lost_that_failed_or_never_ended_or_says_something_else() -> None:
    ended = [_ended("good", 1), _ended("failed", 1, status="failed"), _ended("odd", 1, answer="x")]

    assert lost(SCRIPT, ["good", "failed", "odd", "never"], ended) == ["failed", "odd", "never"]


def test_every_turn_is_asked_for_once_and_every_call_made_once() -> None:
    asked = _asked("r1", (1, 0, 0), (2, 0, 0)) + _asked("r2", (1, 0, 0), (1, 0, 0))

    assert miscounted(SCRIPT, ["r1"], asked) == {}
    assert miscounted(SCRIPT, ["r1", "r2"], asked) == {"r2 1": 2, "r2 2": 0}
    assert miscalled(SCRIPT, ["r1", "r2"], {("r1", "a"): 1, ("r2", "a"): 2}) == {"r2 a": 2}


def test_figures_are_of_pairs_and_of_the_worst_twentieth() -> None:
    assert ratio([2.0, 3.0, 8.0], [1.0, 2.0, 2.0]) == 2.0
    assert p95_ms([0.001 * number for number in range(1, 101)]) == pytest.approx(95.9, abs=0.1)
    assert p95_ms([]) == 0.0


class Took:
    """A child for which every way takes a second, and what it is said to beyond resting."""

    def __init__(self, resting: float, **cpu_ms: float) -> None:
        self._resting = resting
        self._cpu_ms = cpu_ms
        self.order: list[tuple[str, str]] = []

    def told(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.order.append((asked["way"], asked["script"]))
        cpu = self._cpu_ms.get(f"{asked['way']}_{asked['script']}", 0) / 1000 * len(asked["runs"])
        return {"seconds": 1.0, "cpu": cpu + self._resting, "ended": []}


def _measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    monkeypatch.setattr("benchmarks.agents_measured.postgres_cpu", lambda _: 0.0)
    return Measured(home=Path(), stage=None, ledger=Path(), env={})  # type: ignore[arg-type] # ty: ignore[invalid-argument-type] # nobody asks it


def _storm(**more: Any) -> Storm:
    over = Overheads(starting=[0.1, 0.1], turns=[0.02, 0.02])
    facts: dict[str, Any] = {"lost": [], "turns": {}, "calls": {}, **more}
    return Storm(seconds=30.0, cpu=10.0, postgres=2.0, over=over, **facts)


def test_a_turn_costs_what_a_run_takes_beyond_its_questions_and_its_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = _measured(monkeypatch)
    child: Any = Took(
        0.03125,
        runs_lean=200,
        asks_lean=50,
        calls_lean=30,
        runs_short=40,
        runs_plain=20,
        asks_plain=5,
    )
    for number in range(3):
        measured.round(child, number)
    measured.storms.append(_storm(lost=["storm-3"], turns={"storm-3 2": 0}))
    for way, seconds in {"direct": 0.2, "run": 0.25, "model": 0.24}.items():
        measured.words[way] = [seconds] * 3
    for script in EARLY:
        measured.turns_took[script.name, True] = [0.9]
        measured.turns_took[script.name, False] = [1.05]

    found = report(measured, rounds=3, runs=100, pairs=3)

    assert found.figures == {
        "cpu_ms_per_turn": 12.0,
        "runs_lost": 1,
        "p95_overhead_ms": 20.0,
        "first_token_ratio": 1.25,
        "early_start_saved_ms": 150.0,
    }
    assert found.conditions["resting_cpu_ms_a_second"] == 31.2
    assert found.baseline["bare_ask_cpu_ms"] == 5.0
    assert found.conditions["cpu_ms_per_turn_with_its_call"] == 15.0
    assert found.conditions["cpu_ms_of_a_further_turn_with_all"] == 20.0
    assert found.conditions["cpu_ms_of_a_run_of_one_turn"] == 15.0
    assert found.conditions["turns_not_asked_for_once"] == {"storm-3 2": 0}
    firsts = child.order[:: len(child.order) // 3]
    assert len(set(firsts)) == 3


@pytest.fixture
def played_model(tmp_path: Path) -> Iterator[Stage]:
    with stage([SCRIPT], environment(), tmp_path / "log") as made:
        yield made


def _deltas(client: httpx2.Client, sent: dict[str, Any]) -> list[dict[str, Any]]:
    answer = client.post("/v1/chat/completions", json=sent)
    answer.raise_for_status()
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def _said(chunks: Sequence[dict[str, Any]]) -> str:
    return "".join(
        choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]
    )


@pytest.mark.process
def test_the_model_plays_its_script_over_the_wire_and_keeps_account(played_model: Stage) -> None:
    first = _deltas(played_model.client, body(MODEL, SCRIPT.asked("r1")))
    sent = {"model": "scripted", "messages": _called(SCRIPT, "r1"), "stream": True}
    second = _deltas(played_model.client, sent)

    assert first[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert first[-1]["usage"]["completion_tokens"] == 8
    assert _said(second) == "r1 is done; seen: a"
    assert second[-2]["choices"][0]["finish_reason"] == "stop"
    assert [(each.run, each.turn) for each in played_model.asked()] == [("r1", 1), ("r1", 2)]
    played_model.forget()
    assert played_model.asked() == []


@pytest.mark.process
def test_the_tool_server_speaks_the_protocol_and_writes_every_call_down(tmp_path: Path) -> None:
    given = {"run": "r1", "step": "a", "seconds": 0.0}
    ledger = tmp_path / "ledger"

    _, called, unknown = answers_of(
        [*PROGRAM, str(ledger)],
        ("tools/list", {}),
        ("tools/call", {"name": "look", "arguments": given}),
        ("resources/list", {}),
    )

    assert json.loads(called["result"]["content"][0]["text"]) == {"step": "a"}
    assert unknown["error"]["code"] == -32601
    assert counted(ledger) == {("r1", "a"): 1}
