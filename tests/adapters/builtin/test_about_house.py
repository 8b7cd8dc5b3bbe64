"""What our own tools tell of Portico itself: to whoever asks, of themselves alone."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from portico.adapters.builtin.status import Measures, Spent
from portico.agents.core.model_requests import FREE, ModelInfo, ModelRef, Price, Support
from portico.app.gateway import InternalParts
from portico.gateway.core.calls import CallStats
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.policy_targets import Weighed
from portico.guard.core.access_request import ActionTarget, Decision, Denied, NeedsApproval
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.run_queries import OwnRun, OwnStep
from tests.adapters.builtin.bench import (
    ANA,
    BEN,
    SECONDS,
    Bench,
    ScriptedRuns,
    facts,
    no_figures,
    scripted_house,
    target,
    words,
)

TEAM = Label(Level.TEAM)
SMALL = ModelInfo(
    ref=ModelRef("ollama", "small:1b"),
    window=8_192,
    tools=Support.YES,
    price=FREE,
    local=True,
    clearance=Label(Level.RESTRICTED),
)
LARGE = ModelInfo(
    ref=ModelRef("away", "large"),
    price=Price(input=Decimal(3), output=Decimal(15)),
    clearance=TEAM,
)
RUN = OwnRun(
    id=RunId.mint(BEGINNING, SeededEntropy("run")),
    kind="workflow",
    status="waiting",
    created_at=BEGINNING,
    finished_at=None,
    name="tidy up",
    steps=[
        OwnStep(name="look", tool="files.read", state="done", seconds=0.25),
        OwnStep(name="drop", tool="files.delete", state="waiting", approval="apr_1"),
    ],
)


async def models(_caller: Principal) -> list[ModelInfo]:
    return [SMALL, LARGE]


async def test_models_are_told_with_what_they_can_do_and_cost_and_found_by_their_name(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, house=replace(scripted_house(), models=models))

    answer = await bench("models_info")
    found = await bench("models_info", search="LARGE")
    nothing = await bench("models_info", search="huge")
    first = await bench("models_info", limit=1)

    small, large = facts(answer)["models"]
    assert (small["model"], small["window"], small["tools"]) == ("ollama:small:1b", 8_192, "yes")
    assert (small["local"], small["dollars_per_million_input"]) == (True, 0.0)
    assert (large["model"], large["window"], large["tools"]) == ("away:large", None, "unknown")
    assert large["dollars_per_million_output"] == 15.0
    assert "ollama:small:1b  8,192 tokens, tools yes, local" in words(answer)
    assert [each["model"] for each in facts(found)["models"]] == ["away:large"]
    assert words(nothing) == "There is no such model here."
    assert (len(facts(first)["models"]), facts(first)["more"]) == (1, True)


async def test_a_run_is_told_with_its_steps_and_what_it_waits_for(tmp_path: Path) -> None:
    """Without a name, the latest are; one that is not there is the tool's failure."""
    bench = Bench(tmp_path, house=replace(scripted_house(), runs=ScriptedRuns([RUN])))
    empty = Bench(tmp_path)

    answer = await bench("workflow_state", run=str(RUN.id))
    [latest] = facts(await bench("workflow_state"))["runs"]
    missing = [await empty("workflow_state", run=each) for each in (str(RUN.id), "mine")]

    [told] = facts(answer)["runs"]
    assert (told["status"], told["name"]) == ("waiting", "tidy up")
    assert [step["state"] for step in told["steps"]] == ["done", "waiting"]
    assert told["steps"][1]["approval"] == "apr_1"
    assert "look  files.read  done  0.2 s" in words(answer)
    assert latest["run"] == str(RUN.id)
    assert words(await empty("workflow_state")) == "You have started no run yet."
    assert [(each.failed, facts(each)["code"]) for each in missing] == [
        (True, "run_not_found"),
        (True, "bad_id"),
    ]


async def test_figures_are_of_the_time_and_the_server_that_were_asked_for(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None, timedelta]] = []

    async def figures(
        caller: Principal, *, server: str | None = None, within: timedelta
    ) -> list[CallStats]:
        asked.append((caller.name, server, within))
        half, whole = timedelta(milliseconds=500), timedelta(seconds=1)
        return [CallStats("read", 4, 1, half, whole, whole, BEGINNING)]

    async def spent(_caller: Principal, _within: timedelta) -> Spent:
        return Spent(turns=3, input_tokens=1_200, output_tokens=80, dollars=Decimal("0.02"))

    measures = Measures(metrics=figures, spending=spent)
    bench = Bench(tmp_path, house=replace(scripted_house(), measures=measures))

    answer = await bench("metrics", BEN, hours=2, server="files")

    assert asked == [("ben", "files", timedelta(hours=2))]
    assert facts(answer)["calls"] == [
        {"name": "read", "calls": 4, "failures": 1, "p50_ms": 500.0, "p95_ms": 1000.0}
    ]
    assert facts(answer)["models"]["input_tokens"] == 1_200
    assert "3 turns, 1,200 tokens read, 80 written, 0.0200 dollars" in words(answer)


async def test_what_others_spend_through_an_agent_is_not_told_in_its_runs(tmp_path: Path) -> None:
    """Nor is anything, where nobody counts tokens."""

    async def spent(_caller: Principal, _within: timedelta) -> Spent:
        raise AssertionError

    counted, uncounted = (
        Bench(tmp_path, house=replace(scripted_house(), measures=measures))
        for measures in (Measures(metrics=no_figures, spending=spent), Measures(metrics=no_figures))
    )
    task = ContextId.mint(BEGINNING, SeededEntropy("task"))
    agent = replace(BEN, kind=PrincipalKind.AGENT, key=None, context=task)

    answer = await uncounted("metrics")

    assert facts(await counted("metrics", agent))["models"] is None
    assert facts(answer) == {"calls": [], "models": None}
    assert words(answer) == "You have called nothing in this time."


@pytest.mark.parametrize(
    ("decision", "word", "sentence"),
    [
        (Denied("no-deletes", "a rule denies it"), "denied", "You may not call files.delete"),
        (
            NeedsApproval("default:taint", "strangers were read"),
            "needs_approval",
            "A person has to approve files.delete first",
        ),
    ],
)
async def test_what_would_be_decided_is_told_with_its_rule(
    tmp_path: Path, decision: Decision, word: str, sentence: str
) -> None:
    async def weigh(_caller: Principal, tool: str, arguments: JsonObject | None = None) -> Weighed:
        assert arguments == {"path": 7}
        aim = ActionTarget(tool=tool, server="files", effect=Effect.IRREVERSIBLE, pin="p")
        return Weighed(target=aim, decision=decision, field_errors=("path: 7 is no text",))

    bench = Bench(tmp_path, house=replace(scripted_house(), weigh=weigh))

    answer = await bench("check_permission", tool="files.delete", arguments={"path": 7})

    assert facts(answer)["decision"] == word
    assert facts(answer)["rule"] == decision.rule
    assert facts(answer)["flaws"] == ["path: 7 is no text"]
    assert words(answer).startswith(sentence)

    alone = facts(await Bench(tmp_path)("check_permission", tool="files.read"))
    assert (alone["decision"], alone["reason"]) == ("allowed", "it only reads None")


async def test_people_are_told_by_whoever_calls_and_the_caller_how_secret_it_is(
    tmp_path: Path,
) -> None:
    heard: list[tuple[str, str, str]] = []

    async def tell(caller: Principal, title: str, text: str) -> Label:
        heard.append((caller.name, title, text))
        return TEAM

    bench = Bench(tmp_path, house=replace(scripted_house(), tell=tell))

    answer = await bench("notify", BEN, title="done\0", text="all of it")
    half = await bench.tools.call(target(), "notify", {"title": "\ud800"}, timeout=SECONDS)

    assert heard == [("ben", "done", "all of it")]
    assert facts(answer) == {"label": "team"}
    assert facts(half)["code"] == "bad_body"


async def test_nothing_is_told_to_nobody(tmp_path: Path) -> None:
    nobody = replace(target(ANA), acting=None)
    asked: dict[str, JsonObject] = {
        "models_info": {},
        "workflow_state": {},
        "metrics": {},
        "check_permission": {"tool": "a.b"},
        "notify": {"title": "hello"},
    }

    for tool, arguments in asked.items():
        with pytest.raises(UpstreamDown, match="nobody is calling"):
            await Bench(tmp_path).tools.call(nobody, tool, arguments, timeout=SECONDS)


async def test_what_has_nobody_to_ask_is_not_offered(tmp_path: Path) -> None:
    tools = Bench(tmp_path, house=InternalParts(models=models)).tools

    offered = {str(tool["name"]) for tool in (await tools.look(target())).tools}

    assert "models_info" in offered
    assert not offered & {"workflow_state", "metrics", "check_permission", "notify"}
    assert "There is no notify" in str(tools.health(ANA.space, "builtin").lacking)
    with pytest.raises(UpstreamDown, match="not put together"):
        await tools.call(target(), "notify", {"title": "hello"}, timeout=SECONDS)
