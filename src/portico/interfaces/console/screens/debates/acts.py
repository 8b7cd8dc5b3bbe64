"""What is done with a debate: stopped, shared, asked to be read by more, marked, removed."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.debate.core.debates import DebateId, OutcomeWish
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done
from portico.interfaces.console.screens.debates.look import debate_at, drawn
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

_DOES: Final = ("stop", "share", "promote", "outcome", "remove")
_WAYS: Final = ("right", "wrong", "answer")


async def act(request: Request) -> Response:
    """One of a few; a refusal is shown on the page of the debate."""
    desk, which, form = desk_of(request), debate_at(request), await form_of(request)
    does = form.one_of("do", _DOES)
    try:
        told = await _done(desk, which, form, does)
    except PorticoError as problem:
        return await drawn(
            request, desk, which, problem, {"note": form.fields.get("note", [""])[0]}
        )
    return done("/debates" if does == "remove" else f"/debates/{which}", told)


async def _done(desk: Desk, which: DebateId, form: Form, does: str) -> str:
    use, caller = desk.house.debates, desk.caller
    match does:
        case "stop":
            await use.stop_debate(caller, which)
            return "stopped"
        case "share":
            await use.share_debate(caller, which)
            return "shared"
        case "promote":
            await use.promote_debate(caller, which, Label.parse(form.text("to", most=500)))
            return "asked"
        case "outcome":
            await use.mark_outcome(caller, which, outcome_in(form))
            return "marked"
        case _:
            await use.remove_debate(caller, which)
            return "removed"


def outcome_in(form: Form) -> OutcomeWish:
    """Raises `BadForm`."""
    note = form.maybe("note", most=2_000) or ""
    match form.one_of("way", _WAYS):
        case "answer":
            answer = form.maybe("answer", most=2_000)
            if answer is None:
                raise BadForm("answer", "must say which answer is right")
            return OutcomeWish(answer=answer, note=note)
        case way:
            return OutcomeWish(right=way == "right", note=note)


routes: Final = [Route("/debates/{debate}", act, methods=["POST"])]
