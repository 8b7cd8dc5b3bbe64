"""The form that starts a debate, and what it would cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message, MessageId
from portico.bridge.core.projects import Project
from portico.debate.core.debates import DebateSpec, Estimate
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.bridge.panes import choices_of, read_at
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.label import PUBLIC, Label, join

KINDS: Final[Mapping[str, str]] = {
    "": "by its words",
    str(QuestionKind.YES_NO): "yes or no",
    str(QuestionKind.CHOICE): "one of the options",
    str(QuestionKind.NUMBER): "a number",
    str(QuestionKind.TEXT): "something short",
    str(QuestionKind.OPEN): "open: a text",
}
PRESETS: Final[Mapping[str, str]] = {
    "": "auto: by the kind of the question",
    str(Preset.VOTE): "vote: blind answers, weighed",
    str(Preset.DEBATE): "debate: and one round of critique",
    str(Preset.QUORUM): "quorum: two thirds, two families, vetoes",
}
MINUTES: Final[Mapping[str, str]] = {
    "": "as usual",
    "1": "a minute",
    "5": "5 minutes",
    "15": "15 minutes",
    "60": "an hour",
    "1440": "a day",
}
_MATERIAL: Final = 400_000
_MOST: Final = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """As it stands in the form, whether it can be debated or not."""

    question: str = ""
    choices: str = ""
    kind: str = ""
    preset: str = ""
    thoroughness: str = "0.5"
    debaters: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tokens: str = ""
    money: str = ""
    minutes: str = ""
    guests: str = ""
    project: str = ""
    memory: str = ""
    material: str = ""
    label: str = ""
    shared: bool = False
    unbounded: bool = False
    analyze: bool = False
    conversation: str = ""
    message: str = ""

    @property
    def more(self) -> bool:
        """Whether something of what is folded away was filled in."""
        rare = (self.kind, self.minutes, self.guests, self.memory, self.material, self.money)
        return any(rare) or self.unbounded


def typed_in(form: Form) -> Typed:
    def one(name: str) -> str:
        return form.fields.get(name, [""])[0]

    return Typed(
        question=one("question"),
        choices=one("choices"),
        kind=one("kind"),
        preset=one("preset"),
        thoroughness=one("thoroughness") or "0.5",
        debaters=tuple(form.fields.get("voices", ())),
        roles=tuple(form.fields.get("roles", ())),
        tokens=one("tokens"),
        money=one("money"),
        minutes=one("minutes"),
        guests=one("guests"),
        project=one("project"),
        memory=one("memory"),
        material=one("material"),
        label=one("label"),
        shared=bool(one("shared")),
        unbounded=bool(one("unbounded")),
        analyze=bool(one("analyze")),
        conversation=one("conversation"),
        message=one("message"),
    )


def wish_of(form: Form, least: Label, usual: Cap, *, once: bool = True) -> DebateSpec:
    """`least`: how secret what it was taken from is. `usual`: what may be spent where nothing is
    said of it. Raises `InvalidForm`, `InvalidLabel`."""
    kind, preset = _one(form, "kind", KINDS), _one(form, "preset", PRESETS)
    minutes, label = _one(form, "minutes", MINUTES), form.maybe("label", most=500)
    return DebateSpec(
        question=form.maybe("question", most=20_000) or "",
        kind=QuestionKind(kind) if kind else None,
        choices=tuple(_lines(form, "choices")),
        debaters=tuple(form.many("voices", most=_MOST)),
        roles=tuple(form.many("roles", most=_MOST)),
        preset=Preset(preset) if preset else None,
        thoroughness=_share(form),
        cap=_cap(form, usual),
        deadline=timedelta(minutes=int(minutes)) if minutes else None,
        guests=form.whole("guests", most=_MOST) or 0,
        project=form.maybe("project", most=100),
        memory=tuple(_lines(form, "memory")),
        material=form.maybe("material", most=_MATERIAL) or "",
        label=join([least, Label.parse(label)]) if label else least,
        shared=form.ticked("shared"),
        unbounded=form.ticked("unbounded"),
        analyze=form.ticked("analyze"),
        key=form.once if once else None,
    )


def amount(form: Form, name: str) -> Decimal | None:
    """US dollars. Raises `InvalidForm`."""
    text = form.maybe(name, most=20)
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise InvalidForm(name, "must be an amount such as 0.50") from error
    if not value.is_finite() or not 0 <= value < 10**9:
        raise InvalidForm(name, "must be an amount such as 0.50")
    return value


def share(text: str | None, name: str) -> float | None:
    """Raises `InvalidForm`."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise InvalidForm(name, "must be a number from 0 to 1") from error
    if not 0 <= value <= 1:
        raise InvalidForm(name, "must be a number from 0 to 1")
    return value


def _share(form: Form) -> float | None:
    return share(form.maybe("thoroughness", most=10), "thoroughness")


def _cap(form: Form, usual: Cap) -> Cap:
    tokens, money = form.whole("tokens", most=10**9), amount(form, "money")
    return Cap(
        tokens=usual.tokens if tokens is None else tokens,
        money=usual.money if money is None else money,
    )


def _lines(form: Form, name: str) -> list[str]:
    text = form.maybe(name, most=60_000) or ""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _one(form: Form, name: str, choices: Mapping[str, str]) -> str:
    """Nothing is also one of them; anything that is not offered is refused."""
    return form.one_of(name, [*choices]) if form.maybe(name, most=40) else ""


_PROJECTS: Final = 100
_QUESTION: Final = 2_000


async def show(request: Request) -> Response:
    desk, asked = page_context(request), request.query_params
    require_scope(desk.caller, Scope.DEBATES_RUN)
    typed = Typed(
        question=asked.get("question", "")[:_QUESTION],
        project=asked.get("project", "")[:100],
        conversation=asked.get("conversation", "")[:100],
        message=asked.get("message", "")[:100],
    )
    return await _drawn(request, desk, await _from_talk(desk, typed))


async def start(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    typed = typed_in(form)
    try:
        least = await _least(desk, typed)
        debates = desk.services.debates
        wish = wish_of(form, least, debates.usual_cap)
        started = await debates.start_debate(desk.caller, wish)
    except PorticoError as problem:
        return await _drawn(request, desk, typed, problem)
    return done(f"/debates/{started.debate.id}")


async def estimate(request: Request) -> Response:
    """What it would cost; what is missing yet is said in the same place."""
    desk, form = page_context(request), await form_of(request)
    found: Estimate | None = None
    problem: PorticoError | None = None
    try:
        least = await _least(desk, typed_in(form))
        debates = desk.services.debates
        wish = wish_of(form, least, debates.usual_cap, once=False)
        found = await debates.estimate_debate(desk.caller, wish)
    except PorticoError as error:
        problem = error
    values = {"estimate": found, "problem": problem, "kinds": KINDS}
    return part(request, "debates/_estimate.html", values)


async def _drawn(
    request: Request, desk: PageContext, typed: Typed, problem: PorticoError | None = None
) -> Response:
    projects = await _projects(desk)
    least = await _least(desk, typed)
    project = next((each for each in projects if str(each.id) == typed.project), None)
    read = PUBLIC if project is None else await read_at(desk, project.id)
    inside = join([least, PUBLIC if project is None else project.label])
    values: dict[str, Any] = {
        "typed": typed,
        "problem": problem,
        "projects": projects,
        "voices": await desk.services.debates.list_voices(desk.caller),
        "personas": await desk.services.debates.personas.all(desk.caller),
        "kinds": KINDS,
        "presets": PRESETS,
        "minutes": MINUTES,
        "labels": choices_of(inside, read, desk.caller.clearance),
        "inside": inside,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "debates/new.html", values, title="New debate", status=status)


async def _projects(desk: PageContext) -> Sequence[Project]:
    if not desk.caller.may(Scope.BRIDGE_READ):
        return ()
    return await desk.services.bridge.talk.list_projects(desk.caller, limit=_PROJECTS)


async def _from_talk(desk: PageContext, typed: Typed) -> Typed:
    """With what a conversation or one of its messages says, to be changed by whoever asks."""
    its, message = await _asked_about(desk, typed)
    if its is None:
        return typed
    question = its.title if message is None else message.body
    return Typed(
        question=typed.question or question[:_QUESTION],
        project=str(its.project),
        conversation=typed.conversation,
        message=typed.message,
    )


async def _least(desk: PageContext, typed: Typed) -> Label:
    """As secret as where it was taken from, whatever was made of it since."""
    its, message = await _asked_about(desk, typed)
    labels = [each.label for each in (its, message) if each is not None]
    return join(labels)


async def _asked_about(
    desk: PageContext, typed: Typed
) -> tuple[Conversation | None, Message | None]:
    """Raises `ConversationNotFound`, `MessageNotFound`, `InvalidId`."""
    if not typed.conversation:
        return None, None
    use = desk.services.bridge.talk
    its = await use.show_conversation(desk.caller, ConversationId.parse(typed.conversation))
    if not typed.message:
        return its, None
    return its, await use.show_message(desk.caller, MessageId.parse(typed.message))


routes: Final = [
    Route("/debates/new", show, methods=["GET"]),
    Route("/debates/new", start, methods=["POST"]),
    Route("/debates/estimate", estimate, methods=["POST"]),
]
