"""What `portico connect` has written where, and how each file was before."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portico.adapters.system.private_files import private_folder, write_private
from portico.gateway.core.config_edits import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    client: str
    file: str
    existed: bool
    """Whether there was such a file before."""
    trace: Trace
    written: str
    """The digest of what we left there."""
    key: str | None = None
    """The id of the key that was made for it."""
    foreign: bool = False
    """Another entry of our name was there."""


@dataclass(frozen=True, slots=True)
class Kept:
    folder: Path

    def save(self, connection: Connection, before: bytes) -> Path:
        """The copy of the file as it was."""
        private_folder(self.folder)
        copy = self.copy_of(connection)
        copy.touch(0o600)
        copy.write_bytes(before)
        write_private(self._record(connection.file), json.dumps(asdict(connection), indent=2))
        return copy

    def of(self, file: str) -> Connection | None:
        return next((each for each in self.all() if each.file == file), None)

    def all(self) -> Iterator[Connection]:
        for record in sorted(self.folder.glob("*.json")):
            found: dict[str, Any] = json.loads(record.read_text())
            trace = Trace(**found.pop("trace"))
            yield Connection(**found, trace=trace)

    def copy_of(self, connection: Connection) -> Path:
        name = self._record(connection.file).stem
        return self.folder / f"{connection.client}-{name}.before"

    def forget(self, connection: Connection, *, copy_too: bool) -> None:
        self._record(connection.file).unlink(missing_ok=True)
        if copy_too:
            self.copy_of(connection).unlink(missing_ok=True)

    def _record(self, file: str) -> Path:
        return self.folder / f"{hashlib.sha256(file.encode()).hexdigest()[:12]}.json"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
