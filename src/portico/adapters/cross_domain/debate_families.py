"""Whose errors a model shares: by its name, since the same weights are served by many."""

import re
from typing import Final

_FAMILIES: Final = (
    ("openai", r"gpt|chatgpt|codex|davinci|o[1-9](?:-|$)"),
    ("anthropic", r"claude"),
    ("google", r"gemini|gemma|palm"),
    ("deepseek", r"deepseek"),
    ("qwen", r"qwen|qwq"),
    ("mistral", r"mistral|mixtral|ministral|codestral|magistral|devstral|pixtral"),
    ("smollm", r"smollm"),
    ("llama", r"llama|vicuna|alpaca"),
    ("microsoft", r"phi-?\d|wizardlm"),
    ("xai", r"grok"),
    ("cohere", r"command|aya"),
    ("zhipu", r"glm|chatglm"),
    ("moonshot", r"kimi|moonshot"),
    ("ibm", r"granite"),
    ("tii", r"falcon"),
    ("01-ai", r"yi-\d"),
)
_KNOWN: Final = tuple(
    (family, re.compile(rf"(?<![a-z])(?:{names})", re.IGNORECASE)) for family, names in _FAMILIES
)


def family_of(provider: str, model: str) -> str:
    """Of what nobody knows, whoever provides it. `meta-llama/Llama-3` is known by what stands
    behind the last stroke, or else by all of it."""
    for name in (model.rpartition("/")[2], model):
        for family, known in _KNOWN:
            if known.search(name):
                return family
    return provider
