"""Agents are killed in the middle of a word, answers are lost, servers and the database die: what
was acknowledged on the bridge is there once, in one order for all, and what was read stays read."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.installation import installation
from tests.storm.bridge_house import Scale, Servers, serving, set_up
from tests.storm.bridge_oracle import Stored, faults
from tests.storm.bridge_proxy import Harm

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
SCALE = (
    Scale(
        agents=50,
        messages=2_000,
        conversations=16,
        in_each=3,
        kills=500,
        drops=200,
        server_kills=20,
        database_kills=5,
    )
    if FULL_SIZE
    else Scale(
        agents=6,
        messages=60,
        conversations=4,
        in_each=2,
        kills=10,
        drops=5,
        server_kills=1,
        database_kills=1,
    )
)

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with installation() as house, serving(house, 2) as made:
        yield made


@pytest.mark.timeout(7200 if FULL_SIZE else 600)
@pytest.mark.requirement("bridge:storm:nothing-lost")
async def test_every_acknowledged_message_is_there_once_and_in_order_after_a_storm(
    servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = set_up(servers, SCALE, servers.house.home / "storm")
    began = time.monotonic()

    proxy = await stage.storm(seed=10)

    took = time.monotonic() - began
    journals, truth = stage.journals(), stage.truth()
    said = [fact for journal in journals.values() for fact in journal if fact["what"] == "said"]
    read = [fact for journal in journals.values() for fact in journal if fact["what"] == "read"]
    harms = Counter(harm for harm, _ in proxy.done)
    with capsys.disabled():
        print(
            f"\nbridge storm: {SCALE.agents} agents x {SCALE.messages} messages in "
            f"{SCALE.conversations} conversations, {stage.killed} agents killed, "
            f"{harms[Harm.DROP]} answers dropped, {stage.server_kills} servers and "
            f"{stage.database_kills} databases killed in {took:.0f} s; "
            f"{proxy.passed - len(said)} messages sent again, "
            f"{sum(len(fact['told']) for fact in read)} deliveries on {len(read)} pages"
        )
    assert faults(journals, truth) == []
    assert len(said) == sum(map(len, truth.values())) == SCALE.all
    assert stage.killed == SCALE.kills
    assert harms[Harm.DROP] == SCALE.drops
    assert (stage.server_kills, stage.database_kills) == (SCALE.server_kills, SCALE.database_kills)
    assert all(journal[-1]["what"] == "finished" for journal in journals.values())


@pytest.mark.timeout(300)
async def test_a_server_that_loses_one_message_is_caught(servers: Servers) -> None:
    """A red run: what the journals are for."""
    scale = Scale(agents=2, messages=15, conversations=1, in_each=1, losses=1)
    stage = set_up(servers, scale, servers.house.home / "lossy")

    proxy = await stage.storm(seed=3)

    [(_, lost)] = proxy.done
    name, _, number = lost.partition(".")
    assert faults(stage.journals(), stage.truth()) == [
        f"{name}: {number} was acknowledged and is not there"
    ]


def read(*messages: str, cursor: str, reset: bool = False) -> dict[str, Any]:
    told = [["talk", message, ""] for message in messages]
    return {"what": "read", "told": told, "cursor": cursor, "reset": reset, "end": True}


def said(number: int, message: str) -> list[dict[str, Any]]:
    at = {"n": number, "where": "talk"}
    return [{"what": "saying", **at}, {"what": "said", "id": message, **at}]


FINISHED = {"what": "finished"}
TRUTH = {"talk": [Stored("m0", "bo", 0), Stored("m1", "al", 0), Stored("m2", "bo", 1)]}
BO = [*said(0, "m0"), *said(1, "m2")]


def marked(cursor: str) -> dict[str, Any]:
    return {"what": "marked", "cursor": cursor}


def test_journals_that_agree_with_what_is_there_have_no_faults() -> None:
    unread = {"what": "unread", "unread": {"talk": 1}}
    al = [*said(0, "m1"), read("m0", "m1", cursor="1"), marked("1"), unread]

    found = faults({"bo": BO, "al": [*al, read("m2", cursor="2"), FINISHED]}, TRUTH)

    assert found == []


@pytest.mark.parametrize(
    ("al", "truth", "fault"),
    [
        pytest.param([], TRUTH["talk"] + [Stored("m3", "bo", 1)], "bo 1 is there 2", id="twice"),
        pytest.param([], [TRUTH["talk"][2], TRUTH["talk"][0]], "bo 0 comes after 1", id="order"),
        pytest.param([], TRUTH["talk"] + [Stored("m3", "bo", 2)], "nobody has said", id="made up"),
        pytest.param(said(1, "m9"), TRUTH["talk"], "1 was acknowledged and is not", id="lost"),
        pytest.param(said(0, "m9"), TRUTH["talk"], "0 was acknowledged as m9", id="another"),
        pytest.param([read("m1", cursor="1")], TRUTH["talk"], "read talk otherwise", id="gap"),
        pytest.param(
            [read("m0", "m0", cursor="1")], TRUTH["talk"], "read talk otherwise", id="read twice"
        ),
        pytest.param(
            [read("m0", cursor="1"), FINISHED], TRUTH["talk"], "missed 2", id="not to the end"
        ),
        pytest.param(
            [read("m0", cursor="1", reset=True)], TRUTH["talk"], "to begin anew", id="reset"
        ),
        pytest.param(
            [
                read("m0", "m1", cursor="1"),
                marked("1"),
                {"what": "unread", "unread": {"talk": 2}},
                read("m2", cursor="2"),
            ],
            TRUTH["talk"],
            "2 were unread in talk, where there were 1 at most",
            id="marked and unread again",
        ),
    ],
)
def test_every_kind_of_fault_is_found(
    al: list[dict[str, Any]], truth: list[Stored], fault: str
) -> None:
    found = faults({"bo": BO, "al": al}, {"talk": truth})

    assert any(fault in each for each in found)
