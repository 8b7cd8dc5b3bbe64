"""What is said to Ollama, and what it says, in its own protocol."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, Field
from pydantic import JsonValue as WireJson

from portico.agents.core.model_requests import (
    Finish,
    Message,
    ModelAsk,
    ModelSaid,
    ToolGave,
    UserSaid,
)
from portico.kernel.json import JsonObject

_FINISHES: Final = {"stop": Finish.STOP, "length": Finish.LENGTH}


class _Function(BaseModel):
    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, WireJson] = Field(default_factory=dict)


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Words(BaseModel):
    content: str = ""
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class Chunk(BaseModel):
    model: str = ""
    message: _Words = Field(default_factory=_Words)
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str | None = None

    @property
    def finish(self) -> Finish:
        return _FINISHES.get(self.done_reason or "stop", Finish.OTHER)


class Shown(BaseModel):
    """What `/api/show` says of a model."""

    capabilities: list[str] | None = None
    """Not told by servers before 0.6.4."""
    model_info: dict[str, WireJson] = Field(default_factory=dict)
    template: str = ""
    remote_host: str | None = None
    """Where a model of a cloud really runs."""

    @property
    def window(self) -> int | None:
        """What it was trained for; how much of that it is given is for whoever asks."""
        found = (
            value for name, value in self.model_info.items() if name.endswith(".context_length")
        )
        return next((value for value in found if isinstance(value, int) and value > 0), None)

    def can(self, what: str) -> bool | None:
        """None if nobody says."""
        if self.capabilities is not None:
            return what in self.capabilities
        if what == "tools" and self.template:
            return ".Tools" in self.template
        return None


class Tag(BaseModel):
    name: Annotated[str, Field(min_length=1)]


class Tags(BaseModel):
    models: list[Tag] = Field(default_factory=list)


class Version(BaseModel):
    version: str = ""

    @property
    def counts_cached(self) -> bool:
        """Before 0.4 what it still knew of the last prompt was not counted as read."""
        parts = self.version.split(".")
        try:
            return not parts[0] or (int(parts[0]), int(parts[1])) >= (0, 4)
        except (IndexError, ValueError):
            return True


def chat(ask: ModelAsk, *, room: int, thinks: bool) -> Mapping[str, object]:
    options: dict[str, object] = {"num_ctx": room, "num_predict": ask.most_output}
    if ask.temperature is not None:
        options["temperature"] = ask.temperature
    body: dict[str, object] = {
        "model": ask.model.name,
        "messages": [*_spoken(ask.instructions, ask.messages)],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": options,
    }
    if ask.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in ask.tools
        ]
    if ask.schema is not None:
        body["format"] = ask.schema
    return body | ({"think": False} if thinks else {})


def _spoken(instructions: str, messages: Sequence[Message]) -> Iterator[JsonObject]:
    if instructions:
        yield {"role": "system", "content": instructions}
    for message in messages:
        match message:
            case UserSaid(text):
                yield {"role": "user", "content": text}
            case ModelSaid(text, calls):
                wanted: list[JsonObject] = [
                    {"function": {"name": call.name, "arguments": call.arguments}} for call in calls
                ]
                yield {"role": "assistant", "content": text} | (
                    {"tool_calls": wanted} if wanted else {}
                )
            case ToolGave():
                yield {"role": "tool", "content": message.text, "tool_name": message.name}
