"""What is above a reader does not exist: houses that differ in nothing else tell them the same."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from random import Random

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.bridge.core.messages import MessageId, NewMessage
from portico.kernel.label import Label
from tests.copies import Template
from tests.installation import installation
from tests.storm import bridge_rest_twins as rest
from tests.storm.bridge_bugs import BROKEN_TWINS, Bug
from tests.storm.bridge_rest_twins import lived_over_rest
from tests.storm.bridge_twins import HIDDEN_STEPS, LOW_STEPS, SECRET, TEAM, lived
from tests.storm.deck import name_of
from tests.storm.twins import Twin
from tests.storm.walled_house import (
    WalledHouse,
    memory_house,
    walled_house,
    without_waiting_for_the_disk,
)

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
PAIRS, STEPS = (20, 300) if FULL_SIZE else (1, 90)
STEPS_OVER_REST = 1_000 if FULL_SIZE else 90


async def lived_upon(addresses: Addresses, seed: int, hidden: int | None) -> Twin:
    above = None if hidden is None else Random(hidden)
    without_waiting_for_the_disk(addresses)
    async with walled_house(addresses) as house:
        return await lived(house, STEPS, Random(seed), above)


async def lived_in_memory(seed: int, hidden: int | None, broken: Bug | None = None) -> Twin:
    above = None if hidden is None else Random(hidden)
    async with memory_house() as whole:
        house = whole if broken is None else broken.in_(whole)
        return await lived(house, 90, Random(seed), above)


def check_much_was_hidden(life: Twin) -> None:
    assert {name_of(step) for step in LOW_STEPS} == set(life.steps)
    assert {name_of(step) for step in HIDDEN_STEPS} == set(life.did)
    assert life.did.total() > life.steps.total() * 0.8
    assert life.did["hidden_message"] > life.steps.total() // 4


@pytest.mark.requirement("bridge:leaks:twins")
async def test_what_is_hidden_changes_nothing_for_who_may_not_see_it(
    embedded_template: Template,
) -> None:
    told = hidden = 0
    for seed in range(PAIRS):
        copies: list[AbstractContextManager[Addresses]] = [
            embedded_template.copy() for _ in range(2)
        ]
        with copies[0] as one, copies[1] as other:
            without = await lived_upon(one, seed, None)
            with_much = await lived_upon(other, seed, 1_000 + seed)
        assert with_much.transcript.lines == without.transcript.lines
        check_much_was_hidden(with_much)
        assert len(without.transcript.lines) == STEPS + 1
        assert not without.did
        told += len(without.transcript.lines)
        hidden += with_much.did.total()
    print(f"\n{PAIRS} pairs, {told} steps alike beside {hidden} hidden ones")


@pytest.mark.nightly
@pytest.mark.requirement("bridge:leaks:twins")
async def test_nor_over_rest() -> None:
    lives = []
    for above in (None, Random(1_000)):
        with installation() as house, house.serving():
            lives.append(await lived_over_rest(house, STEPS_OVER_REST, Random(7), above))

    without, with_much = lives
    assert with_much.transcript.lines == without.transcript.lines
    assert len(without.transcript.lines) == STEPS_OVER_REST + 1
    assert {name_of(step) for step in rest.LOW_STEPS} == set(with_much.steps)
    assert {name_of(step) for step in rest.HIDDEN_STEPS} == set(with_much.did)
    assert with_much.did.total() > STEPS_OVER_REST // 2
    assert not without.did
    assert (without.more_for_others, with_much.more_for_others) == (False, True)
    print(f"\nOver REST {STEPS_OVER_REST} steps alike beside {with_much.did.total()}")


async def test_nor_upon_the_doors_in_memory() -> None:
    for seed in range(PAIRS):
        lives = [await lived_in_memory(seed, hidden) for hidden in (None, 500 + seed, 900 + seed)]

        assert lives[1].transcript.lines == lives[0].transcript.lines
        assert lives[2].transcript.lines == lives[0].transcript.lines


@pytest.mark.parametrize("name", BROKEN_TWINS)
@pytest.mark.planted
async def test_a_difference_that_was_planted_is_found(name: str) -> None:
    for seed in range(6):
        one = await lived_in_memory(seed, None, BROKEN_TWINS[name])
        other = await lived_in_memory(seed, 500 + seed, BROKEN_TWINS[name])
        if one.transcript.lines != other.transcript.lines:
            return

    pytest.fail("nobody noticed")


async def test_what_one_sent_with_another_key_does_not_show_by_its_idempotency_key(
    embedded_database: Addresses,
) -> None:
    """Through a key that was made for less, its holder does not exist as what they were by
    another."""
    answers = []
    for hidden in (False, True):
        async with walled_house(embedded_database, space=f"hidden {hidden}") as house:
            root = house.afresh(house.root)
            project = await house.talk.create_project(root, "apollo", "", TEAM)
            talk = await house.talk.create_conversation(root, project.id, "Talk")
            high = await house.enters("two-keys", "restricted+law")
            low = await house.another_key(high, TEAM)
            wish = NewMessage(conversation=talk.id, body="Once.", key="once")
            if hidden:
                secret = replace(wish, body="Otherwise.", label=SECRET)
                await house.talk.send_message(high, secret)
            sent = await house.talk.send_message(low, wish)
            answers.append((sent.message.body, sent.replayed))

    assert answers[0] == answers[1]


async def test_which_of_many_equally_near_messages_are_told_is_not_by_what_was_hidden_among_them(
    embedded_template: Template,
) -> None:
    """Hidden ones that are gone leave room in the table, into which others are put."""
    lives = []
    for hidden in (False, True):
        with embedded_template.copy() as addresses:
            without_waiting_for_the_disk(addresses)
            async with walled_house(addresses) as house:
                lives.append(await found_among_equals(house, addresses, hidden=hidden))

    assert lives[0] == lives[1]
    assert len(lives[0]) == 20


async def found_among_equals(
    house: WalledHouse, addresses: Addresses, *, hidden: bool
) -> Sequence[int]:
    """By their meaning; as the how-manieth each was said."""
    reader = await house.enters("reader", "team")
    above = await house.enters("above", "restricted+law")
    project = await house.talk.create_project(house.afresh(above), "apollo", "", TEAM)
    talks = [
        await house.talk.create_conversation(house.afresh(above), project.id, f"Talk {number}")
        for number in range(4)
    ]

    async def say(number: int, label: Label) -> MessageId:
        wish = NewMessage(conversation=talks[number % 4].id, body="river river", label=label)
        return (await house.talk.send_message(house.afresh(above), wish)).message.id

    said: list[MessageId] = []
    for phase in range(2):
        gone = []
        for number in range(110):
            if hidden and phase == 0:
                gone.append(await say(number + 1, SECRET))
            said.append(await say(number, TEAM))
        await house.embed()
        for each in gone:
            await house.talk.delete_message(house.afresh(above), each)
        with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
            admin.execute("VACUUM portico.message_vector")
    hits = await house.talk.search_messages(reader, "river", by_meaning=True, limit=20)
    return [said.index(hit.message.id) for hit in hits]
