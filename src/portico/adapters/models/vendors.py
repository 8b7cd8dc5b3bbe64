"""The models of pydantic-ai for a provider of ours. Loaded when a model is first asked."""

from typing import Final

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from portico.adapters.models.connection import Connection
from portico.adapters.models.provider import ProviderKind

_NO_KEY: Final = "none"
"""The libraries want one; a server that needs none does not read it."""


def model_of(there: Connection, name: str) -> Model:
    """Nothing of the environment goes with it: only the key that is meant for this provider."""
    if there.provider.kind is ProviderKind.ANTHROPIC:
        anthropic = AsyncAnthropic(
            base_url=there.provider.url,
            api_key=there.key or _NO_KEY,
            http_client=there.client,
            max_retries=0,
        )
        anthropic.auth_token = None
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))
    openai = AsyncOpenAI(
        base_url=there.provider.url,
        api_key=there.key or _NO_KEY,
        http_client=there.client,
        max_retries=0,
    )
    openai.organization = openai.project = None
    match there.provider.kind:
        case ProviderKind.OPENAI:
            known = OpenAIProvider(openai_client=openai)
            return OpenAIChatModel(name, provider=known, profile=_whole)
        case ProviderKind.OPENROUTER:
            router = OpenRouterProvider(openai_client=openai)
            return OpenRouterModel(name, provider=router, profile=_whole)
        case ProviderKind.COMPATIBLE | ProviderKind.OLLAMA:
            other = OpenAICompatibleProvider(there.provider.name, openai_client=openai)
            return OpenAIChatModel(name, provider=other, profile=_plain)


def _whole(known: ModelProfile) -> ModelProfile:
    """An answer that does not say why it ended has broken off."""
    return merge_profile(
        known, OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    )


def _plain(known: ModelProfile) -> ModelProfile:
    """As most servers understand it, not as OpenAI has it by now."""
    return merge_profile(
        known,
        OpenAIModelProfile(
            openai_chat_streaming_requires_finish_reason=True,
            openai_chat_supports_max_completion_tokens=False,
            openai_supports_strict_tool_definition=False,
            supports_json_schema_output=True,
        ),
    )
