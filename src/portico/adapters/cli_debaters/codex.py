"""`codex exec`, OpenAI's program: it says JSON line by line, takes instructions of its own and a
schema, and gets no shell."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.dialect import Call, Heard, table, whole, words
from portico.debate.core.debaters import VoiceAsk
from portico.kernel.json import JsonObject, JsonValue

_WITHOUT: Final = (
    "apps",
    "goals",
    "hooks",
    "image_generation",
    "multi_agent",
    "plugins",
    "shell_tool",
    "unified_exec",
    "view_image",
)
"""What it could do besides answering. One that a version of it does not know is passed over."""
_USUAL: Final = (
    "exec",
    "--json",
    "--ephemeral",
    "--skip-git-repo-check",
    "--sandbox",
    "read-only",
    "--color",
    "never",
    *(part for name in _WITHOUT for part in ("-c", f"features.{name}=false")),
    "-c",
    "web_search=disabled",
    "-c",
    "project_doc_max_bytes=0",
)
_VARIABLES: Final = frozenset(
    {"CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION"}
)


class Codex:
    family = "openai"
    variables = _VARIABLES
    install = "npm install -g @openai/codex"
    log_in = "codex login"
    asks_whether_logged_in = ("login", "status")

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        """With a provider of one's own, as its settings say, nobody is logged in anywhere."""
        if environment.get("CODEX_API_KEY"):
            return True
        home = environment.get("CODEX_HOME") or f"{environment.get('HOME', '')}/.codex"
        try:
            settings = tomllib.loads((Path(home) / "config.toml").read_text())
        except (OSError, ValueError):
            return False
        return str(settings.get("model_provider", "openai")) != "openai"

    def call(self, ask: VoiceAsk, folder: Path) -> Call:
        instructions = folder / "instructions.md"
        instructions.write_text(ask.system)
        its = ["-c", f"model_instructions_file={json.dumps(str(instructions))}"]
        if ask.schema is not None and is_strict(ask.schema):
            schema = folder / "schema.json"
            schema.write_text(json.dumps(ask.schema))
            its += ["--output-schema", str(schema)]
        return Call(arguments=(*_USUAL, *its, "-"), given=ask.prompt)

    def hear(self, event: JsonObject, heard: Heard) -> str:
        match event.get("type"):
            case "item.completed":
                return self._item(table(event.get("item")), heard)
            case "turn.completed":
                usage = table(event.get("usage"))
                heard.input, heard.output = (
                    whole(usage.get("input_tokens")),
                    whole(usage.get("output_tokens")),
                )
                heard.ended, heard.problem = True, None
            case "turn.failed":
                failed = words(table(event.get("error")).get("message"))
                heard.ended, heard.problem = True, failed or "its turn failed"
            case "error":
                heard.problem = words(event.get("message")) or "it met an error"
            case _:
                pass
        return ""

    def _item(self, item: JsonObject, heard: Heard) -> str:
        """The last message is its answer; those before it are said on the way."""
        if item.get("type") != "agent_message":
            return ""
        heard.text = words(item.get("text"))
        return heard.text


def is_strict(schema: JsonValue) -> bool:
    """Whether OpenAI takes it: each object names all that it has, and must have all of it."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        named = set(table(properties))
        required = schema.get("required")
        must = set(map(str, required)) if isinstance(required, list) else set()
        if schema.get("additionalProperties") is not False or named != must:
            return False
    return all(map(is_strict, schema.values()))
