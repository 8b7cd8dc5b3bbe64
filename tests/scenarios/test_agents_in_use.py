"""Agents in a running Portico: a model over HTTP, a real server of tools, and people in between."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.installation import installation
from tests.real_servers.gateway import said
from tests.scenarios.agent_house import AgentHouse, a_house, agent_house
from tests.scenarios.scripted_model import calls, play, says, scripted_model

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]

LEND = ("library__lend_book", {"book_id": "book-1"})
FIND = ("library__find_books", {"topic": "herons"})


@pytest.fixture(scope="module")
def town() -> Iterator[AgentHouse]:
    with a_house() as house:
        house.agent("librarian", description="Finds and lends books.")
        yield house


@pytest.fixture(scope="module")
def exposed(town: AgentHouse) -> AgentHouse:
    """With a server whose tools are agents, and which somebody has approved: also for those who
    have read what a run was told, as the tests before have."""
    town.agent("scout", description="Looks for books.", exposed=True, tools=["library.find_*"])
    _until_there(town)
    town.gateway.approve("agents")
    rule = {"name": "agents-ask-agents", "decision": "allow", "tools": ["agents.*"]}
    town.ask("POST", "/policy/rules", {**rule, "tainted": True, "upto": "team"})
    return town


def uses(trace: dict[str, Any]) -> list[tuple[str, bool, str | None]]:
    return [(use["tool"], use["failed"], use["code"]) for use in trace["uses"]]


def test_a_run_calls_its_tools_and_answers(town: AgentHouse) -> None:
    run = town.start("librarian", play(calls(FIND, say="I look."), says("Two books.")))

    trace = town.ended(run)
    told = town.events(run)

    assert trace["run"]["status"] == "completed"
    assert trace["run"]["answer"].strip() == "Two books."
    assert uses(trace) == [("library.find_books", False, None)]
    assert "On herons" in trace["uses"][0]["text"]
    assert [name for name, _ in told if name.startswith("turn.")] == [
        "turn.began",
        "turn.ended",
    ] * 2
    assert told[-1][0] == "run.ended"


def test_what_must_be_approved_waits_for_a_person_and_then_goes_on(town: AgentHouse) -> None:
    run = town.start("librarian", play(calls(LEND), says("It is lent.")))
    asked = town.waiting(run)
    waiting = town.ended(run, "waiting")
    town.answer(asked["id"], "once")

    trace = town.ended(run)
    told = dict(town.events(run))

    assert asked["tool"] == "library.lend_book"
    assert asked["asker"]["name"] == "librarian"
    assert waiting["run"]["status"] == "waiting"
    assert trace["run"]["status"] == "completed"
    assert uses(trace) == [("library.lend_book", False, None)]
    assert trace["uses"][0]["approval"] == asked["id"]
    assert told["tool.waits"]["approval"] == asked["id"]


def test_what_is_rejected_is_told_to_the_model(town: AgentHouse) -> None:
    run = town.start("librarian", play(calls(LEND), says("Then not.")))
    asked = town.waiting(run)
    town.answer(asked["id"], "reject")

    trace = town.ended(run)

    assert trace["run"]["status"] == "completed"
    assert uses(trace) == [("library.lend_book", True, "approval_rejected")]


def test_what_is_not_on_the_list_is_refused_traced_and_audited(town: AgentHouse) -> None:
    town.agent("reader", tools=["library.read_*"])
    message = play(calls(("library__find_books", {"topic": "locks"})), says("I may not."))

    trace = town.ended(town.start("reader", message))
    shown = town.model.asked_by("locks")[0]["tools"]
    denied = town.audit("call.denied")

    assert {tool["function"]["name"] for tool in shown} == {
        "library__read_card",
        "library__read_author",
        "read_result",
    }
    assert uses(trace) == [("library.find_books", True, "tool_not_allowed")]
    assert [(each["subject"], each["rule"], each["name"]) for each in denied] == [
        ("library.find_books", "default:list", "reader")
    ]


def test_what_is_said_in_mid_run_is_heard_by_the_next_turn(town: AgentHouse) -> None:
    town.model.hold.clear()
    run = town.start("librarian", play(calls(FIND), say="steered"))
    _until_asked(town, "steered", 1)
    town.ask("POST", f"/agents/runs/{run}/messages", {"message": "And cranes, too."})
    town.model.hold.set()

    trace = town.ended(run)

    assert "And cranes, too." in trace["run"]["answer"]
    assert [turn["heard"] for turn in trace["turns"]] == [1, 2]


def test_a_run_is_stopped_while_its_model_speaks(town: AgentHouse) -> None:
    town.model.hold.clear()
    run = town.start("librarian", play(calls(FIND), says("Never."), say="stopped"))
    _until_asked(town, "stopped", 1)
    town.ask("POST", f"/agents/runs/{run}/stop")

    trace = town.ended(run)
    town.model.hold.set()

    assert trace["run"]["status"] == "stopped"
    assert trace["uses"] == []
    assert town.events(run)[-1][1]["status"] == "stopped"


def test_a_run_is_stopped_while_it_waits_for_people(town: AgentHouse) -> None:
    run = town.start("librarian", play(calls(LEND), says("Never.")))
    asked = town.waiting(run)
    town.ended(run, "waiting")
    town.ask("POST", f"/agents/runs/{run}/stop")

    trace = town.ended(run)

    assert trace["run"]["status"] == "stopped"
    assert town.ask("GET", f"/approvals/{asked['id']}")["status"] == "withdrawn"
    assert len(trace["turns"]) == 1


def test_a_run_whose_model_was_away_is_taken_up_where_it_was(town: AgentHouse) -> None:
    town.model.refusing = "away for a while"
    message = play(calls(FIND), says("Two books."), say="away for a while")
    run = town.start("librarian", message)
    failed = town.ended(run)["run"]
    asked = len(town.model.asked_by("away for a while"))

    town.model.refusing = None
    town.ask("POST", f"/agents/runs/{run}/resume")
    trace = town.ended(run, "completed")

    assert (failed["status"], failed["error_code"]) == ("failed", "model_unavailable")
    assert trace["run"]["answer"].strip() == "Two books."
    assert len(town.model.asked_by("away for a while")) == asked + 2
    assert town.events(run)[-1] == ("run.ended", {**town.events(run)[-1][1], "status": "completed"})
    assert [name for name, _ in town.events(run)].count("run.ended") == 1


def test_another_run_goes_on_where_one_has_ended(town: AgentHouse) -> None:
    first = town.start("librarian", play(calls(FIND), says("Two books."), say="continued"))
    town.ended(first)
    second = town.start("librarian", "Which ones?", continues=first)

    trace = town.ended(second)
    asked = town.model.asked_by("Which ones?")[-1]["messages"]

    assert trace["run"]["continues"] == first
    assert [message["role"] for message in asked] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_the_same_key_is_the_same_run(town: AgentHouse) -> None:
    with town.house.client() as client:
        keyed = {"Idempotency-Key": "once"}
        both = [
            client.post("/agents/librarian/runs", json={"message": "Hello."}, headers=keyed).json()
            for _ in range(2)
        ]

    assert both[0]["run"] == both[1]["run"]
    town.ended(both[0]["run"])
    assert len(town.model.asked_by("Hello.")) == 1


def test_an_answer_that_is_too_long_is_read_page_by_page(town: AgentHouse) -> None:
    topic = "x" * 15_000
    message = play(
        calls(("library__find_books", {"topic": topic})),
        calls(("read_result", {"result": "call-1-0", "page": 2})),
        calls(("read_result", {"result": "call-9-9", "page": 2})),
        says("Read."),
    )

    trace = town.ended(town.start("librarian", message))

    assert trace["uses"][0]["text"].endswith('read_result(result="call-1-0", page=2)]')
    assert trace["uses"][1]["text"].endswith("[page 2 of 2]")
    assert uses(trace)[2] == ("read_result", True, "result_not_found")


async def test_an_exposed_agent_is_a_tool_over_mcp_once_it_is_approved(
    exposed: AgentHouse,
) -> None:
    async with exposed.gateway.client() as client:
        wanted = {"tool": "agents.scout", "arguments": {"message": "Good day."}}
        result = await client.call_tool(exposed.gateway.verb("agents.scout"), wanted)

    assert not result.is_error, said(result)
    assert "You said: Good day." in said(result)


def test_an_agent_that_calls_itself_comes_to_an_end(exposed: AgentHouse) -> None:
    town = exposed
    town.agent("echo", description="Calls itself.", exposed=True, tools=["agents.*"])
    _until_there(town, tool="agents.echo")
    town.gateway.accept("agents")
    inner = play(calls(("agents__echo", {"message": "Once more."})), says("The inner one."))
    outer = play(calls(("agents__echo", {"message": inner})), says("The outer one."))

    trace = town.ended(town.start("echo", outer))
    runs = town.ask("GET", "/traces?agent=echo")["data"]
    [last] = [run for run in runs if run["run"] != trace["run"]["run"]]

    assert trace["run"]["status"] == "completed"
    assert uses(trace) == [("agents.echo", False, None)]
    assert uses(town.trace(last["run"])) == [("agents.echo", True, "not_permitted")]


def test_what_an_agent_has_started_spends_what_is_left_and_is_stopped_with_it(
    exposed: AgentHouse,
) -> None:
    town = exposed
    town.agent("lender", description="Lends books.", exposed=True)
    town.agent("chief", description="Has others do it.", tools=["agents.*", "library.*"])
    _until_there(town, tool="agents.lender")
    town.gateway.accept("agents")
    inner = play(calls(LEND), says("Never."))
    run = town.start("chief", play(calls(("agents__lender", {"message": inner})), says("Never.")))
    its = _started_of(town, "lender")
    asked = town.waiting(its)
    town.ended(its, "waiting")

    limits = [town.ask("GET", f"/runs/{each}")["input"]["limits"] for each in (run, its)]
    town.ask("POST", f"/agents/runs/{run}/stop")

    assert town.ended(its)["run"]["status"] == "stopped"
    assert town.ended(run)["run"]["status"] == "stopped"
    assert town.ask("GET", f"/approvals/{asked['id']}")["status"] == "withdrawn"
    assert limits[1]["tokens"] < limits[0]["tokens"]
    assert limits[1]["turns"] == limits[0]["turns"]


def _started_of(town: AgentHouse, agent: str) -> str:
    until = time.monotonic() + 30
    while not (runs := town.ask("GET", f"/traces?agent={agent}")["data"]):
        assert time.monotonic() < until
        time.sleep(0.05)
    return str(runs[0]["run"])


def test_a_run_goes_on_in_another_process_and_pays_for_nothing_twice() -> None:
    with scripted_model() as model, installation() as house:
        with agent_house(model, house) as town:
            town.agent("librarian")
            message = play(calls(FIND), calls(FIND), says("Two books."), say="moved")
            run = town.start("librarian", message)
            _until_asked(town, "moved", 1)
            model.hold.clear()
            _until_asked(town, "moved", 2)
            town.process.kill()
            town.process.wait(30)
        model.hold.set()
        with house.serving():
            trace = town.ended(run)

    asked = [len(each["messages"]) for each in model.asked_by("moved")]
    assert trace["run"]["status"] == "completed"
    assert uses(trace) == [("library.find_books", False, None)] * 2
    assert asked.count(min(asked)) == 1
    assert sorted(set(asked)) == [1, 3, 5]


def _until_asked(town: AgentHouse, words: str, times: int) -> None:
    until = time.monotonic() + 60
    while len(town.model.asked_by(words)) < times:
        assert time.monotonic() < until, json.dumps(town.model.asked)[-2000:]
        time.sleep(0.05)


def _until_there(town: AgentHouse, tool: str | None = None) -> None:
    until = time.monotonic() + 60
    while True:
        found = town.gateway.ask("GET", "/servers/agents")
        known = found.is_success and (tool is None or tool in town.gateway.tools("agents"))
        if known:
            return
        assert time.monotonic() < until, found.text
        time.sleep(0.1)
