"""A suggestion says what to do with it, what it lacks, and what of it is already under way."""

from collections.abc import Sequence
from dataclasses import replace

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.effect import Effect
from portico.learning.core.suggest.fill import From, MissingArgument, Origin
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.paths import DependencyPath, Hop
from portico.learning.core.suggest.suggested import Alternative, Suggested, SuggestedStep
from portico.learning.core.suggest.suggestion import Suggestion
from portico.learning.core.suggestion_words import words
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan import Plan, Step
from portico.workflows.core.plan_learning import SuggestionId

ID = SuggestionId.mint(BEGINNING, SeededEntropy("one"))


def a_step(name: str, effect: Effect, missing: Sequence[str] = ()) -> SuggestedStep:
    return SuggestedStep(
        id=name,
        tool=f"files.{name}",
        effect=effect,
        confidence=0.8,
        why="because",
        arguments={"path": Origin(From.INTENT, "/a")},
        missing=missing,
    )


SUGGESTED = Suggested(
    plan=Plan(steps=(Step(id="read", tool=ToolRef("files", "read")),)),
    confidence=0.934_56,
    raw=1.0,
    steps=[a_step("read", Effect.LOCAL_READ), a_step("write", Effect.LOCAL_WRITE, ["to"])],
    paths=[DependencyPath((Hop("files.read", "files.write", 0.86),))],
    alternatives=[Alternative("read", "files.peek", "for the same (0.20)")],
    missing=[MissingArgument("write", "to", ["files.list"])],
    rationale="As before.",
)
MADE = Suggestion(
    id=ID,
    mode=Mode.RAN_AHEAD,
    threshold=0.92,
    suggested=SUGGESTED,
    plan={"steps": []},
    ahead=["read"],
    expires_at=BEGINNING,
)


def test_it_says_how_it_is_run_and_what_has_to_be_given() -> None:
    told = words(MADE).splitlines()

    assert told[0] == "Suggested (0.93 sure). As before. Nothing was changed."
    assert told[1] == '{"steps":[]}'
    assert told[2:5] == [
        "Being read already: read.",
        "Done only once you run it: write.",
        "Missing: write_to, to be given by `inputs`; files.list could give it.",
    ]
    assert told[5].startswith("Because: ")
    assert told[6] == "Instead of read: files.peek (for the same (0.20))."
    assert told[7] == (
        f'To run it as it is: run_workflow(suggestion="{ID}", inputs={{…}}); '
        "changed, run_workflow(plan={…})."
    )


def test_one_that_lacks_nothing_asks_for_nothing() -> None:
    whole = replace(MADE, suggested=replace(SUGGESTED, missing=[], steps=SUGGESTED.steps[:1]))

    told = words(replace(whole, ahead=()))

    assert "Missing" not in told
    assert "inputs" not in told
    assert "Done only" not in told
    assert "Being read" not in told


def test_what_no_tool_could_give_is_merely_missing() -> None:
    alone = replace(SUGGESTED, missing=[MissingArgument("write", "to", [])])

    assert "Missing: write_to, to be given by `inputs`." in words(replace(MADE, suggested=alone))


def test_one_that_is_not_kept_is_run_as_a_plan() -> None:
    assert words(replace(MADE, id=None)).endswith("To run it, run_workflow(plan={…}).")


def test_where_there_is_none_it_says_how_to_go_on() -> None:
    none = replace(MADE, id=None, mode=Mode.EXPLICIT_REQUIRED, plan=None, ahead=())

    told = words(none)

    assert told.startswith("No plan is sure enough to be suggested (0.93). As before.")
    assert "search_tools" in told


def test_for_a_program_it_is_all_there() -> None:
    told = MADE.as_json()

    assert (told["suggestion"], told["mode"], told["confidence"]) == (str(ID), "ran_ahead", 0.9346)
    assert (told["staged"], told["ran_ahead"]) == (["write"], ["read"])
    assert told["missing"] == [
        {"step": "write", "parameter": "to", "input": "write_to", "could_give": ["files.list"]}
    ]
    assert told["expires_at"] == BEGINNING.isoformat()
    assert replace(MADE, id=None, expires_at=None).as_json()["suggestion"] is None
