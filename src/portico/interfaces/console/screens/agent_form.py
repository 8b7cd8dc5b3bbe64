"""The form of an agent: what was typed, models and tools to choose from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.agents import Agent, AgentSpec, Limits, ToolMode
from portico.agents.core.model_requests import ModelInfo, ProviderState, Support
from portico.agents.core.traces import RunTrace
from portico.gateway.catalog import ToolDetails
from portico.gateway.core.catalog_snapshot import Tool, ToolStatus
from portico.guard.core.rules import fits
from portico.interfaces.console.formatting import money, short
from portico.interfaces.console.forms import Form
from portico.interfaces.console.screens.chat_view import STATUSES
from portico.kernel.effect import Effect
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject, JsonValue

_MOST: Final = 400


@dataclass(frozen=True, slots=True)
class Health:
    word: str
    tone: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    provider: str
    health: Health
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class ModelsView:
    """Models and providers, as they were when somebody last asked them."""

    models: Mapping[str, ModelInfo]
    providers: Mapping[str, ProviderState]

    @classmethod
    def of(cls, models: Sequence[ModelInfo], providers: Sequence[ProviderState]) -> "ModelsView":
        return cls(
            {str(each.ref): each for each in models}, {each.name: each for each in providers}
        )

    def health(self, model: str) -> Health:
        provider = self.providers.get(model.partition(":")[0])
        if model in self.models:
            return Health("answers", "ok")
        if not model:
            return Health("none chosen", "")
        if provider is None:
            return Health("no such provider", "bad")
        if not provider.reachable:
            return Health("does not answer", "bad", provider.why or "")
        return Health("not in its list", "warn", "Its provider answers, and does not list it.")

    @property
    def first(self) -> str:
        """What to offer to whoever has not chosen: one that can call tools, if there is one."""
        able = [name for name, each in self.models.items() if each.tools is not Support.NO]
        return next(iter([*able, *self.models]), "")

    def groups(self, chosen: str) -> Sequence[Group]:
        """By provider; what is chosen is there, whether or not it answers."""
        names = list(dict.fromkeys([*self.providers, *(_provider(each) for each in self.models)]))
        if chosen and _provider(chosen) not in names:
            names.append(_provider(chosen))
        return [
            Group(each, self._provider_health(each), self._choices(each, chosen)) for each in names
        ]

    def _provider_health(self, name: str) -> Health:
        state = self.providers.get(name)
        if state is None:
            return Health("no such provider", "bad")
        if not state.reachable:
            return Health("does not answer", "bad", state.why or "")
        return Health("answers", "ok")

    def _choices(self, provider: str, chosen: str) -> tuple[Choice, ...]:
        its = [each for each in self.models.values() if each.ref.provider == provider][:_MOST]
        found = [Choice(str(each.ref), _told(each)) for each in its]
        if _provider(chosen) == provider and chosen not in {each.model for each in found}:
            found.insert(0, Choice(chosen, f"{chosen} · {self.health(chosen).word}"))
        return tuple(found)


def _told(model: ModelInfo) -> str:
    told = [str(model.ref)]
    if model.window is not None:
        told.append(f"{short(model.window)} window")
    if model.tools is Support.NO:
        told.append("no tools")
    if model.local:
        told.append("on this machine")
    elif model.price is not None:
        told.append(f"{money(model.price.input)} in, {money(model.price.output)} out")
    told.append(f"up to {model.clearance}")
    return " · ".join(told)


def _provider(model: str) -> str:
    return model.partition(":")[0]


INLINE: Final = 120
"""Tools that are drawn at once; of more, a server's are drawn when it is opened."""
MOST: Final = 150
"""Of one server that are drawn: beyond that they are looked for."""
_SUMMARY: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    ref: str
    name: str
    summary: str
    tokens: int
    ticked: bool
    chosen: bool
    """By being ticked, or by a pattern."""
    effect: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    server: str
    size: int
    tokens: int
    whole: bool
    chosen: int
    leaves: tuple[Leaf, ...]
    left_out: int
    """Tools that are not drawn."""
    cut: bool
    """They are too many to be drawn at all."""
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    branches: tuple[Branch, ...]
    size: int
    chosen: int
    tokens: int
    """Of all that are chosen."""


def live(looks: Iterable[ToolDetails]) -> Sequence[Tool]:
    return [look.tool for look in looks if look.status is ToolStatus.LIVE]


def tree_of(
    tools: Sequence[Tool],
    ticked: Collection[str],
    patterns: Sequence[str],
    *,
    find: str = "",
    opened: Collection[str] = (),
) -> Tree:
    by_server: dict[str, list[Tool]] = {}
    for tool in tools:
        by_server.setdefault(tool.ref.server, []).append(tool)
    chosen = {str(each.ref) for each in tools if fits(str(each.ref), patterns)}
    few = len(tools) <= INLINE
    branches = [
        _branch(server, its, ticked, chosen, find=find, opened=few or server in opened)
        for server, its in by_server.items()
    ]
    return Tree(
        branches=tuple(branches),
        size=len(tools),
        chosen=len(chosen),
        tokens=sum(each.tokens for each in tools if str(each.ref) in chosen),
    )


def _branch(
    server: str,
    tools: Sequence[Tool],
    ticked: Collection[str],
    chosen: Collection[str],
    *,
    find: str,
    opened: bool,
) -> Branch:
    wanted = find.casefold()
    shown = [
        each
        for each in tools
        if str(each.ref) in ticked or (_found(each, wanted) if wanted else opened)
    ]
    cut = len(shown) > MOST
    if cut:
        shown = [each for at, each in enumerate(shown) if at < MOST or str(each.ref) in ticked]
    its = sum(str(each.ref) in chosen for each in tools)
    return Branch(
        server=server,
        size=len(tools),
        tokens=sum(each.tokens for each in tools),
        whole=f"{server}.*" in ticked,
        chosen=its,
        leaves=tuple(_leaf(each, ticked, chosen) for each in shown),
        left_out=len(tools) - len(shown),
        cut=cut,
        opened=bool(wanted and shown) or (its > 0 and bool(shown)),
    )


def _found(tool: Tool, wanted: str) -> bool:
    return wanted in str(tool.ref).casefold() or wanted in tool.definition.description.casefold()


def _leaf(tool: Tool, ticked: Collection[str], chosen: Collection[str]) -> Leaf:
    ref = str(tool.ref)
    effect, tone = effect_word(tool.effect)
    return Leaf(
        ref=ref,
        name=tool.ref.name,
        summary=" ".join(tool.definition.description.split())[:_SUMMARY],
        tokens=tool.tokens,
        ticked=ref in ticked,
        chosen=ref in chosen,
        effect=effect,
        tone=tone,
    )


def effect_word(effect: Effect) -> tuple[str, str]:
    """What it can do at most, and its tone."""
    if effect.is_read_only:
        return "reads", ""
    return ("cannot be undone", "bad") if effect.destroys else ("writes", "warn")


OURS = frozenset({"new", "import"})
"""Addresses beside those of agents."""


@dataclass(frozen=True, slots=True)
class LastRun:
    run: str
    state: str
    tone: str
    at: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    path: str
    description: str
    model: str
    health: Health
    tools: int
    tokens: int
    version: int
    label: str
    exposed: bool
    last: LastRun | None


def path_of(agent: Agent) -> str:
    """By its name, unless that is an address of ours."""
    return f"/agents/{agent.id if agent.name in OURS else agent.name}"


def rows_of(
    agents: Sequence[Agent], book: ModelsView, tools: Sequence[Tool], last: Mapping[str, RunTrace]
) -> Sequence[Row]:
    return [_row(each, book, tools, last.get(each.name)) for each in agents]


def newest(runs: Iterable[RunTrace]) -> Mapping[str, RunTrace]:
    """The last run of each agent, of runs newest first."""
    found: dict[str, RunTrace] = {}
    for run in runs:
        found.setdefault(run.agent_name, run)
    return found


def _row(agent: Agent, book: ModelsView, tools: Sequence[Tool], last: RunTrace | None) -> Row:
    spec = agent.spec
    its = [each for each in tools if fits(str(each.ref), spec.tools)]
    return Row(
        name=agent.name,
        path=path_of(agent),
        description=spec.description,
        model=spec.model,
        health=book.health(spec.model),
        tools=len(its),
        tokens=sum(each.tokens for each in its),
        version=agent.version,
        label=str(spec.label),
        exposed=spec.exposed,
        last=None if last is None else _last(last),
    )


def _last(run: RunTrace) -> LastRun:
    state, tone = STATUSES[run.status]
    return LastRun(str(run.run), state, tone, run.started_at)


LONGEST: Final = 120_000
_MOST_TOOLS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    name: str = ""
    description: str = ""
    model: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    """That are ticked: tools, and whole servers as `server.*`."""
    more: str = ""
    """Further patterns, one a line."""
    fallbacks: str = ""
    tool_mode: str = ToolMode.AUTO
    turns: str = ""
    tokens: str = ""
    money: str = ""
    seconds: str = ""
    calls: str = ""
    max_output_tokens: str = ""
    temperature: str = ""
    label: str = ""
    tags: str = ""
    exposed: bool = False

    @property
    def patterns(self) -> Sequence[str]:
        """Each once; what a whole server takes in is not said beside it."""
        whole = {each.removesuffix(".*") for each in self.tools if each.endswith(".*")}
        ticked = [
            each
            for each in self.tools
            if each.endswith(".*") or each.partition(".")[0] not in whole
        ]
        return list(dict.fromkeys([*ticked, *self.more.split()]))

    def as_json(self) -> JsonObject:
        """As agents are read; what is no number stays as it was typed, to be told so."""
        numbers = {
            "turns": _whole(self.turns),
            "tokens": _whole(self.tokens),
            "money": self.money,
            "seconds": _number(self.seconds),
            "calls": _whole(self.calls),
        }
        limits: JsonObject = {name: value for name, value in numbers.items() if value != ""}
        others: dict[str, JsonValue] = {
            "most_output": _whole(self.max_output_tokens),
            "temperature": _number(self.temperature),
            "label": self.label,
            "tool_mode": self.tool_mode,
        }
        return {
            "name": self.name,
            "description": self.description,
            "instructions": self.instructions,
            "model": self.model,
            "fallbacks": self.fallbacks.split(),
            "tools": list(self.patterns),
            "tags": self.tags.replace(",", " ").split(),
            "exposed": self.exposed,
            "limits": limits,
            **{name: value for name, value in others.items() if value != ""},
        }


def draft_of_form(form: Form) -> Draft:
    """Raises `InvalidForm`."""

    def written(name: str, most: int = 2_000) -> str:
        return form.maybe(name, most=most) or ""

    return Draft(
        name=written("name"),
        description=written("description", 4_000),
        model=written("other_model") or written("model"),
        instructions=written("instructions", LONGEST),
        tools=tuple(form.many("tools", most=_MOST_TOOLS)),
        more=written("more", 20_000),
        fallbacks=written("fallbacks"),
        tool_mode=written("tool_mode"),
        turns=written("turns"),
        tokens=written("tokens"),
        money=written("money"),
        seconds=written("seconds"),
        calls=written("calls"),
        max_output_tokens=written("most_output"),
        temperature=written("temperature"),
        label=written("label"),
        tags=written("tags"),
        exposed=form.ticked("exposed"),
    )


def draft_of_spec(spec: AgentSpec, tools: Collection[str], model: str = "") -> Draft:
    """`tools` are those there are: what is none of them, and no whole server, is a pattern."""
    servers = {each.partition(".")[0] for each in tools}
    ticked = [each for each in spec.tools if each in tools or _server(each) in servers]
    limits: Limits = spec.limits
    return Draft(
        name=spec.name,
        description=spec.description,
        model=spec.model or model,
        instructions=spec.instructions,
        tools=tuple(ticked),
        more="\n".join(each for each in spec.tools if each not in ticked),
        fallbacks="\n".join(spec.fallbacks),
        tool_mode=spec.tool_mode,
        turns=str(limits.turns),
        tokens=str(limits.tokens),
        money=f"{limits.money:f}",
        seconds=f"{limits.seconds:g}",
        calls=str(limits.calls),
        max_output_tokens=str(spec.max_output_tokens),
        temperature="" if spec.temperature is None else f"{spec.temperature:g}",
        label=str(spec.label),
        tags=" ".join(spec.tags),
        exposed=spec.exposed,
    )


def wrong_at(flaws: Sequence[FieldError], draft: Draft) -> Mapping[str, Sequence[str]]:
    """By the field of the form at which each is said."""
    lists = {
        "tools": list(draft.patterns),
        "fallbacks": draft.fallbacks.split(),
        "tags": draft.tags.replace(",", " ").split(),
    }
    found: dict[str, list[str]] = {}
    for flaw in flaws:
        field, _, rest = flaw.field.partition(".")
        which = lists.get(field, [])
        at = rest if field == "limits" else field
        its = which[int(rest)] if rest.isdigit() and int(rest) < len(which) else ""
        said = flaw.message if flaw.message.startswith(its) else f"{its} {flaw.message}"
        found.setdefault(at, []).append(said)
    return found


def _server(pattern: str) -> str:
    return pattern.removesuffix(".*") if pattern.endswith(".*") else ""


def _whole(text: str) -> int | str:
    plain = text.replace("\u2009", "").replace(" ", "").replace(",", "")
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 16 else text


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
