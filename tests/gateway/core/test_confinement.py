"""How a server is held, what that is called, how it is kept, and what is proposed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.system.shipped_lists import shipped_profiles
from portico.gateway.core.confinement import (
    MOST,
    parse_profiles,
    profile_from,
    profile_json,
    unboxed_from,
    unboxed_json,
)
from portico.gateway.core.pins import Package, package_of
from portico.gateway.core.servers import (
    Confinement,
    Hold,
    Plain,
    Stdio,
    Unboxed,
    hold_of,
    let_out,
    said,
    widens,
    within,
)
from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import BadPlace, BadProfile
from portico.sandbox.core.profile import Network, Place, Profile
from portico.testing.memory_store import BEGINNING

CONSENT = Unboxed(by="ana", at=BEGINNING, launch_pin="p1")
DB = Place("db.example", 5432)
BASE = Profile(read=("/srv/keys",), write=("/srv/notes",), reach=(DB,))


def test_only_the_configuration_lets_out_of_a_box_and_only_consent_does_without() -> None:
    rows: list[tuple[Unboxed | None, bool, tuple[str, ...], Hold]] = [
        (None, True, (), Hold.BOXED),
        (CONSENT, True, (), Hold.BOXED),
        (None, True, ("files:p1",), Hold.UNBOXED),
        (None, False, ("files:p1",), Hold.UNBOXED),
        (None, True, ("files:p0", "files", "others:p1"), Hold.BOXED),
        (None, False, ("files:p0", "files", "others:p1"), Hold.REFUSED),
        (CONSENT, False, (), Hold.UNBOXED),
        (replace(CONSENT, launch_pin="p0"), False, (), Hold.REFUSED),
    ]

    for consent, offered, named, hold in rows:
        lacking = not offered

        found = hold_of("files", "p1", consent, offered=offered, lacking=lacking, named=named)

        assert found is hold
    at_the_moment = hold_of("files", "p1", CONSENT, offered=False, lacking=False, named=())
    assert at_the_moment is Hold.REFUSED


def test_only_the_beginning_of_a_pin_has_to_be_named() -> None:
    assert let_out("files", "0123456789abcdef") == "files:0123456789ab"


def test_what_it_may_reach_is_said_in_one_line() -> None:
    rows: list[tuple[Hold, Profile | None, str]] = [
        (Hold.ELSEWHERE, None, "runs elsewhere"),
        (Hold.OURS, None, "part of Portico"),
        (Hold.REFUSED, BASE, "no box here: does not start"),
        (Hold.UNBOXED, BASE, "NOT BOXED: all rights of Portico itself"),
        (Hold.BOXED, None, "network: none · own home"),
        (Hold.BOXED, Profile(network=Network.PUBLIC), "network: public · own home"),
        (
            Hold.BOXED,
            Profile(network=Network.PUBLIC, reach=(DB,), write=("/home/ana/notes", "/srv")),
            "network: public, db.example:5432 · writes ~/notes, /srv · own home",
        ),
        (
            Hold.BOXED,
            Profile(reach=(DB,), read=("/home/ana", "/home/anabel/x")),
            "network: db.example:5432 · reads ~, /home/anabel/x · own home",
        ),
    ]

    for hold, profile, sentence in rows:
        assert said(Confinement(hold=hold, profile=profile), "/home/ana") == sentence


def test_without_a_home_paths_are_whole() -> None:
    held = Confinement(hold=Hold.BOXED, profile=Profile(write=("/home/ana/notes",)))

    assert said(held) == "network: none · writes /home/ana/notes · own home"


def test_a_folder_holds_what_is_below_it_and_no_namesake() -> None:
    rows: list[tuple[str, str, bool]] = [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
    ]

    for path, folder, inside in rows:
        assert within(path, folder) is inside


def test_what_can_be_reached_now_and_could_not_before_is_more() -> None:
    public = Profile(network=Network.PUBLIC)
    rows: list[tuple[Profile, Profile, bool]] = [
        (BASE, BASE, False),
        (BASE, Profile(), False),
        (BASE, replace(BASE, write=("/srv/notes/today",)), False),
        (BASE, replace(BASE, read=("/srv/notes",), write=()), False),
        (BASE, replace(BASE, read=("/srv/keys/one",)), False),
        (BASE, replace(BASE, read=("/srv",)), True),
        (BASE, replace(BASE, write=("/srv/keys",)), True),
        (BASE, replace(BASE, write=("/srv/notes-2",)), True),
        (BASE, replace(BASE, network=Network.PUBLIC), True),
        (BASE, replace(BASE, reach=(Place("db.example", 5433),)), True),
        (BASE, replace(BASE, reach=()), False),
        (public, replace(public, reach=(Place("example.org", 443),)), True),
        (public, Profile(), False),
    ]

    for before, after, more in rows:
        assert widens(before, after) is more


_FOLDERS = st.lists(st.sampled_from(["/a", "/a/b", "/a/b/c", "/ab", "/d"]), max_size=3)
_PROFILES = st.builds(
    lambda read, write, network, reach: Profile(
        read=tuple(read), write=tuple(write), network=network, reach=tuple(reach)
    ),
    _FOLDERS,
    _FOLDERS,
    st.sampled_from(Network),
    st.lists(st.sampled_from([DB, Place("::1", 80)]), max_size=2),
)


@given(_PROFILES, _PROFILES, _PROFILES)
def test_who_narrows_twice_has_not_widened(first: Profile, second: Profile, third: Profile) -> None:
    assert not widens(first, first)
    if not widens(first, second) and not widens(second, third):
        assert not widens(first, third)


FULL = Profile(
    read=("/srv/é",),
    write=("/srv/notes", "/srv/mail"),
    network=Network.PUBLIC,
    reach=(Place("::1", 80), Place("db.example", 5432)),
)


def test_a_profile_comes_back_as_it_was() -> None:
    rows: list[Profile] = [FULL, Profile()]

    for profile in rows:
        assert profile_from(profile_json(profile)) == profile


def test_a_consent_comes_back_as_it_was() -> None:
    consent = Unboxed(by="ana", at=BEGINNING, launch_pin="p")

    assert unboxed_from({k: str(v) for k, v in unboxed_json(consent).items()}) == consent


def test_what_is_left_out_is_nothing_and_paths_are_tidied() -> None:
    found = profile_from({"write": ["/srv//notes/./", "/srv//notes/./"]})

    assert found == Profile(write=("/srv/notes",))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("all", "not an object"),
        ({"reads": []}, "'reads'"),
        ({"read": "/srv"}, "not a list"),
        ({"read": None}, "not a list"),
        ({"read": [1]}, "no text"),
        ({"read": ["/srv"] * (MOST + 1)}, f"more than {MOST}"),
        ({"read": ["srv"]}, "not a whole path"),
        ({"read": ["~/srv"]}, "not a whole path"),
        ({"read": ["/" + "a" * 5000]}, "not a whole path"),
        ({"read": ["/srv/../etc"]}, "another path"),
        ({"read": ["/srv/\0"]}, "another path"),
        ({"read": ["/srv/\u202e"]}, "another path"),
        ({"write": ["/"]}, "whole disk"),
        ({"write": ["//."]}, "whole disk"),
        ({"network": "all"}, "neither none nor public"),
        ({"network": None}, "neither none nor public"),
    ],
)
def test_what_is_no_profile_is_refused_with_a_reason(value: JsonValue, reason: str) -> None:
    with pytest.raises(BadProfile, match=reason):
        profile_from(value)


def test_a_place_without_a_port_is_refused() -> None:
    with pytest.raises(BadPlace):
        profile_from({"reach": ["db.example"]})


KNOWN = parse_profiles('{"npm:mail": ["mail.example:443"], "pypi:time": []}')
DEFAULT = Profile(write=("/srv",), network=Network.PUBLIC, reach=(Place("127.0.0.1", 8080),))


def test_a_known_server_keeps_its_folders_and_loses_the_network_that_it_does_not_need() -> None:
    mail = KNOWN.of(Package("npm", "mail", "1.0"), DEFAULT)
    time = KNOWN.of(Package("pypi", "time"), DEFAULT)

    assert mail == Profile(
        write=("/srv",), reach=(Place("mail.example", 443), Place("127.0.0.1", 8080))
    )
    assert time == Profile(write=("/srv",), reach=(Place("127.0.0.1", 8080),))


def test_nothing_is_proposed_for_a_server_that_is_not_known_or_not_tighter() -> None:
    rows: list[tuple[Package | None, Profile]] = [
        (None, DEFAULT),
        (Package("npm", "time"), DEFAULT),
        (Package("pypi", "mail"), DEFAULT),
        (Package("pypi", "time"), Profile(write=("/srv",))),
    ]

    for package, default in rows:
        assert KNOWN.of(package, default) is None


def test_well_known_servers_are_known_by_the_command_that_runs_them() -> None:
    rows: list[tuple[tuple[str, ...], str]] = [
        (("npx", "-y", "@modelcontextprotocol/server-github"), "api.github.com:443"),
        (("uvx", "mcp-server-time@2026.10.19"), ""),
        (("npx", "@modelcontextprotocol/server-filesystem", "/srv"), ""),
    ]

    for command, places in rows:
        launch = Stdio(command[0], tuple(map(Plain, command[1:])))

        found = shipped_profiles().of(package_of(launch), Profile(network=Network.PUBLIC))

        assert found is not None, command
        assert found.network is Network.NONE, command
        assert ", ".join(map(str, found.reach)) == places
