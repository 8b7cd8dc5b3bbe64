"""A run's own words: what is over, what a leg is called, how a failure is kept, what is told."""

from dataclasses import fields
from uuid import UUID

import pytest

from portico.engine.core.errors import OwnTopic, PasswordRefused, RunNotFound, StoreOutdated
from portico.engine.core.retention import Forgotten
from portico.engine.core.runs import (
    Activation,
    Failure,
    QueueConfig,
    QueuedActivation,
    QueuePlacement,
    RunStatus,
    failure_of,
)
from portico.kernel.ids import RunId

RUN = RunId(UUID(int=7))


@pytest.mark.parametrize("status", RunStatus)
def test_a_run_is_over_when_nobody_carries_it_on_unasked(status: RunStatus) -> None:
    ends = {RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.STUCK}

    assert status.over is (status in ends)


def test_a_leg_is_known_by_its_name_and_has_a_place_in_line() -> None:
    leg = Activation(RUN, 12)

    assert leg.name == "00000000-0000-0000-0000-000000000007:12"
    assert Activation.parse(leg.name) == leg

    turn = QueuedActivation(Activation(RUN, 1), QueuePlacement(partition="ana"))

    assert (turn.placement.queue, turn.placement.partition, turn.placement.priority) == (
        "runs",
        "ana",
        0,
    )

    queue = QueueConfig(name="runs")

    assert (queue.a_process, queue.everywhere, queue.a_partition) == (None, None, None)


def test_a_failure_is_kept_in_words() -> None:
    assert failure_of(OSError("gone"), "a") == Failure("OSError", "gone", None, "a")
    assert failure_of(OSError()) == Failure("OSError", "OSError")
    assert failure_of(RunNotFound("r")).code == "run_not_found"
    assert failure_of(OSError("gone"), "a").as_json() == {
        "type": "OSError",
        "message": "gone",
        "code": None,
        "step": "a",
    }


def test_what_the_engine_refuses_is_told_with_the_ways_out() -> None:
    error = PasswordRefused()

    assert "config show" in str(error.fix)
    assert "db provision --rotate" in str(error.fix)

    own = OwnTopic("~uncertain:pay:1")

    assert "'~uncertain:pay:1'" in str(own)
    assert own.topic == "~uncertain:pay:1"

    outdated = StoreOutdated(16, 18)

    assert (outdated.have, outdated.wanted) == (16, 18)
    assert "portico db upgrade" in str(outdated.fix)
    assert "database.version 16" in str(outdated.fix)


def test_nothing_was_forgotten_unless_something_was() -> None:
    assert not Forgotten().anything


@pytest.mark.parametrize("name", [field.name for field in fields(Forgotten)])
def test_one_thing_is_something(name: str) -> None:
    assert Forgotten(**{name: 1}).anything
