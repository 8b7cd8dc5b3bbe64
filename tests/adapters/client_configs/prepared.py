"""A home with the files of all clients in it, each as its client or its user has written it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.client_configs import ClientFiles
from portico.adapters.client_entry import ClientConnections, ClientPlaces, EntryStore
from portico.gateway.core.client_entry import Removal

PROGRAM: Final = "/opt/portico/bin/portico"
_FIXTURES: Final = Path(__file__).parents[2] / "gateway/core/client_files/files"
PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "claude-code": (".claude.json", "claude.json"),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "claude_desktop_config.json",
    ),
    "cursor": (".cursor/mcp.json", "cursor-mcp.json"),
    "vscode": (".config/Code/User/mcp.json", "vscode-mcp.json"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcp_config.json"),
    "zed": (".config/zed/settings.json", "zed-settings.json"),
    "codex": (".codex/config.toml", "codex-config.toml"),
    "gemini": (".gemini/settings.json", "gemini-settings.json"),
}


@dataclass(frozen=True)
class Prepared:
    home: Path

    @property
    def connections(self) -> ClientConnections:
        """Those of an installation that reads Cursor's file, on a machine without any program."""
        environment = {"HOME": str(self.home)}
        files = ClientFiles(
            home=self.home,
            environment=environment,
            own_url="http://127.0.0.1:3100",
            own_file=self.home / "portico.toml",
        )
        cursor = str(self.file("cursor"))
        return ClientConnections(
            files=files,
            places=ClientPlaces(
                home=self.home, environment=environment, mac=False, which=lambda _: None
            ),
            stored=EntryStore(self.home / "state" / "clients"),
            folder=self.home / "project",
            started=lambda home: home.started([PROGRAM], {}),
            in_use=lambda: [each for each in [files.read(cursor)] if each is not None],
            notes=["it is a test"],
        )

    def disconnect(self, client: str | None) -> Removal:
        """Takes the one entry of ours out."""
        [removal] = self.connections.ours(client)
        self.connections.take_out(removal)
        return removal

    def file(self, client: str) -> Path:
        return self.home / PLACES[client][0]

    def all_bytes(self) -> dict[str, bytes | None]:
        return {
            client: self.file(client).read_bytes() if self.file(client).exists() else None
            for client in PLACES
        }


def prepared(home: Path, *clients: str) -> Prepared:
    """With the files of those clients."""
    made = Prepared(home)
    for client in clients:
        made.file(client).parent.mkdir(parents=True, exist_ok=True)
        lines = (_FIXTURES / PLACES[client][1]).read_bytes().splitlines(keepends=True)
        made.file(client).write_bytes(b"".join(each for each in lines if b"portico" not in each))
    return made


def written_anew(file: Path, **more: object) -> str:
    """As a client writes its settings: read, something added, all of it written."""
    document = {**json.loads(file.read_text(encoding="utf-8-sig")), **more}
    text = json.dumps(document, indent=4)
    file.write_text(text)
    return text
