"""What is wrong with an agent, and how much room it has to talk."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from portico.agents.core.agents import AgentSpec, Limits
from portico.agents.core.budgets import LEAST_ANSWER
from portico.agents.core.errors import InvalidModelRef
from portico.agents.core.model_requests import ModelRef
from portico.agents.core.tool_calls import SHARE
from portico.guard.core.rules import fits, within
from portico.kernel.errors import FieldError
from portico.kernel.label import Label

AGENT_NAME: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,47}$"
RESERVED: Final = frozenset({"check", "import", "runs", "templates"})
"""Addresses of ours, beside those of agents."""
DESCRIPTION: Final = 2_000
INSTRUCTIONS: Final = 100_000
FALLBACKS: Final = 5
PATTERNS: Final = 200
TAGS: Final = 20
_NAME: Final = re.compile(AGENT_NAME)
_ID: Final = re.compile(r"agt_[0-9a-z]{26}")
_TAG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_PATTERN: Final = re.compile(r"[!-+\--~]{1,200}")
_WILD: Final = frozenset("*?")
_NAMED: Final = 3
"""Patterns that a warning tells of by name."""
_LEAST_TOKENS: Final = 500
"""With fewer even a greeting is not answered."""
_USUAL_OUTPUT: Final = AgentSpec(name="", model="").max_output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationContext:
    """What there is where an agent is to be, and who makes it."""

    amiss: Mapping[str, str] = field(default_factory=dict)
    """By the name of a model: why that one cannot be had. Of one whose provider does not answer
    just now nothing is said."""
    tools: Sequence[str] = ()
    servers: Sequence[str] = ()
    clearance: Label
    """Of whoever makes it."""
    task: Label
    """What has been read in the task that it is made in."""
    lists: Sequence[Sequence[str]] = ()
    """Of tools, each of which must name what its maker may use."""


def flaws(spec: AgentSpec, known: ValidationContext) -> Sequence[FieldError]:
    return [
        *_name(spec),
        *_texts(spec),
        *_models(spec, known),
        *_tools(spec, known),
        *_limits(spec.limits),
        *_answers(spec),
        *_label(spec, known),
        *_tags(spec),
    ]


def warnings(spec: AgentSpec, tools: Sequence[str]) -> Sequence[FieldError]:
    """What is not wrong, and yet may not be meant; `tools` are those that can be used now."""
    without = [pattern for pattern in spec.tools if not any(fits(it, [pattern]) for it in tools)]
    if not without:
        return []
    named = ", ".join(without[:_NAMED]) + (" …" if len(without) > _NAMED else "")
    what = f"there is nothing now that it could use by {named}: `portico servers list` shows what"
    return [FieldError("tools", f"{what} waits to be approved. It goes without until then")]


def _name(spec: AgentSpec) -> Iterator[FieldError]:
    if _NAME.fullmatch(spec.name) is None:
        yield FieldError(
            "name", "must be letters, digits, - and _, beginning with a letter, at most 48 of them"
        )
    elif spec.name in RESERVED or _ID.fullmatch(spec.name):
        yield FieldError("name", "is kept for something else: choose another")


def _texts(spec: AgentSpec) -> Iterator[FieldError]:
    if len(spec.description) > DESCRIPTION:
        yield FieldError("description", f"must have at most {DESCRIPTION:,} letters")
    if spec.exposed and not spec.description.strip():
        yield FieldError(
            "description", "must say what it does: it is exposed as a tool, and found by that"
        )
    if len(spec.instructions) > INSTRUCTIONS:
        yield FieldError("instructions", f"must have at most {INSTRUCTIONS:,} letters")


def _models(spec: AgentSpec, known: ValidationContext) -> Iterator[FieldError]:
    yield from _model("model", spec.model, known)
    if len(spec.fallbacks) > FALLBACKS:
        yield FieldError("fallbacks", f"must be at most {FALLBACKS}")
    asked = [spec.model]
    for place, model in enumerate(spec.fallbacks):
        its = f"fallbacks.{place}"
        if model in asked:
            yield FieldError(its, "is asked before already")
        else:
            yield from _model(its, model, known)
        asked.append(model)


def _model(its: str, model: str, known: ValidationContext) -> Iterator[FieldError]:
    try:
        ModelRef.parse(model)
    except InvalidModelRef:
        yield FieldError(its, "must be written as provider:model, such as ollama:llama3.2")
        return
    if model in known.amiss:
        yield FieldError(its, known.amiss[model])


def _tools(spec: AgentSpec, known: ValidationContext) -> Iterator[FieldError]:
    if len(spec.tools) > PATTERNS:
        yield FieldError("tools", f"must be at most {PATTERNS} patterns")
        return
    for place, pattern in enumerate(spec.tools):
        its = f"tools.{place}"
        if _PATTERN.fullmatch(pattern) is None:
            yield FieldError(
                its, "must be a tool with wildcards, without spaces or commas: github.*"
            )
        elif pattern in spec.tools[:place]:
            yield FieldError(its, "is there twice")
        elif not _means_something(pattern, known):
            what = f"{pattern} fits no tool that there is: `portico tools list` shows them"
            yield FieldError(its, what)
        elif not all(within([pattern], each) for each in known.lists):
            yield FieldError(its, "is more than you may use yourself")


def _means_something(pattern: str, known: ValidationContext) -> bool:
    """Of a server whose tools nobody has listed yet, whatever is said of them is believed."""
    if pattern == "*" or any(fits(tool, [pattern]) for tool in known.tools):
        return True
    server = pattern.partition(".")[0]
    if _WILD & set(server):
        return any(fits(each, [server]) for each in _unlisted(known))
    return server in _unlisted(known)


def _unlisted(known: ValidationContext) -> Iterable[str]:
    listed = {tool.partition(".")[0] for tool in known.tools}
    return [server for server in known.servers if server not in listed]


def _limits(limits: Limits) -> Iterator[FieldError]:
    for its, value, low, high in (
        ("turns", limits.turns, 1, 200),
        ("tokens", limits.tokens, _LEAST_TOKENS, 100_000_000),
        ("money", limits.money, Decimal(0), Decimal(10_000)),
        ("seconds", limits.seconds, 1, 86_400),
        ("calls", limits.calls, 0, 10_000),
    ):
        if not low <= value <= high:
            yield FieldError(f"limits.{its}", f"must be between {low:,} and {high:,}")


def _answers(spec: AgentSpec) -> Iterator[FieldError]:
    if not 1 <= spec.max_output_tokens <= 1_000_000:
        yield FieldError("most_output", "must be between 1 and 1,000,000")
    elif spec.max_output_tokens > spec.limits.tokens:
        its = f"{spec.max_output_tokens:,}"
        if spec.max_output_tokens == _USUAL_OUTPUT:
            its = f"{its} where nothing else is said"
        yield FieldError(
            "most_output",
            f"must not be more than limits.tokens, {spec.limits.tokens:,}: it is {its}",
        )
    if spec.temperature is not None and not 0 <= spec.temperature <= 2:
        yield FieldError("temperature", "must be between 0 and 2")


def _label(spec: AgentSpec, known: ValidationContext) -> Iterator[FieldError]:
    if not known.clearance.covers(spec.label):
        yield FieldError("label", f"must not be above your own clearance, {known.clearance}")
    elif not spec.label.covers(known.task):
        yield FieldError("label", f"must not be below what was read in this task, {known.task}")


def _tags(spec: AgentSpec) -> Iterator[FieldError]:
    if len(spec.tags) > TAGS:
        yield FieldError("tags", f"must be at most {TAGS}")
    for place, tag in enumerate(spec.tags):
        if _TAG.fullmatch(tag) is None:
            yield FieldError(
                f"tags.{place}", "must be small letters, digits and -, at most 40 of them"
            )
        elif tag in spec.tags[:place]:
            yield FieldError(f"tags.{place}", "is there twice")


# Whether a model's window leaves an agent room to talk, beside what is always sent.

LEAST: Final = 1_000
"""Tokens below which a question and a result hardly fit."""


def room_for_talk(spec: AgentSpec, window: int, count: Callable[[str], int]) -> int:
    """Tokens of the window that neither its instructions, nor its tools, nor its answer take."""
    answer = min(spec.max_output_tokens, max(window // 4, LEAST_ANSWER))
    tools = window // SHARE if spec.tools else 0
    return window - answer - tools - count(spec.instructions)
