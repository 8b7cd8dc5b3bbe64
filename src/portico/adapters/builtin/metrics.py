"""`metrics`: how the caller's own calls and runs went, and what they used up."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar, Final, Protocol

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import AboutTheHouse, Errand, Offered, hints, schema
from portico.gateway.core.calls import Answer, Figures
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_DAY: Final = 24
_MOST: Final = 90 * _DAY


class OwnFigures(Protocol):
    async def __call__(
        self, caller: Principal, /, *, server: str | None = None, within: timedelta
    ) -> Sequence[Figures]: ...


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
    figures: OwnFigures
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


class Metrics(AboutTheHouse[Measures]):
    offered: ClassVar[Offered] = METRICS

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        within = timedelta(hours=given.number(arguments, "hours", _DAY))
        server = given.text(arguments, "server") or None
        measures = self.door
        figures = await measures.figures(errand.asker, server=server, within=within)
        spent = None
        if measures.spending is not None and not errand.asker.shared:
            spent = await measures.spending(errand.asker, within)
        lines = [_line(each) for each in figures] or ["You have called nothing in this time."]
        if spent is not None:
            lines.append(_spent_line(spent))
        facts: JsonObject = {
            "calls": [*map(_facts, figures)],
            "models": None if spent is None else _spent_facts(spent),
        }
        return told("\n".join(lines), facts)


def _line(its: Figures) -> str:
    p50, p95 = _millis(its.p50), _millis(its.p95)
    return f"{its.name}  {its.calls} calls, {its.failures} failed, {p50:g} ms, p95 {p95:g} ms"


def _facts(its: Figures) -> JsonObject:
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
