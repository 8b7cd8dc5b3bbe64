"""From how a server is started to what it may reach if nobody says otherwise.

Always: its program, that program's toolchain, the project of a script that it runs, and the
folder that it starts in; all of that to be read. By default also what its launch names: folders
may be changed, files may be read. A file in a command is mostly a key, a configuration or a
script, and whoever could change it could change how it is started the next time.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.first_lines import is_code
from portico.adapters.sandbox.reserved import Reserved, fewest, of_the_system
from portico.adapters.sandbox.toolchain import Toolchain, whole_path
from portico.gateway.core.launch import approved_texts, paths_in, places_in, written_out
from portico.gateway.core.servers import Stdio
from portico.sandbox.core.profile import Network, Place, Profile

_TRUSTED: Final = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
"""Whom this machine trusts."""
_UV: Final = frozenset({"uv", "uvx"})
_MANAGED: Final = ".local/share/uv/python"
_WEB: Final = frozenset({80, 443})
_HERE: Final = "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    program: str
    """By its whole path."""
    needed: tuple[str, ...]
    """To be read, whatever its profile says."""
    folder: str | None
    """Where it starts; None for its own home."""
    searched: tuple[str, ...]
    """Folders of programs, to be looked through after all others."""

    def holding(self, profile: Profile) -> Profile:
        """With what it needs."""
        write = fewest(profile.write)
        return Profile(
            read=fewest((*self.needed, *profile.read), write),
            write=write,
            network=profile.network,
            reach=profile.reach,
        )


@dataclass(frozen=True, slots=True)
class Looking:
    """At this machine, for a launch."""

    reserved: Reserved
    environment: Mapping[str, str]
    """Our own."""

    def surroundings(self, launch: Stdio, program: str, folder: str | None) -> Surroundings:
        """`program` and `folder` as they are resolved. Raises `OSError` where there is no such
        program."""
        path = self.environment.get("PATH", "")
        whole = whole_path(program, path=path, folder=folder)
        tools = Toolchain(self.reserved, path)
        tools.program(whole)
        for script in self._scripts(launch):
            tools.code(script)
        managed = list(self._managed(whole))
        for python in managed:
            tools.program(f"{python}/python3")
        begins = None if folder is None or self.reserved.bar(folder) else folder
        trusted = [self.environment[name] for name in _TRUSTED if name in self.environment]
        given = [each for each in trusted if _is_given(each)]
        return Surroundings(
            program=whole,
            needed=fewest((*tools.found, *given, *filter(None, [begins]))),
            folder=begins,
            searched=tuple(managed),
        )

    def default(self, launch: Stdio) -> Profile:
        """Beside what it needs."""
        texts = approved_texts(launch, self.environment)
        named = [Path(each) for each in self._named(launch)]
        folders = [str(each) for each in named if each.is_dir()]
        files = [str(each) for each in named if each.is_file() and not is_code(each)]
        kept = [each for each in folders if self.reserved.holds_ours(each)]
        write = fewest(each for each in folders if each not in kept)
        return Profile(
            read=fewest((*files, *kept), write),
            write=write,
            network=Network.PUBLIC,
            reach=tuple(dict.fromkeys(filter(_is_meant, places_in(texts)))),
        )

    def _named(self, launch: Stdio) -> Iterator[str]:
        """The folder that it starts in among them."""
        texts = approved_texts(launch, self.environment)
        home = self.reserved.home
        starts = [] if launch.folder is None else [written_out(launch.folder, home)]
        for path in (*starts, *paths_in(texts, home)):
            if not self.reserved.bar(path) and not of_the_system(path):
                yield path

    def _scripts(self, launch: Stdio) -> Sequence[str]:
        named = (Path(each) for each in self._named(launch))
        return [str(each) for each in named if each.is_file() and is_code(each)]

    def _managed(self, program: str) -> Iterator[str]:
        """Pythons that uv has installed for its user, so that not every server gets its own."""
        if Path(program).name in _UV:
            for python in sorted(Path(self.reserved.home, _MANAGED).glob("*/bin/python3")):
                yield str(python.parent)


def _is_meant(place: Place) -> bool:
    """A name on the web is reached by the public network, where its addresses are judged: whoever
    owns it could else lead the box to this machine's neighbours."""
    return place.port not in _WEB or place.host == _HERE or _is_address(place.host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_given(path: str) -> bool:
    return path.startswith("/") and not of_the_system(path) and Path(path).exists()
