"""The space of `portico demo` as this machine knows it: two keys."""

from dataclasses import dataclass

from portico.interfaces.cli.house import House
from portico.settings.paths import Paths


@dataclass(frozen=True, slots=True)
class PorticoDemo:
    house: House
    paths: Paths

    def forget(self) -> None:
        for key in (self.paths.demo_key_file, self.paths.demo_agent_key_file):
            key.unlink(missing_ok=True)
