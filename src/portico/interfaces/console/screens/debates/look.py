"""One debate, looked at: its page and its board, which is drawn anew while it goes on."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from portico.debate.core.debates import Debate, DebateId
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Preset
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.page import page
from portico.interfaces.console.screens.bridge.standing import lower_than
from portico.interfaces.console.screens.debates.board import board_of, may_of, outcome_words
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import BadId
from portico.kernel.label import PUBLIC

_SAID: Final = {
    "stopped": "Nobody else is asked. It ends in a moment, with what was said by now.",
    "shared": "Those of its project who are cleared for it can read it now.",
    "marked": "Marked. What its voices weigh from now on is learnt from it.",
    "asked": "Asked for. Somebody else has to say yes: it waits under Approvals.",
    "seated": "You have a seat.",
    "answered": "Your answer is in.",
}


def debate_at(request: Request) -> DebateId:
    """The one in the address. Raises `DebateNotFound`."""
    which = request.path_params["debate"]
    try:
        return DebateId.parse(which)
    except BadId as error:
        raise DebateNotFound(which) from error


async def board_values(desk: Desk, which: DebateId) -> dict[str, Any]:
    """Raises `NotPermitted`, `DebateNotFound`."""
    look = desk.house.debates.look
    whole = await look.one(desk.caller, which)
    its = whole.debate
    parts = await look.parts(desk.caller, which) if its.analysis else ()
    outcomes = await look.turned_out(desk.caller, which) if its.status.over else ()
    board = board_of(whole, parts, desk.now)
    return {
        "debate": its,
        "board": board,
        "may": may_of(its, desk.caller, board),
        "outcome": outcome_words(outcomes),
        "outcomes": outcomes,
        "lower_to": lower_than(its.label, PUBLIC),
        "presets": [str(each) for each in Preset],
        "project_name": await _project(desk, its),
        "replayed": None,
        "asked": {},
    }


async def drawn(
    request: Request,
    desk: Desk,
    which: DebateId,
    problem: PorticoError | None = None,
    more: Mapping[str, object] | None = None,
) -> Response:
    """`more`: what was asked for on this page, and what came of it."""
    values: dict[str, Any] = {
        **await board_values(desk, which),
        "problem": problem,
        "said": _SAID.get(request.query_params.get("done", "")),
        "seat": None,
        "typed": {},
        **(more or {}),
    }
    status = 200 if problem is None else status_of(problem)
    title = " ".join(values["debate"].question.text.split())[:80]
    return await page(request, "debates/debate.html", values, title=title, status=status)


async def _project(desk: Desk, its: Debate) -> str | None:
    """Its name, for whoever may know it."""
    if its.project is None or not desk.caller.may(Scope.BRIDGE_READ):
        return None
    try:
        found = await desk.house.bridge.talk.show_project(desk.caller, its.project)
    except PorticoError:
        return None
    return found.name
