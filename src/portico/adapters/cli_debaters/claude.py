"""`claude -p`, Anthropic's program: it streams JSON, takes a system prompt, and gets no tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.dialect import Call, Heard, dollars, table, whole, words
from portico.debate.core.debaters import VoiceAsk
from portico.kernel.json import JsonObject

_USUAL: Final = (
    "--print",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--tools",
    "",
    "--strict-mcp-config",
    "--no-session-persistence",
)
_VARIABLES: Final = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "AWS_PROFILE",
        "AWS_REGION",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CONFIG_DIR",
        "CLOUD_ML_REGION",
        "GOOGLE_APPLICATION_CREDENTIALS",
    }
)
_ELSEWHERE: Final = {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
}
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Claude:
    family = "anthropic"
    variables = _VARIABLES
    install = "npm install -g @anthropic-ai/claude-code"
    log_in = "claude auth login"
    asks_whether_logged_in = ("auth", "status")

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        return not _ELSEWHERE.isdisjoint(environment)

    def call(self, ask: VoiceAsk, folder: Path) -> Call:
        system = folder / "system.md"
        system.write_text(ask.system)
        return Call(
            arguments=(*_USUAL, "--system-prompt-file", str(system)),
            given=ask.prompt,
            environment={
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_SAFE_MODE": "1",  # no hooks and no CLAUDE.md of whoever runs Portico
                "DISABLE_AUTOUPDATER": "1",
            },
        )

    def hear(self, event: JsonObject, heard: Heard) -> str:
        match event.get("type"):
            case "system":
                heard.model = words(event.get("model")) or heard.model
            case "stream_event":
                return self._piece(table(event.get("event")), heard)
            case "result":
                self._end(event, heard)
            case _:
                pass
        return ""

    def _piece(self, event: JsonObject, heard: Heard) -> str:
        if event.get("type") == "message_start":
            heard.text = ""  # what it said before it went on is no part of its answer
        delta = table(event.get("delta"))
        if event.get("type") != "content_block_delta" or delta.get("type") != "text_delta":
            return ""
        piece = words(delta.get("text"))
        heard.text += piece
        return piece

    def _end(self, event: JsonObject, heard: Heard) -> None:
        heard.ended = True
        usage, said = table(event.get("usage")), words(event.get("result"))
        heard.input = sum(whole(usage.get(name)) for name in _READ)
        heard.output = whole(usage.get("output_tokens"))
        heard.money = dollars(event.get("total_cost_usd"))
        if event.get("is_error") is True or event.get("subtype") != "success":
            heard.problem = said or words(event.get("subtype")) or "it could not answer"
        else:
            heard.text = said or heard.text
