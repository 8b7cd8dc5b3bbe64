"""Questions to voices, as a debate would put them."""

from dataclasses import replace
from datetime import timedelta

from portico.debate.core.debaters import Debater, DebaterKind, DebaterRequest
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level

FORM: JsonObject = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
EVERYTHING = Label(Level.RESTRICTED)


def a_voice(target: str = "local:small", kind: DebaterKind = DebaterKind.MODEL) -> Debater:
    return Debater(name=target, kind=kind, target=target, family="local", clearance=EVERYTHING)


def an_ask(
    voice: Debater,
    *,
    prompt: str = "What is the capital of France?",
    max_output_tokens: int = 8,
    timeout: float = 60.0,
    label: Label = PUBLIC,
    **changes: object,
) -> DebaterRequest:
    ask = DebaterRequest(
        debater=voice,
        system="You are a critic.",
        prompt=prompt,
        schema=FORM,
        prompt_tokens=10,
        max_output_tokens=max_output_tokens,
        timeout=timedelta(seconds=timeout),
        label=label,
        key="said:1:small",
    )
    return replace(ask, **changes)  # type: ignore[arg-type] # each by its field's name
