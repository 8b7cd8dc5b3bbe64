"""A user's folders, a project's folder, an environment; and the settings that are made of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from portico.kernel.errors import FieldError
from portico.settings.load import InvalidSettings, Loaded, load
from portico.settings.model import Settings


class Machine:
    def __init__(self, root: Path) -> None:
        self.user_file = root / "home" / "config" / "portico.toml"
        self.provisioned_file = root / "home" / "config" / "provisioned.toml"
        self.project_file = root / "project" / "portico.toml"
        for file in (self.user_file, self.project_file):
            file.parent.mkdir(parents=True)
        self.environment = {"PORTICO_HOME": str(root / "home")}

    def load(self, config: Path | None = None, **flags: object) -> Loaded:
        dotted = {name.replace("__", "."): value for name, value in flags.items()}
        return load(self.environment, folder=self.project_file.parent, config=config, flags=dotted)

    def flaws(self) -> list[FieldError]:
        with pytest.raises(InvalidSettings) as caught:
            self.load()
        return [*caught.value.field_errors]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


Read = Callable[[str], Settings]


@pytest.fixture
def read(machine: Machine) -> Read:
    """From the user's own file."""

    def settings(text: str) -> Settings:
        machine.user_file.write_text(text)
        return machine.load().settings

    return settings
