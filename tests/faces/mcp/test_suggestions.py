"""What a model wants, said over MCP: it is suggested a plan, runs it, and judges it."""

from typing import Any

import pytest

from portico.faces.mcp.workflows import SUGGESTION_META
from portico.gateway.core.suggest.kept_suggestion import SuggestionId
from portico.gateway.core.suggest.threshold import Outcome
from portico.gateway.workflows.run_workflow import RunWorkflowWish
from tests.faces.mcp.gateway import RUN, Site
from tests.faces.mcp.test_calls import call, text
from tests.faces.mcp.test_workflows import DONE, PLAN
from tests.gateway.core.test_suggestion_words import ID, MADE


async def test_an_intent_alone_is_answered_by_a_plan(site: Site) -> None:
    site.gateway.suggestions = [MADE]

    result = await call(site, "run_workflow", {"intent": "copy it"})

    assert text(result).startswith("Suggested (0.93 sure).")
    assert not result.get("isError")
    assert result["_meta"][SUGGESTION_META]["suggestion"] == str(ID)
    assert site.gateway.asked == [("suggest", "ana", "copy it")]


@pytest.mark.parametrize(
    ("given", "wish"),
    [
        (
            {"suggestion": str(ID), "inputs": {"to": "/b"}},
            RunWorkflowWish(suggestion=ID, inputs={"to": "/b"}, accept=[]),
        ),
        (
            {"plan": PLAN, "intent": "look"},
            RunWorkflowWish(plan=PLAN, intent="look", accept=[]),
        ),
    ],
)
async def test_what_is_to_be_run_is_run(
    site: Site, given: dict[str, Any], wish: RunWorkflowWish
) -> None:
    site.gateway.reports = [DONE]

    await call(site, "run_workflow", given)

    assert site.gateway.asked[0] == ("workflow", "ana", wish)


async def test_what_is_no_suggestion_is_not_looked_for(site: Site) -> None:
    result = await call(site, "run_workflow", {"suggestion": "the first"})

    assert result["isError"]
    assert "bad_id" in text(result)
    assert site.gateway.asked == []


@pytest.mark.parametrize("of", [ID, RUN])
async def test_what_it_was_worth_is_noted(site: Site, of: SuggestionId) -> None:
    result = await call(site, "feedback", {"run": str(of), "outcome": "modified"})

    assert text(result) == f"{of} is noted as modified."
    assert site.gateway.asked == [("feedback", "ana", str(of), Outcome.MODIFIED)]


@pytest.mark.parametrize("outcome", ["unclaimed", "fine", None])
async def test_other_words_are_refused(site: Site, outcome: str | None) -> None:
    result = await call(site, "feedback", {"run": str(ID), "outcome": outcome})

    assert result["isError"]
    assert site.gateway.asked == []
