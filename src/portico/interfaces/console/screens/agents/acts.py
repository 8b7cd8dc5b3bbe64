"""What somebody does with agents: make, change, copy, take back, remove, try."""

from starlette.requests import Request
from starlette.responses import Response

from portico.agents.core.agents import Agent
from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, part, wants_part
from portico.interfaces.console.page import once as another
from portico.interfaces.console.screens.agents.draft import LONGEST, Draft, draft_of_form
from portico.interfaces.console.screens.agents.forms import Asked, new_page, one_page, tried
from portico.interfaces.console.screens.agents.reading import seat
from portico.interfaces.console.screens.agents.rows import path_of
from portico.interfaces.console.screens.chat.acts import said_part, trouble_part
from portico.interfaces.console.screens.chat.reading import run_named
from portico.interfaces.console.screens.chat.talking import LONGEST as LONGEST_MESSAGE
from portico.interfaces.console.screens.chat.talking import Heard, begun, said_to
from portico.kernel.errors import PorticoError


async def make(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    draft = draft_of_form(form)
    if (asked := _only_looks(form)) is not None:
        return await new_page(request, draft, None, asked)
    try:
        path = await _made(desk, draft, form.once)
    except PorticoError as problem:
        return await new_page(request, draft, problem)
    return done(path, "made")


async def _made(desk: Desk, draft: Draft, once: str | None) -> str:
    """Where it is then. Raises what making one raises."""
    caller, use = seat(desk, once or another(desk)), desk.house.agents

    async def action() -> Answer:
        spec = await use.check_agent.read(caller, draft.as_json())
        return Answer({"path": path_of(await use.create_agent(caller, spec))})

    ask = Ask("agents.make", draft.as_json(), once)
    return str((await desk.house.use.do_once(desk.caller, ask, action)).body["path"])


async def change(request: Request) -> Response:
    """Save: as the next version, if nobody has saved another since this one was read."""
    desk, name, form = desk_of(request), request.path_params["name"], await form_of(request)
    draft = draft_of_form(form)
    if (asked := _only_looks(form)) is not None:
        return await one_page(request, draft, None, asked)
    caller, use = seat(desk, name), desk.house.agents
    try:
        was = form.whole("was", least=1)
        spec = await use.check_agent.read(caller, draft.as_json())
        changed = await use.change_agent(caller, name, spec, was=was)
    except PorticoError as problem:
        return await one_page(request, draft, problem)
    run = form.maybe("try", most=60)
    to = path_of(changed) + (f"?try={run_named(run)}" if run else "")
    return done(to, "same" if changed.version == was else "saved")


async def bring_in(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    try:
        text, instead = form.text("toml", most=LONGEST), form.ticked("replace")
        caller = seat(desk, form.once or another(desk))
        made = await desk.house.agents.import_agent(caller, text, replace=instead)
    except PorticoError as problem:
        return await new_page(request, None, problem)
    return done(path_of(made), "made")


async def restore(request: Request) -> Response:
    desk, name, form = desk_of(request), request.path_params["name"], await form_of(request)
    number = form.whole("version", least=1) or 1
    restored = await desk.house.agents.restore_version(seat(desk, name), name, number)
    return done(path_of(restored), "restored")


async def duplicate(request: Request) -> Response:
    desk, name, form = desk_of(request), request.path_params["name"], await form_of(request)
    try:
        new_name = form.text("new_name", most=60)
        made = await desk.house.agents.duplicate_agent(seat(desk, name), name, new_name)
    except PorticoError as problem:
        return await one_page(request, None, problem)
    return done(path_of(made), "duplicated")


async def remove(request: Request) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    await desk.house.agents.remove_agent(seat(desk, name), name)
    return done("/agents", "removed")


async def try_it(request: Request) -> Response:
    """A run of the agent as it is saved, in the pane beside its form."""
    desk, name, form = desk_of(request), request.path_params["name"], await form_of(request)
    agent = await desk.house.agents.show_agent(seat(desk, name), name)
    try:
        message = form.text("message", most=LONGEST_MESSAGE)
        heard = await _heard(desk, agent, message, form)
    except PorticoError as problem:
        if not wants_part(request):
            return await one_page(request, None, problem)
        return trouble_part(request, problem, at="#try .agents-talk")
    if not wants_part(request):
        return done(f"{path_of(agent)}?try={heard.run}")
    if heard.number is not None:
        return said_part(request, heard.run, heard.number, message)
    return part(request, "agents/_try.html", await tried(desk, agent, str(heard.run)))


async def _heard(desk: Desk, agent: Agent, message: str, form: Form) -> Heard:
    run = form.maybe("run", most=60)
    if run is not None and not form.ticked("anew"):
        return await said_to(desk, run_named(run), message, once=form.once)
    return Heard(await begun(desk, str(agent.id), message, once=form.once))


def _only_looks(form: Form) -> Asked | None:
    """Whether the form is only to be drawn again: with what is looked for, or with the tools of one
    more server."""
    opened = form.many("opened", most=200)
    more = form.many("open", most=1)
    find = form.maybe("find", most=100) or ""
    if more or form.ticked("look"):
        return Asked(find, [*opened, *more])
    return None
