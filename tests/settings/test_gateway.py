"""Servers of tools in the configuration, and how they are treated."""

import pytest

from portico.settings.edit import with_setting
from portico.settings.load import check
from tests.settings.conftest import Machine

SERVERS = """\
[servers.weather]
command = "uvx"
args = ["weather", "--key", "${WEATHER_KEY}"]
env = { TOKEN = "SECRET-token", HOME_TOWN = "${NOT_SET}" }

[servers.team]
url = "https://tools.example/mcp"
headers = { Authorization = "Bearer SECRET-header" }
"""


def test_servers_are_tables_and_their_variables_are_left_alone(machine: Machine) -> None:
    machine.user_file.write_text(SERVERS)

    servers = machine.load().settings.servers

    assert list(servers) == ["weather", "team"]
    assert servers["weather"].args == ("weather", "--key", "${WEATHER_KEY}")
    assert servers["weather"].env["HOME_TOWN"] == "${NOT_SET}"
    check(SERVERS, machine.user_file)


@pytest.mark.requirement("settings:secrets:hidden")
def test_what_servers_are_given_is_known_as_secret_and_not_shown(machine: Machine) -> None:
    machine.user_file.write_text(SERVERS)
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
    machine.user_file.write_text(text)

    flaws = machine.flaws()

    assert [flaw.field for flaw in flaws] == [field]
    assert message in flaws[0].message
    assert flaws[0].message.endswith(f"({machine.user_file}:{line})")


@pytest.mark.requirement("settings:sources:trust")
def test_a_folder_brings_no_servers(machine: Machine) -> None:
    machine.project_file.write_text('[servers.x]\ncommand = "a"\n[gateway]\nimports = ["x.json"]')

    assert [flaw.field for flaw in machine.flaws()] == ["servers.x", "gateway.imports"]


def test_a_list_is_parted_by_commas_where_it_is_a_text(machine: Machine) -> None:
    machine.environment["PORTICO_GATEWAY__IMPORTS"] = "~/.cursor/mcp.json, /srv/mcp.json,"

    imports = machine.load().settings.gateway.imports

    assert imports == ("~/.cursor/mcp.json", "/srv/mcp.json")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a.json,b.json", ("a.json", "b.json")), (["a,b.json"], ("a,b.json",))],
)
def test_a_list_is_written_as_one(
    machine: Machine, given: str | list[str], kept: tuple[str, ...]
) -> None:
    machine.user_file.write_text(with_setting("", "gateway.imports", given, machine.user_file))

    assert machine.load().settings.gateway.imports == kept
