"""Questions to voices, as a debate would put them."""

from dataclasses import replace
from datetime import timedelta

from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level

FORM: JsonObject = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
EVERYTHING = Label(Level.RESTRICTED)


def a_voice(target: str = "local:small", kind: VoiceKind = VoiceKind.MODEL) -> Voice:
    return Voice(name=target, kind=kind, target=target, family="local", clearance=EVERYTHING)


def an_ask(
    voice: Voice,
    *,
    prompt: str = "What is the capital of France?",
    most_output: int = 8,
    timeout: float = 60.0,
    label: Label = PUBLIC,
    **changes: object,
) -> VoiceAsk:
    ask = VoiceAsk(
        voice=voice,
        system="You are a critic.",
        prompt=prompt,
        schema=FORM,
        prompt_tokens=10,
        most_output=most_output,
        timeout=timedelta(seconds=timeout),
        label=label,
        key="said:1:small",
    )
    return replace(ask, **changes)  # type: ignore[arg-type] # each by its field's name
