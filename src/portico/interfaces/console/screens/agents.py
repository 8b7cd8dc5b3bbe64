"""Agents: list, form, versions, and a chat to try one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.agents import Agent, AgentFilter, AgentSpec, AgentVersion, Change, ToolMode
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.traces import RunTrace, TraceFilter
from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.core.principals import Scope
from portico.interfaces.console.formatting import NOTHING, as_json
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part, wants_part
from portico.interfaces.console.page import once as another
from portico.interfaces.console.screens.agent_form import (
    LONGEST,
    Draft,
    ModelsView,
    draft_of_form,
    draft_of_spec,
    live,
    newest,
    path_of,
    rows_of,
    tree_of,
    wrong_at,
)
from portico.interfaces.console.screens.chat import LONGEST as LONGEST_MESSAGE
from portico.interfaces.console.screens.chat import (
    MessageDelivery,
    Thread,
    begun,
    run_named,
    said_part,
    said_to,
    thread_of,
    trouble_part,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import FieldError, PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.label import LEVELS
from portico.kernel.principal import Principal

_RUNS: Final = 100


def seat(desk: PageContext, name: str) -> Principal:
    """Whoever looks at one agent, at a task of its own: an agent must not be less secret than what
    was read where it is made, and what was read elsewhere does not matter for it."""
    return desk.at(f"agent {name}")


async def book_of(desk: PageContext) -> ModelsView:
    if not desk.caller.may(Scope.MODELS_READ):
        return ModelsView({}, {})
    models = desk.services.models
    return ModelsView.of(
        await models.list_models(desk.caller), await models.list_providers(desk.caller)
    )


async def tools_of(desk: PageContext) -> Sequence[Tool]:
    if not desk.caller.may(Scope.SERVERS_READ):
        return []
    return live(await desk.services.gateway.list_tools(desk.caller))


async def last_runs(desk: PageContext, agents: Sequence[Agent]) -> Mapping[str, RunTrace]:
    """Of those that the caller may see; the newest of all at once, the rest one by one."""
    caller, listed = desk.at("agents"), desk.services.agents.list_traces
    found = dict(newest(await listed(caller, TraceFilter(), before=None, limit=_RUNS)))
    if sum(1 for _ in found) == 0:
        return {}
    for name in [each.name for each in agents if each.name not in found]:
        its = await listed(caller, TraceFilter(agent=name), before=None, limit=1)
        found |= newest(its)
    return found


_USUAL: Final = AgentSpec(name="", model="")
_SAID: Final = {
    "made": "The agent is there. Try it on the right.",
    "saved": "Saved as another version.",
    "same": "Nothing was changed, so there is no other version.",
    "restored": "It is as it was at that version, which made another one.",
    "duplicated": "This is the other one, alike but for its name.",
}


class FormAction:
    """What a form asks for beside being saved: to look for tools, to open a server's."""

    def __init__(self, find: str = "", opened: Sequence[str] = ()) -> None:
        self.find = find
        self.opened = opened


async def new_page(
    request: Request,
    draft: Draft | None = None,
    problem: PorticoError | None = None,
    asked: FormAction | None = None,
) -> Response:
    desk = page_context(request)
    templates = desk.services.agents.list_templates()
    chosen = request.query_params.get("from", "")
    template = next((each for each in templates if each.name == chosen), None)
    book, tools = await book_of(desk), await tools_of(desk)
    if draft is None:
        spec = _USUAL if template is None else template.spec
        draft = draft_of_spec(spec, {str(each.ref) for each in tools}, book.first)
    values = {
        **_form(desk, (book, tools), draft, problem, asked),
        "templates": templates,
        "chosen": chosen,
        "action": "/agents/new",
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "agents/new.html", values, title="New agent", status=status)


async def one_page(
    request: Request,
    draft: Draft | None = None,
    problem: PorticoError | None = None,
    asked: FormAction | None = None,
) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    caller = seat(desk, name)
    agent = await desk.services.agents.show_agent(caller, name)
    book, tools = await book_of(desk), await tools_of(desk)
    shown = draft or draft_of_spec(agent.spec, {str(each.ref) for each in tools})
    values = {
        **_form(desk, (book, tools), shown, problem, asked),
        **await tried(desk, agent, request.query_params.get("try")),
        "action": path_of(agent),
        "warnings": await _warnings(desk, agent),
        "said": _SAID.get(request.query_params.get("done", "")),
        "base_url": desk.services.use.base_url,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "agents/agent.html", values, title=agent.name, status=status)


async def tried(desk: PageContext, agent: Agent, run: str | None) -> dict[str, Any]:
    """What the chat beside the form is drawn with."""
    thread: Thread | None = None
    if run is not None:
        try:
            thread = await thread_of(desk, run_named(run))
        except AgentRunNotFound:
            thread = None
    return {
        "agent": agent,
        "path": path_of(agent),
        "thread": thread,
        "head": None if thread is None else thread.head,
        "pane": True,
    }


def _form(
    desk: PageContext,
    known: tuple[ModelsView, Sequence[Tool]],
    draft: Draft,
    problem: PorticoError | None,
    asked: FormAction | None,
) -> dict[str, Any]:
    (book, tools), wanted = known, asked or FormAction()
    flaws: Sequence[FieldError] = () if problem is None else problem.field_errors
    wrong: Mapping[str, Sequence[str]] = wrong_at(flaws, draft)
    labels = [name for name, level in LEVELS.items() if level <= desk.caller.clearance.level]
    return {
        "draft": draft,
        "problem": problem,
        "wrong": wrong,
        "groups": book.groups(draft.model),
        "health": book.health(draft.model),
        "tree": tree_of(tools, draft.tools, draft.patterns, find=wanted.find, opened=wanted.opened),
        "find": wanted.find,
        "opened": wanted.opened,
        "labels": list(dict.fromkeys([*labels, *([draft.label] if draft.label else [])])),
        "modes": list(ToolMode),
        "may_write": desk.caller.may(Scope.AGENTS_WRITE),
    }


async def _warnings(desk: PageContext, agent: Agent) -> Sequence[FieldError]:
    return await desk.services.agents.check_agent.warnings(seat(desk, agent.name), agent.spec)


async def make(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    draft = draft_of_form(form)
    if (asked := _only_looks(form)) is not None:
        return await new_page(request, draft, None, asked)
    try:
        path = await _made(desk, draft, form.once)
    except PorticoError as problem:
        return await new_page(request, draft, problem)
    return done(path, "made")


async def _made(desk: PageContext, draft: Draft, once: str | None) -> str:
    """Where it is then. Raises what making one raises."""
    caller, use = seat(desk, once or another(desk)), desk.services.agents

    async def action() -> StoredResponse:
        spec = await use.check_agent.read(caller, draft.as_json())
        return StoredResponse({"path": path_of(await use.create_agent(caller, spec))})

    ask = WriteRequest("agents.make", draft.as_json(), once)
    return str((await desk.services.use.do_once(desk.caller, ask, action)).body["path"])


async def change(request: Request) -> Response:
    """Save: as the next version, if nobody has saved another since this one was read."""
    desk, name, form = page_context(request), request.path_params["name"], await form_of(request)
    draft = draft_of_form(form)
    if (asked := _only_looks(form)) is not None:
        return await one_page(request, draft, None, asked)
    caller, use = seat(desk, name), desk.services.agents
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
    desk, form = page_context(request), await form_of(request)
    try:
        text, instead = form.text("toml", most=LONGEST), form.ticked("replace")
        caller = seat(desk, form.once or another(desk))
        made = await desk.services.agents.import_agent(caller, text, replace=instead)
    except PorticoError as problem:
        return await new_page(request, None, problem)
    return done(path_of(made), "made")


async def restore(request: Request) -> Response:
    desk, name, form = page_context(request), request.path_params["name"], await form_of(request)
    number = form.whole("version", least=1) or 1
    restored = await desk.services.agents.restore_version(seat(desk, name), name, number)
    return done(path_of(restored), "restored")


async def duplicate(request: Request) -> Response:
    desk, name, form = page_context(request), request.path_params["name"], await form_of(request)
    try:
        new_name = form.text("new_name", most=60)
        made = await desk.services.agents.duplicate_agent(seat(desk, name), name, new_name)
    except PorticoError as problem:
        return await one_page(request, None, problem)
    return done(path_of(made), "duplicated")


async def remove(request: Request) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    await desk.services.agents.remove_agent(seat(desk, name), name)
    return done("/agents", "removed")


async def try_it(request: Request) -> Response:
    """A run of the agent as it is saved, in the pane beside its form."""
    desk, name, form = page_context(request), request.path_params["name"], await form_of(request)
    agent = await desk.services.agents.show_agent(seat(desk, name), name)
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


async def _heard(desk: PageContext, agent: Agent, message: str, form: Form) -> MessageDelivery:
    run = form.maybe("run", most=60)
    if run is not None and not form.ticked("anew"):
        return await said_to(desk, run_named(run), message, once=form.once)
    return MessageDelivery(await begun(desk, str(agent.id), message, once=form.once))


def _only_looks(form: Form) -> FormAction | None:
    """Whether the form is only to be drawn again: with what is looked for, or with the tools of one
    more server."""
    opened = form.many("opened", most=200)
    more = form.many("open", most=1)
    find = form.maybe("find", most=100) or ""
    if more or form.ticked("look"):
        return FormAction(find, [*opened, *more])
    return None


@dataclass(frozen=True, slots=True)
class Line:
    sign: str
    """`+` came, `-` went, `…` is a place further down; else it stayed."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    field: str
    before: str
    after: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    number: int
    by: str
    at: datetime
    model: str
    latest: bool


@dataclass(frozen=True, slots=True)
class Versions:
    found: tuple[Version, ...]
    changes: tuple[Changed, ...]


def versions_of(found: Sequence[AgentVersion], changes: Sequence[Change]) -> Versions:
    latest = max((each.number for each in found), default=0)
    return Versions(
        tuple(
            Version(
                number=each.number,
                by=each.by_name,
                at=each.at,
                model=each.spec.model,
                latest=each.number == latest,
            )
            for each in found
        ),
        tuple(
            Changed(
                field=each.field,
                before=_text(each.before),
                after=_text(each.after),
                lines=tuple(_line(line) for line in each.lines[1:]),
            )
            for each in changes
        ),
    )


def _line(line: str) -> Line:
    """The first of them only says where it begins."""
    if line.startswith("@@"):
        return Line("…", "")
    return Line(line[:1] if line[:1] in {"+", "-"} else " ", line[1:])


def _text(value: JsonValue) -> str:
    match value:
        case None | "" | []:
            return NOTHING
        case str():
            return value
        case list() | tuple():
            return "\n".join(str(each) for each in value)
        case _:
            return as_json(value)


_PAGE: Final = 30
_SAID_IN_LIST: Final = {"removed": "The agent is gone. Its runs stay on the record."}


async def show(request: Request) -> Response:
    desk, asked = page_context(request), request.query_params
    text = asked.get("q", "").strip()[:200]
    found = await desk.services.agents.list_agents(
        desk.caller, AgentFilter(text=text or None), after=asked.get("after"), limit=_PAGE
    )
    last = await last_runs(desk, found) if found else {}
    values: dict[str, Any] = {
        "rows": rows_of(found, await book_of(desk), await tools_of(desk), last),
        "next": found[-1].name if len(found) == _PAGE else None,
        "text": text,
        "first": asked.get("after") is None,
        "templates": desk.services.agents.list_templates(),
        "said": _SAID_IN_LIST.get(asked.get("done", "")),
    }
    return await page(request, "agents/page.html", values, title="Agents")


async def show_new(request: Request) -> Response:
    return await new_page(request)


async def show_one(request: Request) -> Response:
    return await one_page(request)


async def show_versions(request: Request) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    caller, agents = seat(desk, name), desk.services.agents
    agent = await agents.show_agent(caller, name)
    found = await agents.list_versions(caller, name)
    numbers = [each.number for each in found]
    to = _number(request, "to", numbers[0] if numbers else 0)
    since = _number(request, "from", next((each for each in numbers if each < to), to))
    changes = await agents.diff_versions(caller, name, since, to) if numbers else []
    values = {
        "agent": agent,
        "path": path_of(agent),
        "versions": versions_of(found, changes),
        "since": since,
        "to": to,
    }
    title = f"Versions of {agent.name}"
    return await page(request, "agents/versions.html", values, title=title)


async def export(request: Request) -> Response:
    desk, name = page_context(request), request.path_params["name"]
    caller = seat(desk, name)
    agent = await desk.services.agents.show_agent(caller, name)
    text = await desk.services.agents.export_agent(caller, name)
    headers = {"Content-Disposition": f'attachment; filename="{agent.name}.toml"'}
    return Response(text.encode(errors="replace"), headers=headers, media_type="application/toml")


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else usual


routes: Final = [
    Route("/agents", show, methods=["GET"]),
    Route("/agents/new", show_new, methods=["GET"]),
    Route("/agents/new", make, methods=["POST"]),
    Route("/agents/import", bring_in, methods=["POST"]),
    Route("/agents/{name}", show_one, methods=["GET"]),
    Route("/agents/{name}", change, methods=["POST"]),
    Route("/agents/{name}/versions", show_versions, methods=["GET"]),
    Route("/agents/{name}/export", export, methods=["GET"]),
    Route("/agents/{name}/restore", restore, methods=["POST"]),
    Route("/agents/{name}/duplicate", duplicate, methods=["POST"]),
    Route("/agents/{name}/remove", remove, methods=["POST"]),
    Route("/agents/{name}/try", try_it, methods=["POST"]),
]
