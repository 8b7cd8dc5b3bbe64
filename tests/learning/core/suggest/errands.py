"""A few tools, and what was done with them before: for tests of suggestions."""

from collections.abc import Mapping, Sequence

from portico.kernel.effect import Effect
from portico.learning.core.dataflow_fields import Parameter
from portico.learning.core.intents import Kind, Offered
from portico.learning.core.past_plans import (
    FromIntent,
    Near,
    PastPlan,
    PastStep,
    Searched,
    SuggestionRequest,
)
from portico.workflows.core.plan import Reference

READ, SEND, LIST, SIGN = "fs.read_file", "mail.send", "fs.list", "mail.sign_in"


def wanted(name: str, kind: str | None = "string", *, required: bool = True) -> Parameter:
    return Parameter(name=name, type=kind, required=required)


def a_tool(tool: str, effect: Effect, *parameters: Parameter) -> Offered:
    return Offered(tool=tool, effect=effect, parameters=parameters)


TOOLS: Mapping[str, Offered] = {
    each.tool: each
    for each in (
        a_tool(READ, Effect.LOCAL_READ, wanted("path")),
        a_tool(SEND, Effect.EXTERNAL_WRITE, wanted("recipient"), wanted("body")),
        a_tool(LIST, Effect.LOCAL_READ, wanted("path")),
        a_tool(SIGN, Effect.LOCAL_READ),
    )
}

READ_AND_SEND = PastPlan(
    id="pln_1",
    steps=(
        PastStep("s1", READ, {"path": FromIntent(Kind.PATH, 0)}),
        PastStep(
            "s2",
            SEND,
            {"recipient": FromIntent(Kind.EMAIL, 0), "body": Reference("s1", "text")},
        ),
    ),
    times=4,
)
INTENT = "Read /srv/b.md and send it to bob@example.com"
WHOLE = Searched(INTENT, {READ: 0.5, SEND: 0.3, LIST: 0.1})
PARTS = (
    Searched("Read /srv/b.md", {READ: 0.7, LIST: 0.2}),
    Searched("send it to bob@example.com", {SEND: 0.9}),
)


def asked(
    *plans: tuple[PastPlan, float],
    intent: str = INTENT,
    searched: Sequence[Searched] = (WHOLE, *PARTS),
) -> SuggestionRequest:
    near = [Near(plan, similarity) for plan, similarity in plans]
    return SuggestionRequest(intent=intent, searched=searched, near=near)


def a_plan(name: str, *tools: str, times: int = 1, rejected: int = 0) -> PastPlan:
    """One after the other."""
    steps = [
        PastStep(f"s{number}", tool, {}, (f"s{number - 1}",) if number else ())
        for number, tool in enumerate(tools)
    ]
    return PastPlan(id=name, steps=steps, times=times, rejected=rejected)
