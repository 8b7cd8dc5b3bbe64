"""Which file of a client counts on this machine, and whether the client is here at all."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from portico.gateway.core.client_entry import Home, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlaces:
    home: Path
    environment: Mapping[str, str]
    mac: bool
    which: Callable[[str], str | None] = shutil.which

    def file(self, client: Home, scope: Scope, folder: Path) -> Path:
        """Raises `ClientCannot`."""
        if scope == "project":
            return Path(client.project_file(str(folder)))
        places = self.all(client)
        there = [each for each in places if each.exists()]
        folders = [each for each in places if self._shows(each)]
        return (there or folders or places)[0]

    def others(self, client: Home, chosen: Path) -> Sequence[Path]:
        """Of other editions of the same client, which are here too."""
        return [each for each in self.all(client) if each != chosen and self._shows(each)]

    def all(self, client: Home) -> Sequence[Path]:
        return list(map(Path, client.files(self.environment, str(self.home), mac=self.mac)))

    def present(self, client: Home) -> bool:
        return any(map(self.which, client.programs)) or any(map(self._shows, self.all(client)))

    def _shows(self, file: Path) -> bool:
        """Its folder is there, and is a client's own."""
        return file.exists() or (file.parent != self.home and file.parent.exists())
