"""An agent as it stands in its form: what was typed, whether or not it can be understood."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.agents import AgentSpec, Limits, ToolMode
from portico.interfaces.console.forms import Form
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue

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
    most_output: str = ""
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
            "most_output": _whole(self.most_output),
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
    """Raises `BadForm`."""

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
        most_output=written("most_output"),
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
        most_output=str(spec.most_output),
        temperature="" if spec.temperature is None else f"{spec.temperature:g}",
        label=str(spec.label),
        tags=" ".join(spec.tags),
        exposed=spec.exposed,
    )


def wrong_at(flaws: Sequence[Flaw], draft: Draft) -> Mapping[str, Sequence[str]]:
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
