"""Dataflow between steps: candidates, their fit, the best with reasons."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, merged, shape_of
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.dataflow import (
    MOST_STEPS,
    SHIPPED,
    SHOWN,
    Edge,
    Feature,
    Floors,
    KnownTool,
    Ranked,
    Source,
    Sources,
    bounded,
    nearly_as_good,
    propose,
    rank_producers,
    step_shapes,
    texts_of,
    texts_to_embed,
)
from portico.learning.core.dataflow_fields import (
    NO_FLOWS,
    Flow,
    Flows,
    Meanings,
    OutputField,
    Parameter,
    StepSignature,
    nearness,
)
from portico.workflows.core.plan import InvalidPlan, Plan, Reference, graph_of
from portico.workflows.core.plan_documents import read_plan, with_edges
from tests.gateway.core.shop import embedded
from tests.gateway.core.tools import a_tool
from tests.learning.core.dataflow.trips import FERRY, LETTER, TICKET, field, meanings, parameter


def proposed(*steps: StepSignature, flows: Flows = NO_FLOWS) -> Sequence[Edge]:
    return propose(steps, meanings(*steps), flows)


def best(*steps: StepSignature, flows: Flows = NO_FLOWS) -> dict[str, str]:
    """The first for each parameter."""
    found: dict[str, str] = {}
    for edge in proposed(*steps, flows=flows):
        found.setdefault(f"{edge.to_step}.{edge.parameter}", f"{edge.from_step}.{edge.path}")
    return found


def sure(*steps: StepSignature, flows: Flows = NO_FLOWS) -> float:
    return max((edge.confidence for edge in proposed(*steps, flows=flows)), default=0.0)


def test_a_parameter_named_like_an_output_gets_it() -> None:
    [edge] = [each for each in proposed(FERRY, TICKET) if each.parameter == "ferry_id"]

    assert str(edge) == "ferry.json.ferryId -> ticket.ferry_id"
    assert edge.confidence > 0.5
    assert not edge.ambiguous
    assert edge.reason == ("same name, named after what the step is about, same type")


def test_an_object_is_not_proposed_where_a_text_is_wanted() -> None:
    deck = replace(TICKET, wanted=[parameter("deck")])

    assert "ferry.json.deck" not in best(FERRY, deck).values()
    assert best(FERRY, replace(TICKET, wanted=[parameter("deck", "object")])) == {
        "ticket.deck": "ferry.json.deck"
    }


def test_nothing_is_proposed_where_no_output_could_be_it() -> None:
    only = replace(FERRY, outputs=[field("deck", "object")])

    assert proposed(only, replace(TICKET, wanted=[parameter("name")])) == []


def test_a_number_may_be_given_as_a_text_but_less_surely() -> None:
    asked = replace(TICKET, wanted=[parameter("cabins", "number")])
    written = replace(TICKET, wanted=[parameter("cabins", "string")])

    assert best(FERRY, asked) == best(FERRY, written) == {"ticket.cabins": "ferry.json.cabins"}
    assert sure(FERRY, asked) > sure(FERRY, written)
    [edge] = proposed(FERRY, written)
    assert "though of another type" in edge.reason


def test_two_steps_that_would_do_equally_well_are_both_shown_and_marked() -> None:
    train = replace(FERRY, step="train", tool="land.find_ferry")

    edges = [edge for edge in proposed(FERRY, train, TICKET) if edge.parameter == "ferry_id"]

    assert {edge.from_step for edge in edges} == {"ferry", "train"}
    assert all(edge.ambiguous for edge in edges)
    assert sum(edge.confidence for edge in edges) <= 1


def test_two_fields_of_one_step_that_would_do_equally_well_are_marked() -> None:
    twice = replace(FERRY, outputs=[field("ferry.id"), field("boat.id")])
    asked = replace(TICKET, wanted=[parameter("id")])

    [edge] = proposed(twice, asked)

    assert edge.ambiguous
    assert edge.reason.endswith("though another of its fields fits as well")


def test_what_the_producer_was_told_itself_is_hardly_its_result() -> None:
    asked = replace(TICKET, wanted=[parameter("departure")])
    told = replace(FERRY, given=FERRY.given | {"departure"})

    assert sure(FERRY, asked) > 0.4 > sure(told, asked) > 0
    [edge] = proposed(told, asked)
    assert "though that step was told it itself" in edge.reason


def test_the_same_tool_again_is_hardly_fed_by_itself() -> None:
    first = replace(TICKET, wanted=())
    asked = replace(TICKET, step="again", wanted=[parameter("ticket_number")])
    other = replace(asked, tool="sea.refund")

    assert sure(first, asked) < sure(first, other)
    [edge] = proposed(first, asked)
    assert "though it is the same tool" in edge.reason


def test_the_first_of_two_searches_is_for_the_first_of_two_parameters() -> None:
    there = replace(FERRY, step="there")
    back = replace(FERRY, step="back")
    both = replace(TICKET, wanted=[parameter("outward_ferry_id"), parameter("return_ferry_id")])

    assert best(there, back, both) == {
        "ticket.outward_ferry_id": "there.json.ferryId",
        "ticket.return_ferry_id": "back.json.ferryId",
    }


def test_a_field_goes_to_the_parameter_that_it_fits_best() -> None:
    alone = replace(TICKET, wanted=[parameter("vessel_id")])
    beside = replace(TICKET, wanted=[parameter("vessel_id"), parameter("ferry_id")])

    assert best(FERRY, beside)["ticket.ferry_id"] == "ferry.json.ferryId"
    assert sure(FERRY, alone) > next(
        (edge.confidence for edge in proposed(FERRY, beside) if edge.parameter == "vessel_id"), 0
    )


def test_a_parameter_that_takes_anything_is_offered_what_there_is() -> None:
    [edge] = proposed(replace(FERRY, outputs=[field("summary")]), LETTER)

    assert edge.parameter == "message"
    assert edge.reason.endswith("takes anything")


def test_how_it_is_to_be_done_is_said_by_whoever_asks() -> None:
    for name in ("limit", "page_size", "sort_order"):
        producer = replace(FERRY, outputs=[field("count_of_rows")])

        assert proposed(producer, replace(TICKET, wanted=[parameter(name)])) == []


def test_a_choice_and_what_has_a_default_are_less_likely() -> None:
    plain = Parameter(name="departure", type="string", required=True)

    for doubtful in (replace(plain, choice=True), replace(plain, default=True)):
        assert sure(FERRY, replace(TICKET, wanted=[doubtful])) < sure(
            FERRY, replace(TICKET, wanted=[plain])
        )


def test_what_may_be_left_out_is_proposed_only_if_it_is_likely() -> None:
    needed = parameter("vessel", about="Which one to go with")
    optional = replace(needed, required=False)

    [edge] = proposed(FERRY, replace(TICKET, wanted=[needed]))

    assert SHOWN.required <= edge.confidence < SHOWN.optional
    assert proposed(FERRY, replace(TICKET, wanted=[optional])) == []


def test_what_was_seen_before_is_proposed_whatever_it_is_called() -> None:
    odd = replace(TICKET, wanted=[parameter("zone")])
    flow = Flow("sea.find_ferry", "json.departure", "sea.buy_ticket", "zone")

    assert "ferry.json.departure" not in best(FERRY, odd).values()
    once, often = Flows.of({flow: 1}), Flows.of({flow: 40})
    assert best(FERRY, odd, flows=often) == {"ticket.zone": "ferry.json.departure"}
    assert sure(FERRY, odd, flows=often) > sure(FERRY, odd, flows=once)
    assert proposed(FERRY, odd, flows=often)[0].reason.startswith("seen 40 times")
    assert proposed(FERRY, odd, flows=once)[0].reason.startswith("seen once")


def test_a_flow_whose_path_was_not_noted_counts_for_every_field() -> None:
    asked = replace(TICKET, wanted=[parameter("ferry_id")])
    flows = Flows.of({Flow("sea.find_ferry", "", "sea.buy_ticket", "ferry_id"): 3})

    assert sure(FERRY, asked, flows=flows) > sure(FERRY, asked)


def test_words_that_mean_the_same_are_near_without_being_the_same() -> None:
    steps = (
        replace(FERRY, outputs=[field("letter")]),
        replace(TICKET, wanted=[parameter("mail")]),
    )

    [edge] = propose(steps, meanings(*steps))

    assert edge.reason == "names near in meaning, same type"
    assert edge.confidence > sum(each.confidence for each in propose(steps, Meanings.none()))


def test_what_is_said_about_them_counts_where_the_names_say_nothing() -> None:
    about = "golden compass of the old captain"
    steps = (
        replace(FERRY, tool="x.q", outputs=[field("aa", about=about)]),
        replace(TICKET, wanted=[parameter("bb", about=about)]),
    )

    [edge] = propose(steps, meanings(*steps))

    assert edge.reason == "descriptions near in meaning, same type"


def test_a_tool_is_described_where_its_fields_are_not() -> None:
    bare = replace(FERRY, tool="x.q", outputs=[OutputField(path="text", type="string")])
    asked = replace(TICKET, wanted=[parameter("bb", about="golden compass of the captain")])
    told = replace(bare, description="golden compass of the captain")

    assert sure(told, asked) > sure(replace(bare, description="thirty barrels"), asked)


def test_only_what_fits_in_no_way_is_said_to_be_all_there_is() -> None:
    steps = (
        replace(FERRY, outputs=[field("aa", None)]),
        replace(TICKET, wanted=[parameter("bb", None)]),
    )

    [edge] = propose(steps, Meanings.none(), floors=Floors(0.0, 0.0))

    assert edge.reason == "nothing else would fit"


def test_the_whole_of_a_step_is_named_by_the_step_alone() -> None:
    edge = Edge(
        from_step="read",
        path="",
        to_step="write",
        parameter="text",
        confidence=1,
        reason="",
        ambiguous=False,
    )

    assert str(edge) == "read -> write.text"


def test_at_most_three_are_shown_for_a_parameter() -> None:
    assert nearly_as_good([0.2, 0.21, 0.2, 0.2]) == [1, 0, 2]
    assert nearly_as_good([0.6, 0.1]) == [0]
    assert nearly_as_good([]) == []


def test_every_text_is_asked_for_once() -> None:
    texts = texts_to_embed([FERRY, FERRY, TICKET])

    assert len(texts) == len(set(texts))
    assert {"ferry id", "ferry id The ferry to go with", "cabin"} <= set(texts)


def test_only_the_latest_fifty_steps_are_looked_at() -> None:
    between = [replace(TICKET, step=f"t{each}", outputs=(), wanted=()) for each in range(50)]

    assert proposed(FERRY, *between[:49], TICKET)
    assert proposed(FERRY, *between, TICKET) == []


def test_every_sign_has_a_weight_that_ships() -> None:
    assert set(SHIPPED.of) == set(Feature)


def a_step(number: int, *, gives: int = 1, wants: int = 0, required: bool = True) -> StepSignature:
    return StepSignature(
        step=f"s{number}",
        tool="a.b",
        outputs=[OutputField(path=f"json.f{each}") for each in range(gives)],
        wanted=[Parameter(name=f"p{each}", required=required) for each in range(wants)],
    )


def test_a_short_plan_is_left_as_it_is_but_for_what_nobody_could_take() -> None:
    steps = [a_step(0), a_step(1, wants=2), a_step(2)]

    some = bounded(steps)

    assert some.left_out == []
    assert [len(step.wanted) for step in some.steps] == [0, 2, 0]
    assert [len(step.outputs) for step in some.steps] == [1, 0, 0]


def test_who_needs_something_comes_before_who_could_take_something() -> None:
    could = [a_step(number, wants=1, required=False) for number in range(MOST_STEPS)]
    needs = [a_step(MOST_STEPS + number, wants=1) for number in range(2)]

    some = bounded([*could, *needs])

    assert some.left_out == [f"s{MOST_STEPS - 2}", f"s{MOST_STEPS - 1}"]
    assert [step.step for step in some.steps if not step.wanted] == some.left_out


def test_who_wants_too_much_of_too_much_is_left_out_alone() -> None:
    steps = [a_step(0, gives=999), a_step(1, wants=201), a_step(2, wants=200)]

    some = bounded(steps)

    assert some.left_out == ["s1"]
    assert len(some.steps[2].wanted) == 200


def test_what_only_a_step_that_is_left_out_could_take_is_not_looked_at() -> None:
    steps = [a_step(number, gives=1_000) for number in range(60)]
    steps += [a_step(60, wants=100)]

    some = bounded(steps)

    assert some.left_out == ["s60"]
    assert not any(step.outputs for step in some.steps)


NAMES = st.one_of(
    st.sampled_from(["id", "userId", "limit", "message", "json", "", "ß", "a.b", "items"]),
    st.text(max_size=8),
)
TYPES = st.sampled_from([None, "string", "number", "integer", "boolean", "object", "array", "odd"])
FIELDS = st.builds(OutputField, path=NAMES, type=TYPES, description=NAMES)
PARAMETERS = st.builds(
    Parameter,
    name=NAMES,
    type=TYPES,
    description=NAMES,
    required=st.booleans(),
    choice=st.booleans(),
    default=st.booleans(),
)
STEPS = st.builds(
    StepSignature,
    step=NAMES,
    tool=NAMES,
    description=NAMES,
    outputs=st.lists(FIELDS, max_size=4),
    wanted=st.lists(PARAMETERS, max_size=3, unique_by=lambda each: each.name),
    given=st.frozensets(NAMES, max_size=2),
)
PLANS = st.lists(STEPS, max_size=5, unique_by=lambda each: each.step)
FLOWS = st.dictionaries(
    st.builds(Flow, NAMES, NAMES, NAMES, NAMES), st.integers(1, 1_000_000_000), max_size=3
)


@settings(max_examples=50)
@given(PLANS, FLOWS)
def test_every_edge_is_from_an_earlier_step_to_a_parameter_that_was_wanted(
    steps: list[StepSignature], flows: dict[Flow, int]
) -> None:
    place = {step.step: number for number, step in enumerate(steps)}
    total: dict[tuple[str, str], float] = defaultdict(float)

    for edge in propose(steps, meanings(*steps), Flows.of(flows), floors=Floors(0.0, 0.0)):
        giver, taker = steps[place[edge.from_step]], steps[place[edge.to_step]]
        assert place[edge.from_step] < place[edge.to_step]
        assert edge.path in {field.path for field in giver.outputs}
        assert edge.parameter in {parameter.name for parameter in taker.wanted}
        assert edge.reason
        total[edge.to_step, edge.parameter] += edge.confidence

    assert all(0 <= each <= 1.001 for each in total.values())


PLACE = Source(tool="map.current_place", description="Where the ship is now")
CREW = Source(tool="ship.list_crew", description="Who works on board", outputs=[field("sailor")])
TIDE = Source(tool="sea.tide", description="How high the water is")
SOURCES = Sources.ready([PLACE, CREW, TIDE])
SAILOR = Parameter(name="sailor", description="Who is to take the helm")


def ranked(parameter: Parameter, flows: Flows = NO_FLOWS, consumer: str = "x.y") -> list[Ranked]:
    texts = [*SOURCES.texts_to_embed(), *texts_of(parameter)]
    known = Meanings.of(texts, embedded(texts))
    return list(rank_producers(parameter, consumer, SOURCES, known, flows))


def test_the_tool_that_speaks_of_it_comes_first() -> None:
    assert ranked(Parameter(name="place"))[0].tool == "map.current_place"


def test_what_a_tool_gives_is_part_of_what_it_is_found_by() -> None:
    assert "Gives: sailor" in CREW.told
    assert ranked(SAILOR)[0].tool == "ship.list_crew"


def test_a_tool_is_not_proposed_to_itself() -> None:
    found = ranked(SAILOR, consumer="ship.list_crew")

    assert [each.tool for each in found if each.tool == "ship.list_crew"] == []
    assert len(found) == 2


def test_what_was_given_for_a_parameter_of_that_name_comes_first() -> None:
    flows = Flows.of({Flow("sea.tide", "", "some.tool", "Sailor"): 50})

    first = ranked(SAILOR, flows)[0]

    assert (first.tool, first.seen) == ("sea.tide", 50)


def test_what_often_gives_something_comes_before_what_never_does() -> None:
    flows = Flows.of({Flow("sea.tide", "", "some.tool", "depth"): 5})

    found = rank_producers(Parameter(name="zzz"), "x.y", SOURCES, Meanings.none(), flows)

    assert found[0].tool == "sea.tide"
    assert found[0].score > found[1].score


def test_without_vectors_all_are_equally_near() -> None:
    found = rank_producers(SAILOR, "x.y", SOURCES, Meanings.none())

    assert {each.score for each in found} == {0.0}
    assert SOURCES.by_text(SAILOR, Meanings.none())[2].argmax() == 1


def test_a_parameter_without_a_word_is_like_nothing() -> None:
    found = SOURCES.by_text(Parameter(name=""), Meanings.none())

    assert not found.any()


def test_an_empty_catalogue_has_no_answer() -> None:
    assert rank_producers(SAILOR, "x.y", Sources.ready([]), Meanings.none()) == []


def test_texts_without_vectors_are_near_nothing() -> None:
    known = Meanings.of(["a", "b"], embedded(["mail", "letter"]))

    assert known.similarities("a", ["b", "c"]).round(3).tolist() == [1, 0]
    assert known.similarities("c", ["a"]).tolist() == [0]
    assert known.similarities("a", ["c"]).tolist() == [0]
    assert nearness(known.rows(["a"]), known.rows(["c", "d"])) == [[0.0, 0.0]]
    assert nearness(known.rows(["a"]), known.rows([])) == [[]]


JMESPATH = JmespathExpressions()
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "needed": {"type": "string"},
        "left_out": {"type": "string"},
        "kind": {"enum": ["a", "b"]},
        "limit": {"type": "integer", "default": 10},
        "said": {"type": "string"},
    },
    "required": ["needed", "said"],
}
BARE = a_tool("t", "Does it.", inputSchema=SCHEMA)


def seen(*results: JsonValue) -> KnownTool:
    shape = reduce(merged, map(shape_of, results))
    return KnownTool(BARE, ObservedSchema("p", len(results), shape))


def shapes(tool: KnownTool, *steps: JsonObject) -> list[StepSignature]:
    plan = read_plan({"steps": list(steps)}, JMESPATH)
    return [*step_shapes(plan, graph_of(plan, JMESPATH), {ToolRef("s", "t"): tool})]


ONE: JsonObject = {"id": "one", "tool": "s.t", "arguments": {"said": "x"}}


def outputs(tool: KnownTool, **more: JsonValue) -> list[tuple[str, str | None]]:
    [shape] = shapes(tool, {**ONE, **more})
    return [(field.path, field.type) for field in shape.outputs]


def test_wanted_is_what_has_to_be_said_and_what_is_plainly_left_out() -> None:
    [shape] = shapes(KnownTool(BARE), ONE)

    assert [parameter.name for parameter in shape.wanted] == ["needed", "left_out"]
    assert shape.given == {"said"}
    assert (shape.step, shape.tool, shape.description) == ("one", "s.t", "Does it.")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (KnownTool(BARE), [("text", "string")]),
        (seen("a", "b"), [("text", "string")]),
        (seen(1, 2), [("json", "integer")]),
        (seen([1], [2]), [("json[0]", "integer")]),
        (seen([], []), [("json", "array")]),
        (seen({"a b": 1}, {}), []),
        (seen({"id": 1}, {"id": 2}), [("json.id", "integer")]),
        (seen([{"x-id": "a"}], [{"x-id": "b"}]), [('json[0]."x-id"', "string")]),
    ],
)
def test_what_a_step_gives_is_what_was_seen(
    tool: KnownTool, given: list[tuple[str, str | None]]
) -> None:
    assert outputs(tool) == given


def test_what_its_server_says_comes_first() -> None:
    says: JsonObject = {"type": "object", "properties": {"said": {"type": "string"}}}
    tool = replace(seen({"id": 1}, {"id": 2}), definition=replace(BARE, output_schema=says))

    assert outputs(tool) == [("json.said", "string")]


def test_of_a_step_done_for_each_it_is_a_list_of_all() -> None:
    each: JsonObject = {"in": [1]}

    assert outputs(seen({"id": 1}, {"id": 2}), for_each=each) == [("items[].json.id", "array")]
    assert outputs(KnownTool(BARE), for_each=each) == [("items[].text", "array")]


def test_steps_are_in_an_order_that_the_plan_allows_and_a_stand_in_gives_nothing() -> None:
    later: JsonObject = {**ONE, "id": "later", "after": ["one"]}
    stand_in: JsonObject = {**ONE, "id": "instead"}
    with_stand_in: JsonObject = {**ONE, "on_error": {"fallback": "instead"}}

    found = shapes(KnownTool(BARE), later, stand_in, with_stand_in)

    assert [shape.step for shape in found].index("one") < [shape.step for shape in found].index(
        "later"
    )
    assert {shape.step: bool(shape.outputs) for shape in found} == {
        "one": True,
        "instead": False,
        "later": True,
    }


def test_of_a_long_plan_each_step_has_fewer_fields() -> None:
    wide = {f"{a}{b}": 1 for a in "abcdefgh" for b in "abcdefg"}
    tool = seen(wide, wide)

    few = shapes(tool, ONE)
    many = shapes(tool, *({**ONE, "id": f"s{n}"} for n in range(500)))

    assert len(few[0].outputs) == 56
    assert {len(shape.outputs) for shape in many} == {8}
    assert OutputField(path="json.aa", type="integer") in many[0].outputs


def plan(*steps: JsonObject) -> Plan:
    return read_plan({"steps": list(steps)}, JMESPATH)


PLAIN = plan(
    {"id": "read", "tool": "s.a", "arguments": {"path": "/x"}},
    {"id": "write", "tool": "s.b", "arguments": {"mode": "new"}},
)


def test_an_accepted_edge_is_a_reference() -> None:
    accepted = with_edges(PLAIN, ['read.json.items[0]."x-id" -> write.path'], JMESPATH)

    assert accepted.step("write").arguments == {
        "mode": "new",
        "path": Reference("read", 'json.items[0]."x-id"'),
    }
    assert graph_of(accepted, JMESPATH).order == ("read", "write")


def test_without_any_a_plan_stays_what_it_is() -> None:
    assert with_edges(PLAIN, [], JMESPATH) is PLAIN


@pytest.mark.parametrize(
    ("edges", "place", "words"),
    [
        (["read.json -> write.path", "write.json -> read.to"], "/steps/0", "wait for one another"),
        (["write.json -> read.to"] * 2, "/accept/1", "has a value for 'to' already"),
        (["read.json -> write.mode"], "/accept/0", "has a value for 'mode' already"),
        (["read.json -> wrote.path"], "/accept/0", "no step 'wrote'"),
        (["reed.json -> write.path"], "/steps/1/arguments/path/$from", "reed"),
        (["read.json.[ -> write.path"], "/steps/1/arguments/path/$from", "expression is wrong"),
        (["read.json"], "/accept/0", "is not an edge"),
        (["read.json -> write"], "/accept/0", "is not an edge"),
        ([" -> write.path"], "/accept/0", "not a step's id"),
    ],
)
def test_an_edge_that_cannot_be_is_refused(edges: list[str], place: str, words: str) -> None:
    with pytest.raises(InvalidPlan) as caught:
        with_edges(PLAIN, edges, JMESPATH)

    [fault] = caught.value.diagnostics
    assert fault.place.startswith(place)
    assert words in fault.what


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8, unique=True))
def test_whatever_is_accepted_ends_or_is_refused(pairs: list[tuple[int, int]]) -> None:
    bare = plan(*({"id": f"s{number}", "tool": "s.a"} for number in range(6)))
    edges = [f"s{one}.json.x -> s{other}.p{one}" for one, other in pairs]

    if _in_circles(pairs):
        with pytest.raises(InvalidPlan):
            with_edges(bare, edges, JMESPATH)
        return
    order = graph_of(with_edges(bare, edges, JMESPATH), JMESPATH).order

    assert len(order) == 6
    assert all(order.index(f"s{one}") < order.index(f"s{other}") for one, other in pairs)


def _in_circles(pairs: list[tuple[int, int]]) -> bool:
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for one, other in pairs:
        sorter.add(other, one)
    try:
        sorter.prepare()
    except CycleError:
        return True
    return False
