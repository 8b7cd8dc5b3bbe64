"""What to put where, so that a client comes in through Portico."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

KEY: Final = "ptc_…"
"""Stands for the key, which nobody is shown twice."""
_STDIO: Final = {"command": "portico", "args": ["stdio", "--start"]}


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    file: str
    snippet: str

    @property
    def needs_key(self) -> bool:
        return any(sign in self.snippet for sign in (KEY, "bearer_token_env_var"))


def clients(base_url: str) -> Sequence[Client]:
    """As their makers document it."""
    url, bearer = f"{base_url}/mcp", {"Authorization": f"Bearer {KEY}"}
    http = {"type": "http", "url": url, "headers": bearer}
    return [
        Client(
            "Claude Code",
            "in a terminal",
            f'claude mcp add --transport http portico {url} --header "Authorization: Bearer {KEY}"',
        ),
        Client("Claude Desktop", "claude_desktop_config.json", _json("mcpServers", _STDIO)),
        Client(
            "Cursor",
            "~/.cursor/mcp.json",
            _json("mcpServers", {"url": url, "headers": bearer}),
        ),
        Client("VS Code", ".vscode/mcp.json", _json("servers", http)),
        Client(
            "Windsurf",
            "~/.codeium/windsurf/mcp_config.json",
            _json("mcpServers", {"serverUrl": url, "headers": bearer}),
        ),
        Client("Zed", "settings.json", _json("context_servers", _STDIO)),
        Client(
            "Codex",
            "~/.codex/config.toml",
            f'[mcp_servers.portico]\nurl = "{url}"\nbearer_token_env_var = "PORTICO_KEY"',
        ),
        Client(
            "Gemini CLI",
            "~/.gemini/settings.json",
            _json("mcpServers", {"httpUrl": url, "headers": bearer}),
        ),
        Client("Any other, over HTTP", "its list of servers", _json("mcpServers", http)),
        Client("Any other, over stdio", "its list of servers", _json("mcpServers", _STDIO)),
    ]


def _json(listed: str, entry: object) -> str:
    return json.dumps({listed: {"portico": entry}}, indent=2, ensure_ascii=False)
