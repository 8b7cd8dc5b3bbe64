"""Where the programs of real servers are: in folders that were named, on the PATH, or, if neither
has them, installed by name into a folder of ours."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PATIENCE: Final = 600


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    beside: tuple[str, ...] = ()
    """What else its environment needs, for a Python one."""
    node: bool = False

    @property
    def shelf(self) -> str:
        """Those that can share an environment do."""
        return "npm" if self.node else "python" + "-".join(["", *map(_plain, self.beside)])

    @property
    def pinned(self) -> str:
        return f"{self.name}@{self.version}" if self.node else f"{self.name}=={self.version}"


_OLDER: Final = ("mcp<2",)
PACKAGES: Final[Mapping[str, Package]] = {
    "mcp-server-filesystem": Package(
        "@modelcontextprotocol/server-filesystem", "2026.8.31", node=True
    ),
    "mcp-server-memory": Package("@modelcontextprotocol/server-memory", "2026.8.31", node=True),
    "mcp-server-everything": Package(
        "@modelcontextprotocol/server-everything", "2026.8.31", node=True
    ),
    "mcp-server-git": Package("mcp-server-git", "2026.10.19"),
    "mcp-server-time": Package("mcp-server-time", "2026.10.19"),
    "mcp-server-sqlite": Package("mcp-server-sqlite", "2025.4.25", _OLDER),
    "mcp-server-tree-sitter": Package("mcp-server-tree-sitter", "0.7.0", _OLDER),
}


@dataclass(frozen=True, slots=True)
class Programs:
    folders: Sequence[Path]
    """Searched in this order, and the PATH after them."""

    def find(self, program: str) -> str | None:
        places = [shutil.which(program, path=str(each)) for each in self.folders]
        return next((each for each in places if each), shutil.which(program))

    def missing(self, programs: Iterable[str]) -> list[str]:
        return [name for name in programs if self.find(name) is None]

    def command(self, program: str) -> list[str]:
        """A script of Node's is given to it: a box has no `/usr/bin/env` to look for it with."""
        found = Path(self.find(program) or program)
        with suppress(OSError, UnicodeDecodeError):
            if "node" in found.read_text(encoding="utf-8").split("\n", 1)[0]:
                return [shutil.which("node") or "node", str(found.resolve())]
        return [str(found)]


def find_programs(wanted: Sequence[str], named: Sequence[Path], cache: Path | None) -> Programs:
    """With those that had to be installed among them. Without a cache nothing is installed."""
    folders = list(named)
    if cache is not None:
        folders += [
            _programs_of(cache, shelf) for shelf in sorted({_shelf(each) for each in wanted})
        ]
        for program in Programs(folders).missing(wanted):
            print(f"installing {PACKAGES[program].pinned} into {cache}", file=sys.stderr)
            _install(PACKAGES[program], cache)
    return Programs(folders)


def _shelf(program: str) -> str:
    return PACKAGES[program].shelf


def _programs_of(cache: Path, shelf: str) -> Path:
    return cache / shelf / ("node_modules/.bin" if shelf == "npm" else "bin")


def _install(package: Package, cache: Path) -> None:
    """Nothing of it runs while it is installed. One that cannot be had is missing, and told so."""
    folder = cache / package.shelf
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError, subprocess.SubprocessError):
        for command in _npm(package, folder) if package.node else _pip(package, folder):
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE)


def _npm(package: Package, folder: Path) -> list[list[str]]:
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    return [[shutil.which("npm") or "npm", "install", *quiet, package.pinned]]


def _pip(package: Package, folder: Path) -> list[list[str]]:
    wanted = ["--only-binary", ":all:", package.pinned, *package.beside]
    if uv := shutil.which("uv"):
        made = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)]
        return [made, [uv, "pip", "install", "--python", str(folder / "bin" / "python"), *wanted]]
    return [
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *wanted],
    ]


def _plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
