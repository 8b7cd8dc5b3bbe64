"""A chat program's question finds its debate: one that is on, or another."""

from portico.debate.ask_in_chat import AskInChat
from portico.debate.core.debate import Debate
from portico.debate.core.wish import DebateWish
from tests.debate.room import ANA, Room, some

WISH = DebateWish(question="Is it so?")


class Chat:
    def __init__(self) -> None:
        self.room = Room(*some("alpha:one", "beta:two"))

    async def ask(self, wish: DebateWish = WISH, *, again: bool = False) -> Debate:
        return await AskInChat(start_debate=self.room.start)(ANA, wish, again=again)

    async def answered(self, wish: DebateWish = WISH) -> Debate:
        debate = await self.ask(wish)
        await self.room.leg(debate)
        return debate


async def test_the_same_question_while_it_is_debated_is_the_same_debate() -> None:
    chat = Chat()

    first, second = await chat.ask(), await chat.ask()

    assert first.id == second.id


async def test_what_was_heard_is_debated_anew() -> None:
    chat = Chat()

    first, second = await chat.answered(), await chat.ask()

    assert first.id != second.id


async def test_a_program_that_did_not_hear_the_answer_is_told_it_again() -> None:
    chat = Chat()
    first = await chat.answered()

    again = await chat.ask(again=True)

    assert (again.id, again.status.over) == (first.id, True)


async def test_a_key_of_the_program_s_own_says_what_is_the_same() -> None:
    chat, keyed = Chat(), DebateWish(question="Is it so?", key="k")
    first = await chat.answered(keyed)

    second, other = await chat.ask(keyed), await chat.ask()

    assert (second.id, other.id == first.id) == (first.id, False)


async def test_another_question_is_another_debate() -> None:
    chat = Chat()

    debates = [
        await chat.ask(),
        await chat.ask(DebateWish(question="Is it not?")),
        await chat.ask(DebateWish(question="Is it so?", material="It rains.")),
    ]

    assert len({each.id for each in debates}) == 3


async def test_whoever_asks_the_same_again_and_again_is_answered_each_time() -> None:
    chat = Chat()

    debates = [await chat.answered() for _ in range(10)]

    assert len({each.id for each in debates}) == 10


async def test_what_stands_under_its_key_already_and_is_another_is_passed_by() -> None:
    chat = Chat()
    first = await chat.ask(DebateWish(question="Is it so?", voices=("alpha:one", "beta:two")))

    second = await chat.ask()

    assert first.id != second.id
