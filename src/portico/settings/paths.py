"""Where things are kept: the platform's own folders, or all of them below `PORTICO_HOME`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs


@dataclass(frozen=True, slots=True)
class Paths:
    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "portico.toml"

    @property
    def provisioned_file(self) -> Path:
        """Addresses with passwords, written by `db provision`, readable by the user alone."""
        return self.config / "provisioned.toml"

    @property
    def key_file(self) -> Path:
        return self.config / "client.key"

    @property
    def agent_key_file(self) -> Path:
        """What `portico stdio` comes in with: the programs that start it are not the user."""
        return self.config / "agent.key"

    @property
    def demo_key_file(self) -> Path:
        """Of whoever looks at the space that `portico demo` has made."""
        return self.config / "demo.key"

    @property
    def demo_agent_key_file(self) -> Path:
        return self.config / "demo-agent.key"

    @property
    def secrets(self) -> Path:
        return self.data / "secrets"

    @property
    def passwords_file(self) -> Path:
        return self.secrets / "postgres.json"

    @property
    def pepper_file(self) -> Path:
        return self.secrets / "pepper"

    @property
    def secrets_file(self) -> Path:
        """What `portico secrets set` was given, where there is no keyring: encrypted by age."""
        return self.data / "secrets.age"

    @property
    def identity_file(self) -> Path:
        """What opens that file."""
        return self.secrets / "age.identity"

    @property
    def installation_file(self) -> Path:
        """A name for what this installation keeps in the keyring of its user."""
        return self.secrets / "installation"

    @property
    def postgres(self) -> Path:
        return self.data / "postgres"

    @property
    def homes(self) -> Path:
        """Of servers that run in a box, a folder each."""
        return self.data / "homes"

    @property
    def workspaces(self) -> Path:
        """Of the built-in tools, a folder a principal."""
        return self.data / "workspaces"

    @property
    def log_file(self) -> Path:
        return self.state / "logs" / "portico.log"

    @property
    def audit_heads_file(self) -> Path:
        return self.state / "audit-heads.ndjson"

    @property
    def models(self) -> Path:
        """Encoders that were fetched; what is gone can be fetched again."""
        return self.cache / "models"

    @property
    def debate_logs(self) -> Path:
        return self.state / "debates"

    @property
    def of_spaces(self) -> tuple[Path, ...]:
        """In each, a space has a folder by its own id, which goes with it."""
        return self.homes, self.workspaces, self.debate_logs

    @property
    def clients(self) -> Path:
        """What `connect` has written into the files of clients, and how they were before."""
        return self.state / "clients"

    @property
    def backups(self) -> Path:
        return self.state / "backups"


def find_paths(environment: Mapping[str, str]) -> Paths:
    if home := environment.get("PORTICO_HOME"):
        root = Path(home).expanduser().absolute()
        return Paths(root / "config", root / "data", root / "state", root / "cache")
    dirs = PlatformDirs("portico", appauthor=False, use_site_for_root=True)
    data = dirs.user_state_path if _is_root() else dirs.user_data_path
    return Paths(dirs.user_config_path, data, dirs.user_state_path, dirs.user_cache_path)


def _is_root() -> bool:
    """Root's home is closed to the account that its PostgreSQL runs as; /var/lib is not."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
