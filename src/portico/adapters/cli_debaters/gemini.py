"""`gemini -p`, Google's program: it streams JSON, takes a system prompt by a file, and a policy
that denies it every tool."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.dialect import Call, Heard, table, whole, words
from portico.debate.core.debaters import VoiceAsk
from portico.kernel.json import JsonObject

_NO_TOOLS: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
_VARIABLES: Final = frozenset(
    {
        "GEMINI_API_KEY",
        "GEMINI_MODEL",
        "GOOGLE_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_GENAI_USE_VERTEXAI",
    }
)
_ELSEWHERE: Final = {"GEMINI_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI"}


class Gemini:
    family = "google"
    variables = _VARIABLES
    install = "npm install -g @google/gemini-cli"
    log_in = "gemini"
    asks_whether_logged_in = ()

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        """There is no way to ask it; whoever has logged in has said how, in its settings."""
        if not _ELSEWHERE.isdisjoint(environment):
            return True
        file = Path(environment.get("HOME", "")) / ".gemini" / "settings.json"
        try:
            settings = table(json.loads(file.read_text()))
        except (OSError, ValueError):
            return False
        security = table(table(settings.get("security")).get("auth"))
        return bool(security.get("selectedType") or settings.get("selectedAuthType"))

    def call(self, ask: VoiceAsk, folder: Path) -> Call:
        system, policy = folder / "system.md", folder / "policy.toml"
        system.write_text(ask.system)
        policy.write_text(_NO_TOOLS)
        arguments = ("--output-format", "stream-json", "--skip-trust", "--policy", str(policy))
        return Call(
            arguments=(*arguments, "--prompt", ""),
            given=ask.prompt,
            environment={"GEMINI_SYSTEM_MD": str(system), "GEMINI_TELEMETRY_ENABLED": "false"},
        )

    def hear(self, event: JsonObject, heard: Heard) -> str:
        match event.get("type"):
            case "init":
                heard.model = words(event.get("model"))
            case "message" if event.get("role") == "assistant":
                piece = words(event.get("content"))
                heard.text = heard.text + piece if event.get("delta") is True else piece
                return piece
            case "error" if event.get("severity") != "warning":
                heard.problem = words(event.get("message")) or "it met an error"
            case "result":
                self._end(event, heard)
            case _:
                pass
        return ""

    def _end(self, event: JsonObject, heard: Heard) -> None:
        stats, error = table(event.get("stats")), table(event.get("error"))
        heard.ended = True
        heard.input = whole(stats.get("input_tokens"))
        heard.output = max(
            whole(stats.get("output_tokens")), whole(stats.get("total_tokens")) - heard.input
        )
        if event.get("status") == "success":
            heard.problem = None
        else:
            heard.problem = words(error.get("message")) or heard.problem or "it could not answer"
