"""Built-in tools that tell a caller about permissions, figures, models and runs, and `notify`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar, Final, Protocol

from portico.adapters.builtin import tool as given
from portico.adapters.builtin.tool import (
    InternalTool,
    InvalidBody,
    Offered,
    ToolInvocation,
    hints,
    schema,
    told,
)
from portico.agents.core.model_requests import ModelInfo
from portico.gateway.core.calls import CallStats, ToolResult
from portico.gateway.policy_targets import Weighed
from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.run_queries import OwnRun, OwnStep

_WORDS: Final[dict[type[Decision], str]] = {
    Allowed: "allowed",
    NeedsApproval: "needs_approval",
    Denied: "denied",
}
_SENTENCES: Final[dict[str, str]] = {
    "allowed": "You may call {tool}",
    "needs_approval": "A person has to approve {tool} first",
    "denied": "You may not call {tool}",
}


class Weigh(Protocol):
    async def __call__(
        self, caller: Principal, tool: str, arguments: JsonObject | None = None, /
    ) -> Weighed: ...


CHECK_PERMISSION: Final = Offered(
    {
        "name": "check_permission",
        "title": "Check a permission",
        "description": (
            "Whether you may call a tool now, must wait for a person's approval, or may not; by "
            "which rule, and whether the arguments fit. Nothing is called and nobody is asked."
        ),
        "inputSchema": schema(
            {
                "tool": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 300,
                    "description": "As it is called, such as `files.read`.",
                },
                "arguments": {
                    "type": "object",
                    "description": "What it would be called with, to be checked too.",
                },
            },
            required=["tool"],
        ),
        "outputSchema": schema(
            {
                "tool": {"type": "string"},
                "decision": {"enum": ["allowed", "needs_approval", "denied"]},
                "rule": {"type": "string", "description": "What decides."},
                "reason": {"type": "string"},
                "effect": {"type": "string"},
                "flaws": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "What is wrong with the arguments.",
                },
            },
            required=["tool", "decision", "rule", "reason", "effect", "flaws"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class CheckPermission(InternalTool[Weigh]):
    offered: ClassVar[Offered] = CHECK_PERMISSION

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        tool, wanted = given.text(arguments, "tool"), arguments.get("arguments")
        weighed = await self.door(
            errand.requester, tool, wanted if isinstance(wanted, dict) else None
        )
        decision = weighed.decision
        word = _WORDS[type(decision)]
        sentence = _SENTENCES[word].format(tool=tool)
        lines = [
            f"{sentence}: {decision.reason} ({decision.rule}).",
            *(f"The arguments do not fit: {flaw}" for flaw in weighed.field_errors),
        ]
        facts: JsonObject = {
            "tool": tool,
            "decision": word,
            "rule": decision.rule,
            "reason": decision.reason,
            "effect": str(weighed.target.effect),
            "flaws": [*weighed.field_errors],
        }
        return told("\n".join(lines), facts)


_DAY: Final = 24
_MOST: Final = 90 * _DAY


class OwnCallStats(Protocol):
    async def __call__(
        self, caller: Principal, /, *, server: str | None = None, within: timedelta
    ) -> Sequence[CallStats]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """By the runs of agents that the caller started."""

    turns: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal


Spending = Callable[[Principal, timedelta], Awaitable[Spent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    metrics: OwnCallStats
    spending: Spending | None = None


METRICS: Final = Offered(
    {
        "name": "metrics",
        "title": "Look at your own figures",
        "description": (
            "How your own tool calls went: how many, how many failed, and how long they took "
            "(median and 95th percentile), by server, or by tool of one server; and the tokens "
            "and money that the runs of agents which you started have used."
        ),
        "inputSchema": schema(
            {
                "hours": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MOST,
                    "default": _DAY,
                    "description": "How far back.",
                },
                "server": {
                    "type": "string",
                    "maxLength": 100,
                    "description": "For figures of each of its tools.",
                },
            }
        ),
        "outputSchema": schema(
            {
                "calls": {
                    "type": "array",
                    "items": schema(
                        {
                            "name": {"type": "string"},
                            "calls": {"type": "integer"},
                            "failures": {"type": "integer"},
                            "p50_ms": {"type": "number"},
                            "p95_ms": {"type": "number"},
                        },
                        required=["name", "calls", "failures", "p50_ms", "p95_ms"],
                    ),
                },
                "models": {
                    "anyOf": [
                        {"type": "null"},
                        schema(
                            {
                                "turns": {"type": "integer"},
                                "input_tokens": {"type": "integer"},
                                "output_tokens": {"type": "integer"},
                                "dollars": {"type": "number"},
                            },
                            required=["turns", "input_tokens", "output_tokens", "dollars"],
                        ),
                    ]
                },
            },
            required=["calls", "models"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class Metrics(InternalTool[Measures]):
    offered: ClassVar[Offered] = METRICS

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        within = timedelta(hours=given.number(arguments, "hours", _DAY))
        server = given.text(arguments, "server") or None
        measures = self.door
        figures = await measures.metrics(errand.requester, server=server, within=within)
        spent = None
        if measures.spending is not None and not errand.requester.shared:
            spent = await measures.spending(errand.requester, within)
        lines = [_line(each) for each in figures] or ["You have called nothing in this time."]
        if spent is not None:
            lines.append(_spent_line(spent))
        facts: JsonObject = {
            "calls": [*map(_facts, figures)],
            "models": None if spent is None else _spent_facts(spent),
        }
        return told("\n".join(lines), facts)


def _line(its: CallStats) -> str:
    p50, p95 = _millis(its.p50), _millis(its.p95)
    return f"{its.name}  {its.calls} calls, {its.failures} failed, {p50:g} ms, p95 {p95:g} ms"


def _facts(its: CallStats) -> JsonObject:
    return {
        "name": its.name,
        "calls": its.calls,
        "failures": its.failures,
        "p50_ms": _millis(its.p50),
        "p95_ms": _millis(its.p95),
    }


def _spent_line(spent: Spent) -> str:
    tokens = f"{spent.input_tokens:,} tokens read, {spent.output_tokens:,} written"
    return f"models: {spent.turns} turns, {tokens}, {spent.dollars:.4f} dollars"


def _spent_facts(spent: Spent) -> JsonObject:
    return {
        "turns": spent.turns,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "dollars": float(spent.dollars),
    }


def _millis(took: timedelta) -> float:
    return round(took.total_seconds() * 1000, 1)


_MODELS_INFO_MOST: Final = 200
_USUAL: Final = 50
_SUPPORT: Final = {"enum": ["yes", "no", "unknown"]}

Models = Callable[[Principal], Awaitable[Sequence[ModelInfo]]]

MODELS_INFO: Final = Offered(
    {
        "name": "models_info",
        "title": "Look up models",
        "description": (
            "Which language models can be used here, as `provider:model`: how many tokens fit, "
            "whether each takes tools, pictures and answer forms, what it costs, and whether it "
            "runs on this machine."
        ),
        "inputSchema": schema(
            {
                "search": {
                    "type": "string",
                    "maxLength": 200,
                    "description": "Only those with this in their name.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MODELS_INFO_MOST,
                    "default": _USUAL,
                },
            }
        ),
        "outputSchema": schema(
            {
                "models": {
                    "type": "array",
                    "items": schema(
                        {
                            "model": {"type": "string"},
                            "window": {"type": ["integer", "null"]},
                            "tools": _SUPPORT,
                            "vision": _SUPPORT,
                            "structured": _SUPPORT,
                            "local": {"type": "boolean"},
                            "clearance": {
                                "type": "string",
                                "description": "How secret what it is sent may be.",
                            },
                            "dollars_per_million_input": {"type": ["number", "null"]},
                            "dollars_per_million_output": {"type": ["number", "null"]},
                        },
                        required=["model", "window", "tools", "local", "clearance"],
                    ),
                },
                "more": {"type": "boolean", "description": "There are more than were asked for."},
            },
            required=["models", "more"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class ModelsInfo(InternalTool[Models]):
    offered: ClassVar[Offered] = MODELS_INFO

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        wanted = given.text(arguments, "search").lower()
        limit = given.number(arguments, "limit", _USUAL)
        found = [
            model for model in await self.door(errand.requester) if wanted in str(model.ref).lower()
        ]
        shown, more = found[:limit], len(found) > limit
        lines = [_model_line(model) for model in shown] or ["There is no such model here."]
        if more:
            lines.append(f"[there are more than {limit}]")
        return told("\n".join(lines), {"models": [*map(_model_facts, shown)], "more": more})


def _model_line(model: ModelInfo) -> str:
    window = "?" if model.window is None else f"{model.window:,}"
    where = "local" if model.local else "remote"
    return f"{model.ref}  {window} tokens, tools {model.tools}, {where}"


def _model_facts(model: ModelInfo) -> JsonObject:
    price = model.price
    return {
        "model": str(model.ref),
        "window": model.window,
        "tools": str(model.tools),
        "vision": str(model.vision),
        "structured": str(model.structured),
        "local": model.local,
        "clearance": str(model.clearance),
        "dollars_per_million_input": None if price is None else float(price.input),
        "dollars_per_million_output": None if price is None else float(price.output),
    }


_TITLE: Final = 120
_TEXT: Final = 2_000

Tell = Callable[[Principal, str, str], Awaitable[Label]]

NOTIFY: Final = Offered(
    {
        "name": "notify",
        "title": "Notify people",
        "description": (
            "Tell the people of this space something, such as that a long task is done. They see "
            "who said it. Only those see it who may know all that you have read in this task."
        ),
        "inputSchema": schema(
            {
                "title": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": _TITLE,
                    "description": "One line.",
                },
                "text": {"type": "string", "maxLength": _TEXT, "default": ""},
            },
            required=["title"],
        ),
        "outputSchema": schema(
            {"label": {"type": "string", "description": "How secret it is."}}, required=["label"]
        ),
        "annotations": hints(),
    },
    Effect.LOCAL_WRITE,
)


class Notify(InternalTool[Tell]):
    offered: ClassVar[Offered] = NOTIFY

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        title = _writable(given.text(arguments, "title"))
        text = _writable(given.text(arguments, "text"))
        label = await self.door(errand.requester, title, text)
        words = f"Told to everybody here who may know what is {label}."
        return told(words, {"label": str(label)})


def _writable(text: str) -> str:
    """Raises `InvalidBody`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidBody("there is half of a surrogate pair in it") from error
    return text.replace("\0", "")


_WORKFLOW_STATE_MOST: Final = 100
_WORKFLOW_STATE_USUAL: Final = 10
_STEPS: Final = 200
"""Of one run that are told: the last ones."""
_WORKFLOW_STATE_TEXT: Final = {"type": ["string", "null"]}


class OwnRuns(Protocol):
    async def latest(self, caller: Principal, *, limit: int) -> Sequence[OwnRun]: ...

    async def one(self, caller: Principal, run: RunId) -> OwnRun: ...


WORKFLOW_STATE: Final = Offered(
    {
        "name": "workflow_state",
        "title": "See how a workflow stands",
        "description": (
            "How a run or workflow that you started stands: its status, each step's state and how "
            "long it took, and which approval it waits for. Without `run`: your latest runs. What "
            "steps gave is not in it."
        ),
        "inputSchema": schema(
            {
                "run": {"type": "string", "maxLength": 40, "description": "Its id: run_…"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _WORKFLOW_STATE_MOST,
                    "default": _WORKFLOW_STATE_USUAL,
                    "description": "Of runs, where none is named.",
                },
            }
        ),
        "outputSchema": schema(
            {
                "runs": {
                    "type": "array",
                    "items": schema(
                        {
                            "run": {"type": "string"},
                            "kind": {"type": "string"},
                            "name": _WORKFLOW_STATE_TEXT,
                            "status": {"type": "string"},
                            "created_at": {"type": "string", "format": "date-time"},
                            "finished_at": _WORKFLOW_STATE_TEXT,
                            "error": {
                                **_WORKFLOW_STATE_TEXT,
                                "description": "The code of what went wrong.",
                            },
                            "output": {
                                **_WORKFLOW_STATE_TEXT,
                                "description": "Where what it gave is kept.",
                            },
                            "steps": {
                                "type": "array",
                                "items": schema(
                                    {
                                        "name": {"type": "string"},
                                        "tool": _WORKFLOW_STATE_TEXT,
                                        "state": {"type": "string"},
                                        "seconds": {"type": ["number", "null"]},
                                        "approval": _WORKFLOW_STATE_TEXT,
                                        "error": _WORKFLOW_STATE_TEXT,
                                    },
                                    required=["name", "state"],
                                ),
                            },
                        },
                        required=["run", "kind", "status", "created_at", "steps"],
                    ),
                },
            },
            required=["runs"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class WorkflowState(InternalTool[OwnRuns]):
    offered: ClassVar[Offered] = WORKFLOW_STATE

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        named = given.text(arguments, "run")
        if named:
            runs = [await self.door.one(errand.requester, RunId.parse(named))]
        else:
            limit = given.number(arguments, "limit", _WORKFLOW_STATE_USUAL)
            runs = [*await self.door.latest(errand.requester, limit=limit)]
        words = "\n".join(_lines(run) for run in runs) or "You have started no run yet."
        return told(words, {"runs": [*map(_workflow_facts, runs)]})


def _lines(run: OwnRun) -> str:
    head = f"{run.id}  {run.kind}  {run.status}" + (f"  ({run.error})" if run.error else "")
    return "\n".join([head, *(f"  {_step_line(step)}" for step in run.steps[-_STEPS:])])


def _step_line(step: OwnStep) -> str:
    tool = "" if step.tool is None else f"  {step.tool}"
    seconds = "" if step.seconds is None else f"  {step.seconds:.1f} s"
    waits = "" if step.approval is None else f"  approval {step.approval}"
    return f"{step.name}{tool}  {step.state}{seconds}{waits}"


def _workflow_facts(run: OwnRun) -> JsonObject:
    return {
        "run": str(run.id),
        "kind": run.kind,
        "name": run.name,
        "status": run.status,
        "created_at": run.created_at.isoformat(),
        "finished_at": None if run.finished_at is None else run.finished_at.isoformat(),
        "error": run.error,
        "output": run.output,
        "steps": [
            {
                "name": step.name,
                "tool": step.tool,
                "state": step.state,
                "seconds": step.seconds,
                "approval": step.approval,
                "error": step.error,
            }
            for step in run.steps[-_STEPS:]
        ],
    }
