"""Models as they are listed, shown and tried."""

from datetime import timedelta

import pytest

from portico.agents import test_model as trying
from portico.agents.core.asking import Finish, Piece, Reply, TextPiece, Usage
from portico.agents.core.errors import ModelNotFound, ModelRefused, ModelUnavailable
from portico.agents.core.message import ToolCall
from portico.agents.core.model import ModelRef, Support
from portico.agents.list_models import ListModels, ListProviders, ShowModel
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.testing.agents import MemoryBook, ScriptedModels, a_model
from portico.testing.guard import a_person

ANA = a_person("ana")
VIEWER = a_person("vi", roles={Role.VIEWER})
STRANGER = a_person("stranger", roles=set())
REF = ModelRef("local", "small")


def said(text: str, *pieces: Piece, calls: tuple[ToolCall, ...] = ()) -> list[Piece]:
    reply = Reply(
        text=text,
        usage=Usage(input=9, output=40),
        finish=Finish.STOP,
        model="small",
        first_piece=timedelta(seconds=1),
        took=timedelta(seconds=3),
        calls=calls,
    )
    return [*pieces, reply]


HELLO = said("one two", TextPiece("one "), TextPiece("two"))
CALL = said("", calls=(ToolCall("c1", "get_weather", {"city": "Paris"}),))
FORM = said('{"city": "Paris"}')


def tries(*answers: list[Piece] | Exception) -> trying.TestModel:
    return trying.TestModel(book=MemoryBook(a_model(REF)), models=ScriptedModels(*answers))


async def test_models_are_listed_by_name_and_shown_by_it() -> None:
    book = MemoryBook(a_model(ModelRef("b", "x")), a_model(ModelRef("a", "y")))

    listed = await ListModels(book=book)(VIEWER)
    shown = await ShowModel(book=book)(VIEWER, ModelRef("b", "x"))
    providers = await ListProviders(book=book)(VIEWER)

    assert [str(model.ref) for model in listed] == ["a:y", "b:x"]
    assert shown == listed[1]
    assert [state.name for state in providers] == ["a", "b"]


async def test_whoever_may_not_see_models_sees_none_and_only_who_may_spend_tries_one() -> None:
    book = MemoryBook()

    for ask in (
        ListModels(book=book)(STRANGER),
        ListProviders(book=book)(STRANGER),
        ShowModel(book=book)(STRANGER, REF),
        tries(HELLO)(VIEWER, REF),
    ):
        with pytest.raises(NotPermitted):
            await ask
    with pytest.raises(ModelNotFound):
        await tries()(ANA, ModelRef("local", "none"))


async def test_a_good_model_does_all_of_it() -> None:
    tested = await tries(HELLO, CALL, FORM)(ANA, REF)

    assert (tested.answers, tested.streams, tested.usage_reported) == (True, True, True)
    assert (tested.calls_tools, tested.holds_to_form) == (Support.YES, Support.YES)
    assert tested.first_piece == timedelta(seconds=1)
    assert tested.tokens_a_second == 20.0


@pytest.mark.parametrize(
    ("call", "form"),
    [
        (said("It rains."), said("Paris")),
        (ModelRefused("local:small", "no tools."), ModelRefused("local:small", "no forms.")),
        (said("", calls=(ToolCall("c1", "other", {}),)), said('["Paris"]')),
    ],
)
async def test_what_a_model_does_not_do_is_found(
    call: list[Piece] | Exception, form: list[Piece] | Exception
) -> None:
    tested = await tries(HELLO, call, form)(ANA, REF)

    assert tested.answers
    assert (tested.calls_tools, tested.holds_to_form) == (Support.NO, Support.NO)


async def test_a_model_that_does_not_answer_is_not_asked_further() -> None:
    error = ModelUnavailable("local:small", "nothing answers there.", fix="Start it.")
    tested = await tries(error)(ANA, REF)
    silent = await tries(said(""))(ANA, REF)
    cut = await tries([TextPiece("one")])(ANA, REF)

    assert (tested.answers, tested.fix) == (False, "Start it.")
    assert "nothing answers" in (tested.problem or "")
    assert (silent.answers, silent.problem) == (False, "It says nothing.")
    assert not cut.answers
