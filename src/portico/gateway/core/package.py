"""Which published package a launch runs, if its command says so and nothing else could."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.pin import decides_the_code
from portico.gateway.core.server import Inside, Launch, Plain, Stdio

_NPM: Final = re.compile(r"((?:@[\w.-]+/)?[\w.-]+)(?:@(\d[\w.+-]*))?")
_PYPI: Final = re.compile(r"([\w.-]+)(?:(?:==|@)(\d[\w.+-]*))?")
_LAUNCHERS: Final = {
    ("npx",): ("npm", _NPM),
    ("bunx",): ("npm", _NPM),
    ("pnpm", "dlx"): ("npm", _NPM),
    ("uvx",): ("pypi", _PYPI),
    ("uv", "tool", "run"): ("pypi", _PYPI),
    ("pipx", "run"): ("pypi", _PYPI),
}
_HARMLESS: Final = frozenset({"-y", "--yes", "-q", "--quiet"})


@dataclass(frozen=True, slots=True)
class Package:
    ecosystem: str
    name: str
    version: str | None = None
    """None where the launch leaves it open."""

    @property
    def key(self) -> str:
        return f"{self.ecosystem}:{self.name}"

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} {self.version}"


def package_of(launch: Launch) -> Package | None:
    """None for whatever could run something else: another registry, a loader, a further
    option, an argument that is read from elsewhere."""
    if isinstance(launch, Inside):
        return Package("portico", launch.name, launch.version)
    if not isinstance(launch, Stdio) or any(map(decides_the_code, launch.environment)):
        return None
    line = [launch.command.rpartition("/")[2], *_plain(launch)]
    for words, (ecosystem, form) in _LAUNCHERS.items():
        if tuple(line[: len(words)]) == words:
            return _named(ecosystem, form, line[len(words) :])
    return None


def _plain(launch: Stdio) -> Iterator[str]:
    for value in launch.arguments:
        if not isinstance(value, Plain):
            return
        yield value.value


def _named(ecosystem: str, form: re.Pattern[str], rest: Sequence[str]) -> Package | None:
    first = next((word for word in rest if word not in _HARMLESS), "")
    found = form.fullmatch(first)
    return Package(ecosystem, found[1], found[2]) if found and first[0] != "-" else None
