"""Pins: the version and package that was approved."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.launch import to_json
from portico.gateway.core.servers import Inside, Launch, Plain, Stdio
from portico.kernel.json import JsonObject, JsonValue, canonical

# Three fingerprints, so that each change is told apart: a definition, a launch, a set of tools.

LOADERS: Final = frozenset(
    [
        "ALL_PROXY",
        "BASH_ENV",
        "CLASSPATH",
        "CURL_CA_BUNDLE",
        "ENV",
        "FTP_PROXY",
        "GCONV_PATH",
        "GOFLAGS",
        "GONOSUMDB",
        "GOPATH",
        "GOPROXY",
        "GOSUMDB",
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "JDK_JAVA_OPTIONS",
        "LUA_CPATH",
        "LUA_INIT",
        "LUA_PATH",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "PATH",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "PROMPT_COMMAND",
        "REQUESTS_CA_BUNDLE",
        "R_PROFILE",
        "SHELLOPTS",
        "SSH_ASKPASS",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "VIRTUAL_ENV",
        "_JAVA_OPTIONS",
    ]
)
"""Variables that decide which code runs: whoever sets one of them sets the command."""

_FAMILIES: Final = (
    *("BUNDLE_", "BUN_", "CARGO_", "DENO_", "DOCKER_", "DOTNET_", "DYLD_", "GEM_"),
    *("GIT_ASKPASS", "GIT_CONFIG", "GIT_EXEC", "GIT_PROXY", "GIT_SSH", "GIT_TEMPLATE"),
    *("JAVA_", "LD_", "NODE_", "NPM_", "PERL", "PIP_", "PNPM_", "PYTHON", "RUBY", "RUSTUP_"),
    *("UV_", "XDG_", "YARN_"),
)
"""Beginnings of the names of those that belong to one loader or to what fetches code."""

_EXACT: Final = 1e16
"""From here on Python writes a float with an exponent, and a store may give it back as an
integer: then the two are the same number to us too."""


def definition_pin(raw: JsonObject) -> str:
    """Over everything a server says of a tool, and nothing else.

    It is SHA-256 of the canonical text, which anybody can compute. Only where a definition
    holds a number such as 1.0, whose canonical text is that of 1, the places of those follow.
    """
    whole = sorted(_whole_floats(raw, ()), key=canonical)
    text = canonical(raw)
    return _digest(text + b"\n" + canonical(whole) if whole else text)


def launch_pin(launch: Launch) -> str:
    """Over the exact command or address, and over what is given to it: plain values as they
    are, references as references, so that a secret can be replaced by the next one."""
    return _digest(canonical(to_json(launch)))


def set_pin(tools: Iterable[Tool]) -> str:
    """Over the names of the tools that a server has now, and the definition of each."""
    return _digest(canonical(sorted([tool.ref.name, tool.pin] for tool in tools if not tool.gone)))


def unpinned_loaders(launch: Launch) -> tuple[str, ...]:
    """Variables that decide which code runs, and whose value the pin cannot hold, because it is
    read from elsewhere each time. Whoever approves such a launch should know."""
    if not isinstance(launch, Stdio):
        return ()
    return tuple(
        sorted(
            name
            for name, value in launch.environment.items()
            if decides_the_code(name) and not isinstance(value, Plain)
        )
    )


def decides_the_code(variable: str) -> bool:
    name = variable.upper()
    return name in LOADERS or name.startswith(_FAMILIES)


def _whole_floats(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[list[JsonValue]]:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        yield [list(path), repr(value)]
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _whole_floats(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield from _whole_floats(item, (*path, index))


def _digest(text: bytes) -> str:
    return sha256(text).hexdigest()


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
