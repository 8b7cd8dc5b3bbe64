"""Every client whose file we can read. Another one is a file like these, and a line here."""

from collections.abc import Mapping
from typing import Final

from portico.gateway.core.client_files.claude_code import CLAUDE_CODE
from portico.gateway.core.client_files.claude_desktop import CLAUDE_DESKTOP
from portico.gateway.core.client_files.client import Client
from portico.gateway.core.client_files.codex import CODEX
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.document import Unreadable, parsed
from portico.gateway.core.client_files.gemini import GEMINI
from portico.gateway.core.client_files.mcp_json import MCP_JSON
from portico.gateway.core.client_files.variables import filled
from portico.gateway.core.client_files.vscode import VSCODE
from portico.gateway.core.client_files.windsurf import WINDSURF
from portico.gateway.core.client_files.zed import ZED

CLIENTS: Final = (
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    CURSOR,
    VSCODE,
    WINDSURF,
    ZED,
    CODEX,
    GEMINI,
    MCP_JSON,
)


def user_files(environment: Mapping[str, str], home: str) -> Mapping[str, Client]:
    """Where each client keeps what is for all of a user's work, on any system."""
    return {expanded(each, environment, home): client for client in CLIENTS for each in client.user}


def project_files(folder: str) -> Mapping[str, Client]:
    return {f"{folder}/{each}": client for client in CLIENTS for each in client.project}


def client_of(path: str, text: str, known: Mapping[str, Client]) -> Client:
    """Whose file this is: by where it is, or else by what stands at its top."""
    if path in known:
        return known[path]
    for client in CLIENTS:
        if any(path.endswith(f"/{each}") for each in client.project):
            return client
    try:
        top = parsed(path, text)
    except Unreadable:
        return MCP_JSON
    return next((each for each in (CODEX, ZED, VSCODE) if each.key in top), MCP_JSON)


def expanded(path: str, environment: Mapping[str, str], home: str) -> str:
    """One of the places of a client, on this machine."""
    found = filled(path, "braces", path="", environment=environment)
    return found.replace("~", home, 1) if found.startswith("~") else found
