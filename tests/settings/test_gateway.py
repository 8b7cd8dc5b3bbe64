"""Servers of tools in the configuration, and how they are treated."""

from pathlib import Path

import pytest

from portico.kernel.errors import Flaw
from portico.settings.edit import with_setting
from portico.settings.errors import InvalidSettings
from portico.settings.load import Loaded, check, load
from portico.settings.model import Settings

SERVERS = """\
[servers.weather]
command = "uvx"
args = ["weather", "--key", "${WEATHER_KEY}"]
env = { TOKEN = "SECRET-token", HOME_TOWN = "${NOT_SET}" }

[servers.team]
url = "https://tools.example/mcp"
headers = { Authorization = "Bearer SECRET-header" }
"""


class Machine:
    def __init__(self, root: Path) -> None:
        self.file = root / "home" / "config" / "portico.toml"
        self.project = root / "project" / "portico.toml"
        for each in (self.file, self.project):
            each.parent.mkdir(parents=True)
        self.environment = {"PORTICO_HOME": str(root / "home")}

    def load(self) -> Loaded:
        return load(self.environment, folder=self.project.parent)

    def flaws(self) -> list[Flaw]:
        with pytest.raises(InvalidSettings) as caught:
            self.load()
        return [*caught.value.flaws]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_servers_are_tables_and_their_variables_are_left_alone(machine: Machine) -> None:
    machine.file.write_text(SERVERS)

    servers = machine.load().settings.servers

    assert list(servers) == ["weather", "team"]
    assert servers["weather"].args == ("weather", "--key", "${WEATHER_KEY}")
    assert servers["weather"].env["HOME_TOWN"] == "${NOT_SET}"
    check(SERVERS, machine.file)


@pytest.mark.requirement("settings:secrets:hidden")
def test_what_servers_are_given_is_known_as_secret_and_not_shown(machine: Machine) -> None:
    machine.file.write_text(SERVERS)
    loaded = machine.load()

    assert {"SECRET-token", "Bearer SECRET-header"} <= set(loaded.secrets())
    assert "SECRET" not in str(dict(loaded.leaves()))


@pytest.mark.parametrize(
    ("text", "field", "message", "line"),
    [
        ('[servers.x]\ncommand = "a"\nargs = "b"', "servers.x.args", "valid tuple", 3),
        ('[servers.x]\ncommand = "a"\nfrom = "b"', "servers.x.from", "no such setting", 3),
        ("[servers.x]\n", "servers.x", "either a command or a url", 1),
        ('[servers.x]\ncommand = "a"\nurl = "b"', "servers.x.url", "must be an address", 3),
        ('[servers.X]\ncommand = "a"', "servers.X", "must be small letters", 1),
        ("servers = 5", "servers", "must be a table", 1),
        ("[servers]\nx = 5", "servers.x", "valid dictionary", 2),
    ],
)
def test_a_slip_is_told_with_its_line(
    machine: Machine, text: str, field: str, message: str, line: int
) -> None:
    machine.file.write_text(text)

    flaws = machine.flaws()

    assert [flaw.field for flaw in flaws] == [field]
    assert message in flaws[0].message
    assert flaws[0].message.endswith(f"({machine.file}:{line})")


@pytest.mark.requirement("settings:sources:trust")
def test_a_folder_brings_no_servers(machine: Machine) -> None:
    machine.project.write_text('[servers.x]\ncommand = "a"\n[gateway]\nimports = ["x.json"]')

    assert [flaw.field for flaw in machine.flaws()] == ["servers.x", "gateway.imports"]


def test_a_list_is_parted_by_commas_where_it_is_a_text(machine: Machine) -> None:
    machine.environment["PORTICO_GATEWAY__IMPORTS"] = "~/.cursor/mcp.json, /srv/mcp.json,"

    imports = machine.load().settings.gateway.imports

    assert imports == ("~/.cursor/mcp.json", "/srv/mcp.json")


def test_a_list_is_written_as_one(machine: Machine) -> None:
    machine.file.write_text(with_setting("", "gateway.imports", "a.json,b.json", machine.file))

    assert 'imports = ["a.json", "b.json"]' in machine.file.read_text()
    assert machine.load().settings.gateway.imports == ("a.json", "b.json")


def test_a_name_with_a_comma_can_be_in_a_list(machine: Machine) -> None:
    machine.file.write_text(with_setting("", "gateway.imports", ["a,b.json"], machine.file))

    assert machine.load().settings.gateway.imports == ("a,b.json",)


def test_the_defaults_are_those_that_the_pages_quote() -> None:
    gateway = Settings().gateway

    assert (gateway.processes, gateway.idle_after) == (64, 600)
    assert (gateway.call_timeout, gateway.start_timeout) == (30, 60)
    assert (gateway.search_budget, gateway.surface_tokens) == (1500, 1000)
