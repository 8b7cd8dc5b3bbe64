"""Suggestions: a plan with its rationale, and what came of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.intents import SHIPPED, Calibration
from portico.learning.core.likely_tools import DependencyPath, From, Hop, MissingArgument, paths
from portico.learning.core.likely_tools import Origin as LikelyToolsOrigin
from portico.learning.core.observed_calls import Origin, ReadRequest, Source
from portico.learning.core.past_plans import (
    PastPlan,
    PastStep,
    Searched,
    SuggestionRequest,
    ToolStatistics,
)
from portico.learning.core.suggestions import (
    NOTHING,
    Alternative,
    FirstReads,
    KnownRead,
    Mode,
    Suggested,
    SuggestedStep,
    Suggestion,
    mode_of,
    nothing_sure,
    suggest,
    words,
)
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan import Plan, Reference, Step
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_learning import SuggestionId
from tests.learning.core.suggest.errands import (
    INTENT,
    LIST,
    READ,
    READ_AND_SEND,
    SEND,
    SIGN,
    TOOLS,
    a_plan,
    a_tool,
    asked,
)

LEARNT = ToolStatistics.of([READ_AND_SEND])
TRUSTED = Calibration(1.0, 3.0)
OTHER = "chat.post"


def suggested(calibration: Calibration = SHIPPED) -> Suggested:
    return suggest(asked((READ_AND_SEND, 0.9)), LEARNT, TOOLS, calibration=calibration)


def test_a_plan_is_suggested_as_it_was_made_before_with_what_is_said_now() -> None:
    found = suggested()

    assert found.plan is not None
    read, send = found.plan.steps
    assert (read.id, send.id) == ("read_file", "send")
    assert read.arguments == {"path": "/srv/b.md"}
    assert send.arguments == {
        "recipient": "bob@example.com",
        "body": Reference("read_file", "text"),
    }
    assert found.past == ["pln_1"]
    assert found.missing == []
    assert found.confidence == SHIPPED.confidence(found.raw, found.backing) > 0.5


def test_it_is_said_why() -> None:
    found = suggested()

    assert found.rationale == (
        "2 steps, as in what went well 4 times before, for much the same (0.90 alike)."
    )
    assert found.steps[0].why == (
        "found for the intent (0.50), found for its part 1 (0.70), in near past plans (1.00), "
        "came before mail.send in other plans (0.80)"
    )
    assert [str(path) for path in found.paths] == ["mail.send needs fs.read_file directly (0.80)"]
    assert found.alternatives == [Alternative("read_file", LIST, "for the same (0.13)")]


def test_what_went_well_once_is_less_sure_than_what_did_often() -> None:
    once, thrice, often = (
        suggest(asked((replace(READ_AND_SEND, times=times), 1.0)), LEARNT, TOOLS)
        for times in (1, 3, 20)
    )

    assert once.confidence < 5 / 6 < thrice.confidence < often.confidence
    assert once.rationale.startswith("2 steps, as in what went well once before")


def test_what_was_rejected_is_less_sure_for_it() -> None:
    found = suggest(asked((replace(READ_AND_SEND, rejected=8), 1.0)), LEARNT, TOOLS)

    assert found.confidence < suggested().confidence


def test_how_near_the_words_of_others_are_is_not_told() -> None:
    rows: list[tuple[float, str]] = [(0.99, "for much the same."), (0.65, "for something like it.")]

    for similarity, told in rows:
        found = suggest(asked((replace(READ_AND_SEND, own=False), similarity)), LEARNT, TOOLS)

        assert found.rationale.endswith(told)


def test_where_there_is_no_plan_it_is_said_what_comes_nearest() -> None:
    assert nothing_sure(asked(), fits=True) == (
        "What fits this is too unsure to be a plan. Nearest: fs.read_file, mail.send, fs.list. "
        "Say more exactly what should be done, or write the plan."
    )
    assert nothing_sure(SuggestionRequest(intent="hm", searched=()), fits=False) == (
        "No tool fits this well, and nothing like it was done before. "
        "Say more exactly what should be done, or write the plan."
    )


def test_without_a_past_it_is_said_that_it_was_put_together() -> None:
    found = suggest(asked(), ToolStatistics.of([]), TOOLS)

    assert found.rationale == (
        "2 steps, put together from what search finds for the intent; there is no past plan."
    )
    far = suggest(asked((a_plan("far", SIGN), 0.0)), ToolStatistics.of([]), TOOLS)
    assert far.rationale.endswith("no past plan near it had just these tools.")


def test_of_what_hardly_anything_speaks_for_that_is_said() -> None:
    found = suggest(
        SuggestionRequest(intent="hm", searched=[Searched("hm", {SIGN: 0.01})]), LEARNT, TOOLS
    )

    assert [step.why for step in found.steps] == ["little speaks for it"]
    assert found.rationale.startswith("1 step, put together")


def test_where_nothing_fits_nothing_is_suggested() -> None:
    assert suggest(SuggestionRequest(intent="hm", searched=()), LEARNT, TOOLS) is NOTHING


def test_what_is_missing_is_said_and_has_no_value() -> None:
    question = asked((READ_AND_SEND, 0.9), intent="Read it and send it")

    found = suggest(question, LEARNT, TOOLS)

    assert found.missing == [
        MissingArgument("read_file", "path"),
        MissingArgument("send", "recipient"),
    ]
    assert found.plan is not None
    assert found.plan.steps[0].arguments == {}
    assert found.ready == []


def test_reads_before_the_first_write_are_ready_and_writes_are_named() -> None:
    found = suggested()

    assert [step.id for step in found.ready] == ["read_file"]
    assert found.writes == ["send"]


def test_what_waits_for_another_step_is_not_ready() -> None:
    chain = PastPlan(
        id="p",
        steps=(PastStep("s1", LIST), PastStep("s2", READ, {"path": Reference("s1", "text")})),
    )
    question = asked((chain, 0.9), intent="Read what is in folder /srv")

    found = suggest(question, ToolStatistics.of([chain]), TOOLS)

    assert [(step.id, step.known) for step in found.steps] == [("list", True), ("read_file", False)]
    assert [step.id for step in found.ready] == ["list"]


def test_a_write_waits_for_all_before_it_and_what_follows_waits_for_it() -> None:
    plan = a_plan("p", READ, SEND, LIST, SEND)
    loose = replace(plan, steps=[replace(step, after=()) for step in plan.steps])

    found = suggest(asked((loose, 0.95)), ToolStatistics.of([loose]), TOOLS)

    assert found.plan is not None
    assert [(step.id, step.after) for step in found.plan.steps] == [
        ("read_file", ()),
        ("send", ("read_file",)),
        ("list", ("send",)),
        ("send-2", ("read_file", "send", "list")),
    ]


def test_a_reference_that_leads_nowhere_is_missing() -> None:
    broken = PastPlan(
        id="p",
        steps=(PastStep("s1", READ, {"path": Reference("s9", "text")}, ("s8",)),),
    )

    found = suggest(asked((broken, 0.9), intent="do it again"), ToolStatistics.of([broken]), TOOLS)

    assert found.missing == [MissingArgument("read_file", "path")]


def test_steps_have_names_that_a_plan_may_have() -> None:
    odd = "s.1 größer/als?"
    plan = a_plan("p", odd)
    question = asked((plan, 0.95), searched=[Searched("x", {odd: 0.9})])

    found = suggest(question, ToolStatistics.of([plan]), {odd: a_tool(odd, Effect.PURE)})

    assert [step.id for step in found.steps] == ["s_1_gr_er_als_"]


def test_alternatives_are_of_the_same_community_where_that_is_known() -> None:
    rows: list[tuple[dict[str, int], list[str]]] = [
        ({}, [LIST]),
        ({READ: 1, LIST: 1}, [LIST]),
        ({READ: 1, LIST: 2}, []),
    ]

    for communities, tools in rows:
        found = suggest(asked((READ_AND_SEND, 0.9)), LEARNT, TOOLS, communities=communities)

        assert [each.tool for each in found.alternatives] == tools


def test_what_nobody_searched_for_has_alternatives_only_of_its_community() -> None:
    plans = [a_plan(f"{number}", SIGN, SEND) for number in range(9)]
    question = asked(*((plan, 0.9) for plan in plans))

    alone = suggest(question, ToolStatistics.of(plans), TOOLS)
    together = suggest(question, ToolStatistics.of(plans), TOOLS, communities={SIGN: 1, READ: 1})

    assert not [each for each in alone.alternatives if each.step == "sign_in"]
    assert [each.tool for each in together.alternatives if each.step == "sign_in"] == [READ]


def test_what_only_reads_is_no_alternative_to_what_changes_something() -> None:
    plans = [a_plan(f"{number}", SEND) for number in range(9)]
    searched = [Searched("send it", {SEND: 0.5, READ: 0.4, OTHER: 0.3})]
    tools = {**TOOLS, OTHER: a_tool(OTHER, Effect.EXTERNAL_WRITE)}

    found = suggest(
        asked(*((plan, 0.9) for plan in plans), searched=searched),
        ToolStatistics.of(plans),
        tools,
        communities={SEND: 1, READ: 1, OTHER: 1},
    )

    assert [each.tool for each in found.alternatives] == [OTHER]


def test_the_mode_follows_from_how_sure_it_is() -> None:
    rows: list[tuple[Suggested, float, Mode]] = [
        (NOTHING, 0.0, Mode.EXPLICIT_REQUIRED),
        (suggested(Calibration(1.0, -9.0)), 0.92, Mode.EXPLICIT_REQUIRED),
        (suggested(), 0.999, Mode.SUGGESTION),
        (suggested(TRUSTED), 0.92, Mode.RAN_AHEAD),
        (replace(suggested(TRUSTED), steps=()), 0.92, Mode.SUGGESTION),
    ]

    for found, threshold, mode in rows:
        assert mode_of(found, threshold) is mode


@pytest.mark.requirement("seed001:16")
@pytest.mark.requirement("seed001:17")
@pytest.mark.requirement("seed001:19")
def test_paths_are_told_hop_by_hop_and_to_their_end() -> None:
    learnt = ToolStatistics.of([a_plan(f"{number}", SIGN, LIST, READ) for number in range(4)])

    found = paths([SIGN, LIST, READ, SEND], learnt)

    assert [str(path) for path in found] == [
        "fs.list needs mail.sign_in directly (0.80)",
        "fs.read_file needs fs.list directly (0.80)",
        "fs.read_file needs mail.sign_in by way of fs.list (0.80 x 0.80 = 0.64)",
    ]
    assert [path.direct for path in found] == [True, True, False]
    assert found[0] == DependencyPath([Hop(SIGN, LIST, 0.8)])


def test_of_several_ways_on_the_surest_is_told() -> None:
    some = [a_plan("a", SIGN, LIST, READ)] * 3 + [a_plan("b", SIGN, LIST, SEND)]

    ends = [
        path.hops[-1].to_tool for path in paths([SIGN, LIST, READ, SEND], ToolStatistics.of(some))
    ]

    assert ends == [LIST, READ, SEND, READ]


def test_the_intent_is_in_no_step_that_it_was_not_said_for() -> None:
    assert INTENT not in str(suggested().plan)


EXPRESSIONS = JmespathExpressions()
FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
WORDS, CONSTANT = Source(Origin.WORDS), Source(Origin.CONSTANT)


def reads(ref: ToolRef) -> KnownRead | None:
    return KnownRead(ToolPlace(FILES, ref.name), "pin") if ref.name != "write" else None


def step(name: str, tool: str = "read", **more: JsonValue) -> JsonObject:
    return {"id": name, "tool": f"files.{tool}", **more}


def first(
    *steps: JsonObject, said: Mapping[str, set[str]] | None = None
) -> Mapping[str, ReadRequest]:
    plan = read_plan({"steps": [*steps], "inputs": {"a": {}}}, EXPRESSIONS)
    return FirstReads(plan=plan, reads=reads, said=said or {}, expressions=EXPRESSIONS)()


def gives(value: JsonValue) -> ToolResult:
    return ToolResult([{"type": "text", "text": json.dumps(value)}])


def then(wanted: ReadRequest, value: JsonValue) -> list[ReadRequest]:
    assert wanted.then is not None
    return [*wanted.then(gives(value))]


def test_a_read_of_which_everything_is_known_is_wanted_with_where_each_value_is_from() -> None:
    found = first(
        step("read", arguments={"path": "/a", "head": 3, "odd": {"$literal": "${a.b}"}}),
        said={"read": {"path"}},
    )

    wanted = found["read"]
    assert (str(wanted.ref), wanted.pin, wanted.proven, wanted.edge) == (
        "files.read",
        "pin",
        True,
        None,
    )
    assert wanted.arguments == {"path": "/a", "head": 3, "odd": "${a.b}"}
    assert wanted.sources == {"path": {WORDS}, "head": {CONSTANT}, "odd": {CONSTANT}}


def test_what_may_change_something_is_never_wanted_nor_what_is_read_after_it() -> None:
    found = first(step("one"), step("write", "write"), step("two"))

    assert list(found) == ["one"]


def test_what_waits_for_something_is_not_wanted_yet() -> None:
    found = first(
        step("one"),
        step("after", after=["one"]),
        step("of", arguments={"path": {"$from": "one.text"}}),
        step("input", arguments={"path": {"$from": "inputs.a"}}),
        step("each", for_each={"in": ["a"]}),
        step("when", when="one.json"),
    )

    assert list(found) == ["one"]


def test_what_hangs_on_one_read_alone_is_wanted_once_that_has_answered() -> None:
    one = first(
        step("one"),
        step("two", arguments={"path": {"$from": "one.json.path"}, "head": 3}, after=["one"]),
        step("three", arguments={"path": {"$from": "two.json.path"}}),
        step("both", arguments={"a": {"$from": "one.text"}, "b": {"$from": "two.text"}}),
        step("later", arguments={"a": {"$from": "one.text"}}, after=["two"]),
        step("write", "write", arguments={"a": {"$from": "one.text"}}),
        step("behind", arguments={"a": {"$from": "one.text"}}),
    )["one"]

    [two] = then(one, {"path": "/b"})
    [three] = then(two, {"path": "/c"})

    assert two.arguments == {"path": "/b", "head": 3}
    result = Source(Origin.RESULT, ToolPlace(FILES, "read"))
    assert two.sources == {"path": {result}, "head": {CONSTANT}}
    assert three.arguments == {"path": "/c"}
    assert then(three, {}) == []


def test_where_a_path_leads_to_nothing_nothing_is_wanted() -> None:
    one = first(step("one"), step("two", arguments={"path": {"$from": "one.json.path"}}))["one"]

    assert then(one, {"other": 1}) == []


ID = SuggestionId.mint(BEGINNING, SeededEntropy("one"))


def a_step(name: str, effect: Effect, missing: Sequence[str] = ()) -> SuggestedStep:
    return SuggestedStep(
        id=name,
        tool=f"files.{name}",
        effect=effect,
        confidence=0.8,
        why="because",
        arguments={"path": LikelyToolsOrigin(From.INTENT, "/a")},
        missing=missing,
    )


SUGGESTED = Suggested(
    plan=Plan(steps=(Step(id="read", tool=ToolRef("files", "read")),)),
    confidence=0.934_56,
    raw=1.0,
    steps=[a_step("read", Effect.LOCAL_READ), a_step("write", Effect.LOCAL_WRITE, ["to"])],
    paths=[DependencyPath((Hop("files.read", "files.write", 0.86),))],
    alternatives=[Alternative("read", "files.peek", "for the same (0.20)")],
    missing=[MissingArgument("write", "to", ["files.list"])],
    rationale="As before.",
)
MADE = Suggestion(
    id=ID,
    mode=Mode.RAN_AHEAD,
    threshold=0.92,
    suggested=SUGGESTED,
    plan={"steps": []},
    ahead=["read"],
    expires_at=BEGINNING,
)


def test_it_says_how_it_is_run_and_what_has_to_be_given() -> None:
    told = words(MADE).splitlines()

    assert told[0] == "Suggested (0.93 sure). As before. Nothing was changed."
    assert told[1] == '{"steps":[]}'
    assert told[2:5] == [
        "Being read already: read.",
        "Done only once you run it: write.",
        "Missing: write_to, to be given by `inputs`; files.list could give it.",
    ]
    assert told[5].startswith("Because: ")
    assert told[6] == "Instead of read: files.peek (for the same (0.20))."
    assert told[7] == (
        f'To run it as it is: run_workflow(suggestion="{ID}", inputs={{…}}); '
        "changed, run_workflow(plan={…})."
    )


def test_one_that_lacks_nothing_asks_for_nothing() -> None:
    whole = replace(MADE, suggested=replace(SUGGESTED, missing=[], steps=SUGGESTED.steps[:1]))

    told = words(replace(whole, ahead=()))

    assert "Missing" not in told
    assert "inputs" not in told
    assert "Done only" not in told
    assert "Being read" not in told


def test_what_no_tool_could_give_is_merely_missing() -> None:
    alone = replace(SUGGESTED, missing=[MissingArgument("write", "to", [])])

    assert "Missing: write_to, to be given by `inputs`." in words(replace(MADE, suggested=alone))


def test_one_that_is_not_kept_is_run_as_a_plan() -> None:
    assert words(replace(MADE, id=None)).endswith("To run it, run_workflow(plan={…}).")


def test_where_there_is_none_it_says_how_to_go_on() -> None:
    none = replace(MADE, id=None, mode=Mode.EXPLICIT_REQUIRED, plan=None, ahead=())

    told = words(none)

    assert told.startswith("No plan is sure enough to be suggested (0.93). As before.")
    assert "search_tools" in told


def test_for_a_program_it_is_all_there() -> None:
    told = MADE.as_json()

    assert (told["suggestion"], told["mode"], told["confidence"]) == (str(ID), "ran_ahead", 0.9346)
    assert (told["staged"], told["ran_ahead"]) == (["write"], ["read"])
    assert told["missing"] == [
        {"step": "write", "parameter": "to", "input": "write_to", "could_give": ["files.list"]}
    ]
    assert told["expires_at"] == BEGINNING.isoformat()
    assert replace(MADE, id=None, expires_at=None).as_json()["suggestion"] is None
