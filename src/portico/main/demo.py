"""The space of `portico demo` as this machine knows it: two keys, and what its servers leave."""

import shutil
from dataclasses import dataclass

from portico.faces.cli.house import House
from portico.kernel.ids import SpaceId
from portico.settings.paths import Paths


@dataclass(frozen=True, slots=True)
class PorticoDemo:
    house: House
    paths: Paths

    def forget(self, space: str | None) -> None:
        if space is not None:
            own = str(SpaceId.parse(space))
            for folder in (self.paths.homes, self.paths.workspaces):
                shutil.rmtree(folder / own, ignore_errors=True)
        for key in (self.paths.demo_key_file, self.paths.demo_agent_key_file):
            key.unlink(missing_ok=True)
