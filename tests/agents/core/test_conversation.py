"""What has been said, in the order in which a model reads it."""

from dataclasses import replace

from portico.agents.core.conversation import NOT_MADE, for_model, lines_of_trace, words_of
from portico.agents.core.message import ModelSaid, ToolCall, ToolGave, UserSaid
from portico.agents.core.trace import WholeTrace
from portico.guard.core.authentication import as_principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import an_identity

RUN = an_agent_run(as_principal(an_identity("ana")))
CALLS = (ToolCall("a", "files__read", {}), ToolCall("b", "files__read", {}))


def a_trace() -> WholeTrace:
    return WholeTrace(
        run=replace(RUN, history=(UserSaid("Earlier."),)),
        said=(a_saying(RUN, "One."), a_saying(RUN, "Two.", 2), a_saying(RUN, "Three.", 3)),
        turns=(
            replace(a_turn(RUN, 2, "Done."), heard=2, kept={"x": 1}),
            replace(a_turn(RUN, 1, "Hm.", calls=CALLS), heard=1),
        ),
        uses=(a_use(RUN, 1, 0, text="read"),),
    )


def test_each_turn_comes_after_what_it_had_heard_and_each_call_with_its_result() -> None:
    assert [line.message for line in lines_of_trace(a_trace())] == [
        UserSaid("Earlier."),
        UserSaid("One."),
        ModelSaid("Hm.", CALLS),
        ToolGave("a", "files__read", "read"),
        ToolGave("b", "files__read", NOT_MADE, failed=True),
        UserSaid("Two."),
        ModelSaid("Done.", kept={"x": 1}),
        UserSaid("Three."),
    ]


def test_what_a_server_wants_back_is_its_own() -> None:
    lines = lines_of_trace(a_trace())

    assert ModelSaid("Done.", kept={"x": 1}) in for_model(lines, "local:small")
    assert ModelSaid("Done.") in for_model(lines, "far:large")


def test_the_last_words_of_people_are_what_tools_are_looked_for_by() -> None:
    assert words_of(lines_of_trace(a_trace())) == "Three."
    assert words_of([]) == ""
