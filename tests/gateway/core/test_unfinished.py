"""Which answers are not the last word of the workflow that gave them."""

import pytest

from portico.gateway.core.call import Answer
from portico.gateway.core.plan.waiting_topics import step_asked
from portico.gateway.core.workflow_words import WORKFLOW_META, unfinished
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue

RUN = "run_01kdvdna07e0083vtk892ms2mc"


def told(run: JsonValue, status: JsonValue) -> Answer:
    return Answer([], meta={WORKFLOW_META: {"run": run, "status": status}})


@pytest.mark.parametrize("status", ["queued", "running", "waiting"])
def test_one_that_goes_on_is_known_by_its_run(status: str) -> None:
    assert unfinished(told(RUN, status)) == RunId.parse(RUN)


@pytest.mark.parametrize(
    "answer",
    [
        Answer([]),
        Answer([], meta={}),
        Answer([], meta={WORKFLOW_META: "run"}),
        told(RUN, "done"),
        told(RUN, "partial"),
        told(RUN, "failed"),
        told(RUN, "cancelled"),
        told("run_", "running"),
        told(5, "running"),
    ],
)
def test_any_other_answer_is_as_it_is(answer: Answer) -> None:
    assert unfinished(answer) is None


@pytest.mark.parametrize(
    ("topic", "step"),
    [
        ("~approval:read:1", "read"),
        ("~approval:read[3]~2:4", "read[3]"),
        ("~approval:outer/gone:1", "outer/gone"),
    ],
)
def test_a_topic_names_the_step_that_asks(topic: str, step: str) -> None:
    assert step_asked(topic) == step
