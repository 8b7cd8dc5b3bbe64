"""Programs that can be debaters, and how each is spoken to: `claude`, `codex`, `gemini`."""

import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from portico.adapters.mcp.processes import scrubbed
from portico.debate.core.debaters import DebaterRequest
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, Level

_MOST: Final = 10**12
"""Of tokens or dollars: what is more is not meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Of a program. No words of people are among the arguments: whoever may list the processes of
    this machine could read them."""

    arguments: tuple[str, ...]
    given: str
    """On its standard input."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ProgramOutput:
    """What it has said so far."""

    text: str = ""
    input: int = 0
    output: int = 0
    """Tokens, as it says itself."""
    money: Decimal = Decimal(0)
    model: str = ""
    problem: str | None = None
    """In its own words, if it could not answer."""
    ended: bool = False


class Dialect(Protocol):
    @property
    def family(self) -> str: ...

    @property
    def variables(self) -> frozenset[str]:
        """Of our environment, what it may see besides what every program may."""
        ...

    @property
    def install(self) -> str:
        """What to type where it is not there."""
        ...

    @property
    def log_in(self) -> str: ...

    @property
    def asks_whether_logged_in(self) -> tuple[str, ...]:
        """Ends with 0 if it is, at once and at no cost; nothing where there is no such way."""
        ...

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        """Whether it is set up otherwise than by logging in."""
        ...

    def call(self, ask: DebaterRequest, folder: Path) -> Call:
        """`folder` is private, and gone afterwards."""
        ...

    def receive(self, event: JsonObject, heard: ProgramOutput) -> str:
        """What is new of its answer by this line."""
        ...


def whole(value: JsonValue) -> int:
    """A number of tokens; of anything else nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST else 0


def dollars(value: JsonValue) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Decimal(0)
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return amount if amount.is_finite() and 0 <= amount <= _MOST else Decimal(0)


def table(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def words(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


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

    def call(self, ask: DebaterRequest, folder: Path) -> Call:
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

    def receive(self, event: JsonObject, heard: ProgramOutput) -> str:
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

    def _piece(self, event: JsonObject, heard: ProgramOutput) -> str:
        if event.get("type") == "message_start":
            heard.text = ""  # what it said before it went on is no part of its answer
        delta = table(event.get("delta"))
        if event.get("type") != "content_block_delta" or delta.get("type") != "text_delta":
            return ""
        piece = words(delta.get("text"))
        heard.text += piece
        return piece

    def _end(self, event: JsonObject, heard: ProgramOutput) -> None:
        heard.ended = True
        usage, said = table(event.get("usage")), words(event.get("result"))
        heard.input = sum(whole(usage.get(name)) for name in _READ)
        heard.output = whole(usage.get("output_tokens"))
        heard.money = dollars(event.get("total_cost_usd"))
        if event.get("is_error") is True or event.get("subtype") != "success":
            heard.problem = said or words(event.get("subtype")) or "it could not answer"
        else:
            heard.text = said or heard.text


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
_CODEX_USUAL: Final = (
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
_CODEX_VARIABLES: Final = frozenset(
    {"CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION"}
)


class Codex:
    family = "openai"
    variables = _CODEX_VARIABLES
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

    def call(self, ask: DebaterRequest, folder: Path) -> Call:
        instructions = folder / "instructions.md"
        instructions.write_text(ask.system)
        its = ["-c", f"model_instructions_file={json.dumps(str(instructions))}"]
        if ask.schema is not None and is_strict(ask.schema):
            schema = folder / "schema.json"
            schema.write_text(json.dumps(ask.schema))
            its += ["--output-schema", str(schema)]
        return Call(arguments=(*_CODEX_USUAL, *its, "-"), given=ask.prompt)

    def receive(self, event: JsonObject, heard: ProgramOutput) -> str:
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

    def _item(self, item: JsonObject, heard: ProgramOutput) -> str:
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


_NO_TOOLS: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
_GEMINI_VARIABLES: Final = frozenset(
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
_GEMINI_ELSEWHERE: Final = {"GEMINI_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI"}


class Gemini:
    family = "google"
    variables = _GEMINI_VARIABLES
    install = "npm install -g @google/gemini-cli"
    log_in = "gemini"
    asks_whether_logged_in = ()

    def needs_no_login(self, environment: Mapping[str, str]) -> bool:
        """There is no way to ask it; whoever has logged in has said how, in its settings."""
        if not _GEMINI_ELSEWHERE.isdisjoint(environment):
            return True
        file = Path(environment.get("HOME", "")) / ".gemini" / "settings.json"
        try:
            settings = table(json.loads(file.read_text()))
        except (OSError, ValueError):
            return False
        security = table(table(settings.get("security")).get("auth"))
        return bool(security.get("selectedType") or settings.get("selectedAuthType"))

    def call(self, ask: DebaterRequest, folder: Path) -> Call:
        system, policy = folder / "system.md", folder / "policy.toml"
        system.write_text(ask.system)
        policy.write_text(_NO_TOOLS)
        arguments = ("--output-format", "stream-json", "--skip-trust", "--policy", str(policy))
        return Call(
            arguments=(*arguments, "--prompt", ""),
            given=ask.prompt,
            environment={"GEMINI_SYSTEM_MD": str(system), "GEMINI_TELEMETRY_ENABLED": "false"},
        )

    def receive(self, event: JsonObject, heard: ProgramOutput) -> str:
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

    def _end(self, event: JsonObject, heard: ProgramOutput) -> None:
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


DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {"claude": Claude(), "codex": Codex(), "gemini": Gemini()}
)
USUAL: Final[Mapping[str, str]] = MappingProxyType({name: name for name in DIALECTS})
CLEARANCE: Final = Label(Level.TEAM)
"""What they are told goes to whoever made them, as with any provider that is not here."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    name: str
    command: tuple[str, ...]
    dialect: Dialect

    def environment(self, ours: Mapping[str, str]) -> dict[str, str]:
        """Of our own, what it needs to find itself, its settings and its login. The world is behind
        a proxy for some: it goes there as whoever runs Portico would."""
        return scrubbed(ours, [*self.dialect.variables, *_PROXIES])


def programs_of(commands: Mapping[str, str]) -> Mapping[str, Program]:
    """By their names, as the settings have them. How one is spoken to is known by its name, or by
    that of the file it is started by; of which nobody knows that, is left out."""
    found = {}
    for name, text in commands.items():
        command = tuple(_split(text))
        dialect = None if not command else _dialect(name, command)
        if dialect is not None:
            found[name] = Program(name=name, command=command, dialect=dialect)
    return found


def _dialect(name: str, command: tuple[str, ...]) -> Dialect | None:
    for each in (name, *(Path(part).stem for part in command)):
        for known, dialect in DIALECTS.items():
            if each == known or each.startswith(f"{known}-"):
                return dialect
    return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []
