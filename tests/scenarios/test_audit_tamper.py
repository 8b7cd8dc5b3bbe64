"""Every byte of a chain is held by it: flipped one after the other, each is found."""

import os
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.audit import (
    BEGINNING,
    AuditEntry,
    Head,
    Link,
    act_text,
    entry_text,
    linked,
    verify,
)
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING as NOW

pytestmark = [pytest.mark.scenario]

LENGTH = 1_000 if os.environ.get("PORTICO_PROOF") else 60
ANA = a_person("ana")


def a_chain() -> list[Link]:
    links: list[Link] = []
    last = BEGINNING
    for number in range(1, LENGTH + 1):
        entry = AuditEntry(
            action="call.allowed", subject=f"mail.send_{number}", details={"n": number}
        )
        at = NOW + timedelta(milliseconds=number)
        text = entry_text(act_text(ANA, entry), at, ANA.id, number, ANA.space)
        links.append(linked(last, text))
        last = head(links[-1])
    return links


def head(link: Link) -> Head:
    return Head(link.number, link.hash)


def flipped(value: bytes, place: int, chance: random.Random) -> bytes:
    other = bytearray(value)
    other[place] ^= 1 << chance.randrange(8)
    return bytes(other)


@pytest.mark.requirement("audit:tamper:flip")
def test_each_byte_of_each_entry_and_hash_is_held_by_the_chain() -> None:
    """One bit of each byte, in turn. Beside the changed entry its successor is looked at, which
    tells on its own where the hash was made to fit."""
    chance, chain = random.Random(5), a_chain()
    starts = [BEGINNING, *map(head, chain)]
    flips = undetected = unnoticed_by_successor = 0
    for start, link, after in zip(starts, chain, [*chain[1:], None], strict=False):
        changed = [
            *(replace(link, text=flipped(link.text, n, chance)) for n in range(len(link.text))),
            *(replace(link, hash=flipped(link.hash, n, chance)) for n in range(len(link.hash))),
        ]
        for one in changed:
            flips += 1
            undetected += verify([one], ANA.space, start=start).sound
            fitting = one if one.text == link.text else linked(start, one.text)
            if after is not None:
                unnoticed_by_successor += verify([after], ANA.space, start=head(fitting)).sound

    print(f"{flips:,} bytes of {LENGTH:,} entries flipped, {undetected} not found")
    assert flips == sum(len(link.text) + 32 for link in chain) > 200 * LENGTH
    assert (undetected, unnoticed_by_successor) == (0, 0)
