"""Which tool of a catalogue could give what no step of a plan gives."""

from portico.learning.core.dataflow.flows import NO_FLOWS, Flow, Flows
from portico.learning.core.dataflow.meanings import Meanings, nearness
from portico.learning.core.dataflow.rank import Ranked, Source, Sources, rank_producers, texts_of
from portico.learning.core.dataflow.shape import Parameter
from tests.gateway.core.shop import embedded
from tests.learning.core.dataflow.trips import field

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
