"""`models_info`: which models agents can be given here, and what each of them can do."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import AboutTheHouse, Errand, Offered, hints, schema
from portico.agents.core.model_requests import ModelInfo
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_MOST: Final = 200
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
                "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _USUAL},
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


class ModelsInfo(AboutTheHouse[Models]):
    offered: ClassVar[Offered] = MODELS_INFO

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        wanted = given.text(arguments, "search").lower()
        limit = given.number(arguments, "limit", _USUAL)
        found = [
            model for model in await self.door(errand.asker) if wanted in str(model.ref).lower()
        ]
        shown, more = found[:limit], len(found) > limit
        lines = [_line(model) for model in shown] or ["There is no such model here."]
        if more:
            lines.append(f"[there are more than {limit}]")
        return told("\n".join(lines), {"models": [*map(_facts, shown)], "more": more})


def _line(model: ModelInfo) -> str:
    window = "?" if model.window is None else f"{model.window:,}"
    where = "local" if model.local else "remote"
    return f"{model.ref}  {window} tokens, tools {model.tools}, {where}"


def _facts(model: ModelInfo) -> JsonObject:
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
