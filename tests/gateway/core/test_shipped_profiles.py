"""Tighter profiles are proposed for servers that we know."""

import pytest

from portico.adapters.system.shipped_profiles import shipped_profiles
from portico.box.core.profile import Network, Place, Profile
from portico.gateway.core.package import Package, package_of
from portico.gateway.core.server import Plain, Stdio
from portico.gateway.core.shipped_profiles import parse_profiles

KNOWN = parse_profiles('{"npm:mail": ["mail.example:443"], "pypi:time": []}')
DEFAULT = Profile(write=("/srv",), network=Network.PUBLIC, reach=(Place("127.0.0.1", 8080),))


def test_a_known_server_keeps_its_folders_and_loses_the_network_that_it_does_not_need() -> None:
    mail = KNOWN.of(Package("npm", "mail", "1.0"), DEFAULT)
    time = KNOWN.of(Package("pypi", "time"), DEFAULT)

    assert mail == Profile(
        write=("/srv",), reach=(Place("mail.example", 443), Place("127.0.0.1", 8080))
    )
    assert time == Profile(write=("/srv",), reach=(Place("127.0.0.1", 8080),))


@pytest.mark.parametrize("package", [None, Package("npm", "time"), Package("pypi", "mail")])
def test_nothing_is_proposed_for_a_server_that_is_not_known(package: Package | None) -> None:
    assert KNOWN.of(package, DEFAULT) is None


def test_nothing_is_proposed_where_nothing_would_be_tighter() -> None:
    assert KNOWN.of(Package("pypi", "time"), Profile(write=("/srv",))) is None


@pytest.mark.parametrize(
    ("command", "places"),
    [
        (("npx", "-y", "@modelcontextprotocol/server-github"), "api.github.com:443"),
        (("uvx", "mcp-server-time@2026.10.19"), ""),
        (("npx", "@modelcontextprotocol/server-filesystem", "/srv"), ""),
    ],
)
def test_well_known_servers_are_known_by_the_command_that_runs_them(
    command: tuple[str, ...], places: str
) -> None:
    launch = Stdio(command[0], tuple(map(Plain, command[1:])))

    found = shipped_profiles().of(package_of(launch), Profile(network=Network.PUBLIC))

    assert found is not None
    assert found.network is Network.NONE
    assert ", ".join(map(str, found.reach)) == places


def test_at_least_fifteen_servers_are_known() -> None:
    assert len(shipped_profiles().listed) >= 15
