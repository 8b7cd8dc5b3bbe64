"""What a model was found to do when it was tried, whatever anybody says that it can."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.agents.core.asking import ToolShown
from portico.agents.core.model import ModelInfo, Support
from portico.kernel.json import JsonObject

QUESTION: Final = "Count from one to ten in words."
WEATHER: Final = ToolShown(
    "get_weather",
    "The weather in a city, now.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
ASKS_FOR_TOOL: Final = "What is the weather in Paris now? Use the tool."
FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ASKS_FOR_FORM: Final = "Which city is the capital of France? Answer as JSON."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTest:
    info: ModelInfo
    answers: bool
    streams: bool = False
    """In more than one piece."""
    calls_tools: Support = Support.UNKNOWN
    """It was asked for a call, and made it: a model that can may still not have."""
    holds_to_form: Support = Support.UNKNOWN
    usage_reported: bool = False
    first_piece: timedelta | None = None
    tokens_a_second: float | None = None
    took: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    """Why it does not answer."""
    fix: str | None = None
