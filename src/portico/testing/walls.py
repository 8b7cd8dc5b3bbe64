"""Walls that stand as a test wants them to."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from portico.gateway.core.launch import Texts, approved_texts, paths_in, places_in
from portico.gateway.core.servers import Stdio
from portico.sandbox.core.errors import BadProfile
from portico.sandbox.core.profile import Network, Profile


@dataclass(slots=True, kw_only=True)
class ScriptedWalls:
    holds: bool = True
    """Whether there is a box."""
    failing: bool = False
    """It is there, and does not work at the moment."""
    links: dict[str, str] = field(default_factory=dict)
    """Paths that are others."""
    named: Collection[str] = ()
    home: str = "/home/ana"
    refused: set[str] = field(default_factory=set)
    """Paths that are not there, or are Portico's own."""

    async def offered(self) -> bool:
        return self.holds

    async def lacking(self) -> bool:
        return not self.holds and not self.failing

    async def default(self, launch: Stdio) -> Profile:
        """As if each path that is named were a folder."""
        texts: Texts = approved_texts(launch, {})
        named = [*paths_in(texts, self.home), *filter(None, [launch.folder])]
        return Profile(
            write=tuple(dict.fromkeys(named)),
            network=Network.PUBLIC,
            reach=tuple(dict.fromkeys(places_in(texts))),
        )

    async def check(self, profile: Profile) -> Profile:
        for path in (*profile.read, *profile.write):
            if path in self.refused:
                raise BadProfile(f"there is no {path}")
        return replace(
            profile,
            read=tuple(self.links.get(path, path) for path in profile.read),
            write=tuple(self.links.get(path, path) for path in profile.write),
        )


class NoWalls:
    """Servers of tests, which run as they are."""

    async def cell(self, target: object, command: object, environment: object) -> None:  # noqa: ARG002 # nobody is confined
        return None
