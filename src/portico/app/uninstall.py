"""Remove an installation: only what is known to be Portico's, in folders that are its own."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.system.files import short_folder
from portico.adapters.system.installed_files import (
    found_in,
    is_anothers,
    remove,
    remove_if_empty,
    size_of,
)
from portico.app.app_context import AppContext
from portico.interfaces.cli.services import (
    Belonging,
    ConnectedClient,
    Estate,
    Leftover,
    OddHome,
)
from portico.kernel.errors import PorticoError
from portico.settings.load import process_environment

_CONFIG: Final = {
    "portico.toml": "settings",
    "provisioned.toml": "addresses of the database",
    "client.key": "your key",
    "agent.key": "the key of programs that act for you",
    "demo.key": "the key of the demo",
    "demo-agent.key": "the key of the demo's agent",
    ".*.toml.*": "a file that was half written",
    ".*.key.*": "a file that was half written",
}
_DATA: Final = {
    "postgres": "the database",
    "postgres-locks": "who uses the database",
    "secrets": "passwords, the pepper of keys, the key of secrets",
    "secrets.age": "secrets",
    "secrets.lock": "who uses the secrets",
    ".secrets.age.*": "a file that was half written",
    "homes": "homes of servers of tools",
    "workspaces": "workspaces of agents",
    "server": "what is known of the running server",
}
_STATE: Final = {
    "logs": "logs",
    "clients": "files of clients, as they were before they were connected",
    "audit-heads.ndjson": "heads of the audit",
    "debates": "logs of debates",
    "backups": "backups",
}
_CACHE: Final = {"models": "models for search by meaning"}
_MARKS: Final = ("portico.toml", "client.key", "secrets", "postgres-locks")
"""What no folder has by chance all of; one of them shows that there is an installation."""


@dataclass(frozen=True)
class AppUninstalling:
    app: AppContext

    def connected(self) -> Sequence[ConnectedClient]:
        from portico.app.client_configs import client_files

        found = client_files(self.app).leading_here(Path.cwd())
        return [ConnectedClient(title=title, file=file) for title, file in found]

    def estate(self) -> Estate:
        self._see_that_it_is_ours()
        places = self._places()
        paths = self.app.loaded.paths
        marks = [folder / name for folder in (paths.config, paths.data) for name in _MARKS]
        if not any(mark.exists() for mark in marks):
            return Estate(belongings=(), left=tuple(self._elsewhere()), folders=())
        found = [each for folder, known in places.items() for each in found_in(folder, known)]
        ours = [
            Belonging(path=each.path, what=each.what, size=size_of(each.path))
            for each in found
            if each.what is not None
        ]
        strange = [
            Leftover(path=str(each.path), why="it is not known to be Portico's")
            for each in found
            if each.what is None and each.path not in places
        ]
        links = [
            Leftover(path=str(folder), why=f"it is a link to {folder.readlink()}")
            for folder in places
            if folder.is_symlink()
        ]
        return Estate(
            belongings=(*ours, *self._sockets()),
            left=(*strange, *links, *self._elsewhere()),
            folders=(*places, *self._home),
        )

    async def stop_database(self) -> bool:
        from portico.engine.core.errors import StoreUnavailable

        try:
            return await self.app.store.stop(force=True)
        except StoreUnavailable:
            raise
        except PorticoError:  # one that was never set up has nothing that runs
            return False

    def purge(self, estate: Estate, progress: Callable[[str], None]) -> Sequence[Leftover]:
        self._see_that_it_is_ours()
        left = list(self._forget_keyring())
        for each in estate.belongings:
            progress(f"removing {each.path}")
            try:
                remove(each.path)
            except OSError as error:
                left.append(Leftover(path=str(each.path), why=error.strerror or str(error)))
        for folder in estate.folders:
            remove_if_empty(folder)
        return left

    def remove_package(self) -> str:
        from portico.adapters.system.installed_files import removal

        return removal("portico")

    def _places(self) -> Mapping[Path, Mapping[str, str]]:
        """Some of them are the same folder, for root."""
        paths = self.app.loaded.paths
        known = ((paths.config, _CONFIG), (paths.data, _DATA), (paths.state, _STATE))
        places: dict[Path, dict[str, str]] = {}
        for folder, names in (*known, (paths.cache, _CACHE)):
            places.setdefault(folder, {}).update(names)
        return places

    @property
    def _home(self) -> Sequence[Path]:
        home = process_environment().get("PORTICO_HOME")
        return [Path(home).expanduser().absolute()] if home else []

    def _see_that_it_is_ours(self) -> None:
        """Raises `OddHome`."""
        for folder in (*self._home, *self._places()):
            if is_anothers(folder, Path.home()):
                raise OddHome(folder)

    def _sockets(self) -> Iterator[Belonging]:
        """Folders for sockets, where ours have too long a name."""
        paths = self.app.loaded.paths
        for wanted in (paths.data / "server", paths.postgres / "run"):
            folder = short_folder(wanted)
            if folder != wanted and _is_own_folder(folder):
                yield Belonging(path=folder, what="sockets", size=0)

    def _elsewhere(self) -> Iterator[Leftover]:
        if self.app.loaded.settings.database.dsn is not None:
            yield Leftover(path="the database", why="it is a PostgreSQL of your own")

    def _forget_keyring(self) -> Iterator[Leftover]:
        """Secrets that are not in a file of ours."""
        from portico.adapters.secrets import OsKeyring
        from portico.app.secrets import SecretDependencies
        from portico.guard.core.secrets import SecretsUnavailable

        if not self.app.loaded.paths.installation_file.exists():
            return
        try:
            drawer = SecretDependencies(self.app).drawer
            if not isinstance(drawer, OsKeyring):
                return
            for space in drawer.spaces():
                for name in drawer.all(space):
                    drawer.change(space, name, lambda _: None)
        except SecretsUnavailable as error:
            yield Leftover(path="the system's keyring", why=str(error))


def _is_own_folder(path: Path) -> bool:
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
