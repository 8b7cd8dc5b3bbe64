"""What a program needs of this machine in order to run: itself, its interpreter, its libraries.

What is written in files is believed only as far as it does no harm. A server may be able to change
its own script, or the folder of another's: a first line, a link or a `pyvenv.cfg` leads to where
toolchains are kept, and nowhere else.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.first_lines import interpreters
from portico.adapters.sandbox.reserved import Reserved, of_the_system
from portico.gateway.core.servers import within

_PROGRAMS: Final = frozenset({"bin", "sbin", "shims", "libexec"})
_SIGNS: Final = (
    *("lib", "lib64", "libexec", "share", "include", "versions", "pyvenv.cfg"),
    *("node_modules", "package.json", "pyproject.toml", "Cargo.toml", "go.mod"),
)
"""What a folder has beside its `bin` if that is a part of something."""
_ROOTS: Final = (
    *("package.json", "pyproject.toml", "setup.py", "requirements.txt", "deno.json", "Cargo.toml"),
    *("go.mod", "Gemfile", "composer.json", "pom.xml", ".git"),
)
_COMPANIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "uvx": ("uv",),
    "npx": ("node", "npm"),
    "npm": ("node",),
    "pnpm": ("node",),
    "bunx": ("bun",),
}
"""Who calls whom, from the same folder."""
_MOST_HOPS: Final = 40


@dataclass(slots=True)
class Toolchain:
    """Collects folders and files, by the paths under which they will be looked for."""

    reserved: Reserved
    path: str
    """Where programs are looked for."""
    found: dict[str, None] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def program(self, program: str) -> None:
        """By its whole path."""
        if program in self._seen:
            return
        self._seen.add(program)
        *_, last = every = [Path(each) for each in self._hops(program)]
        for hop in every:
            self._place(hop)
        for interpreter in interpreters(last):
            self._led_to(interpreter)
        for companion in _COMPANIONS.get(Path(program).name, ()):
            self._called(str(Path(program).with_name(companion)))

    def code(self, script: str) -> None:
        """Somebody's program text, and the project that it is a part of."""
        for hop in self._hops(script):
            self._add(project_of(hop, self.reserved) or hop)
        for interpreter in interpreters(Path(script)):
            self._led_to(interpreter)

    def _hops(self, path: str) -> Iterator[str]:
        """As far as links lead to where toolchains are, or to something beside the link."""
        yield path
        for link, hop in steps(path):
            if not self._is_harmless(hop) and not within(hop, str(link.parent)):
                return
            yield hop

    def _led_to(self, program: str) -> None:
        """By what stands in a file, not by what somebody has approved."""
        told = os.path.normpath(program)
        if not told.startswith("/") or self._is_harmless(told):
            self._called(told)

    def _is_harmless(self, path: str) -> bool:
        known = of_the_system(path) or self.reserved.keeps_tools(path)
        return known or any(within(path, folder) for folder in self.found)

    def _called(self, program: str) -> None:
        whole = program if program.startswith("/") else shutil.which(program, path=self.path)
        if whole is not None and Path(whole).exists():
            self.program(whole)

    def _place(self, hop: Path) -> None:
        prefix = hop.parent.parent
        if "node_modules" in hop.parts:
            self._add(project_of(str(hop), self.reserved) or str(hop))
        elif hop.parent.name in _PROGRAMS and self._is_prefix(prefix):
            self._add(str(prefix))
            self._base(prefix)
            self._linked(prefix)
        else:
            self._add(str(hop))

    def _is_prefix(self, folder: Path) -> bool:
        return not self.reserved.bar(str(folder)) and _has(folder, _SIGNS)

    def _base(self, prefix: Path) -> None:
        """The Python that a virtual environment was made with."""
        with suppress(OSError, UnicodeDecodeError):
            for line in (prefix / "pyvenv.cfg").read_text().splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home":
                    self._led_to(str(Path(value.strip()) / "python3"))

    def _linked(self, prefix: Path) -> None:
        """The project that an environment is a part of, where it was linked into it to be worked
        on."""
        for file in prefix.glob("lib/python3*/site-packages/*.pth"):
            with suppress(OSError, UnicodeDecodeError):
                for line in map(str.strip, file.read_text().splitlines()):
                    if line.startswith("/") and within(line, str(prefix.parent)):
                        self._add(line)

    def _add(self, path: str) -> None:
        barred = of_the_system(path) or self.reserved.bar(path)
        if not barred and Path(path).exists():
            self.found[path] = None


def whole_path(program: str, *, path: str, folder: str | None) -> str:
    """Raises `FileNotFoundError`, `PermissionError`."""
    if "/" not in program:
        found = shutil.which(program, path=path)
        if found is None:
            raise FileNotFoundError(program)
        return str(Path(found).absolute())
    whole = Path(folder or Path.cwd()) / program
    if not whole.is_file():
        raise FileNotFoundError(program)
    if not os.access(whole, os.X_OK):
        raise PermissionError(program)
    return os.path.normpath(whole)


def steps(path: str) -> Iterator[tuple[Path, str]]:
    """From a path over all links to what it means in the end: each link, and where it leads."""
    for _ in range(_MOST_HOPS):
        step = _step(path)
        if step is None:
            return
        yield step
        path = step[1]


def _step(path: str) -> tuple[Path, str] | None:
    """With its first link followed."""
    current, parts = Path("/"), Path(path).parts[1:]
    for place, part in enumerate(parts):
        current = current / part
        if current.is_symlink():
            target = current.parent / current.readlink()
            return current, os.path.normpath(target.joinpath(*parts[place + 1 :]))
    return None


def project_of(path: str, reserved: Reserved) -> str | None:
    """The folder that holds all of a program's own text, if that can be told; else its own; none
    if that would be too much."""
    outermost = path.find("/node_modules/")
    if outermost > 0 and not reserved.bar(path[:outermost]):
        return path[:outermost]
    folder = own = Path(path).parent
    while not reserved.bar(str(folder)):
        if _has(folder, _ROOTS):
            return str(folder)
        folder = folder.parent
    return None if reserved.bar(str(own)) else str(own)


def _has(folder: Path, signs: tuple[str, ...]) -> bool:
    return any((folder / sign).exists() for sign in signs)
