"""How a server is held, what that is called, and what is more than before."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.box.core.profile import Network, Place, Profile
from portico.gateway.core.confinement import (
    Confinement,
    Hold,
    Unboxed,
    hold_of,
    let_out,
    said,
    widens,
    within,
)
from portico.testing.kernel import BEGINNING

CONSENT = Unboxed(by="ana", at=BEGINNING, launch_pin="p1")
DB = Place("db.example", 5432)
BASE = Profile(read=("/srv/keys",), write=("/srv/notes",), reach=(DB,))


@pytest.mark.parametrize(
    ("consent", "offered", "named", "hold"),
    [
        (None, True, (), Hold.BOXED),
        (CONSENT, True, (), Hold.BOXED),
        (None, True, ("files:p1",), Hold.UNBOXED),
        (None, False, ("files:p1",), Hold.UNBOXED),
        (None, True, ("files:p0", "files", "others:p1"), Hold.BOXED),
        (None, False, ("files:p0", "files", "others:p1"), Hold.REFUSED),
        (CONSENT, False, (), Hold.UNBOXED),
        (replace(CONSENT, launch_pin="p0"), False, (), Hold.REFUSED),
    ],
)
def test_only_the_configuration_lets_out_of_a_box_and_only_consent_does_without(
    consent: Unboxed | None, offered: bool, named: tuple[str, ...], hold: Hold
) -> None:
    lacking = not offered

    found = hold_of("files", "p1", consent, offered=offered, lacking=lacking, named=named)

    assert found is hold


def test_a_box_that_does_not_work_at_the_moment_lets_nobody_out() -> None:
    found = hold_of("files", "p1", CONSENT, offered=False, lacking=False, named=())

    assert found is Hold.REFUSED


def test_only_the_beginning_of_a_pin_has_to_be_named() -> None:
    assert let_out("files", "0123456789abcdef") == "files:0123456789ab"


@pytest.mark.parametrize(
    ("hold", "profile", "sentence"),
    [
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
    ],
)
def test_what_it_may_reach_is_said_in_one_line(
    hold: Hold, profile: Profile | None, sentence: str
) -> None:
    assert said(Confinement(hold=hold, profile=profile), "/home/ana") == sentence


def test_without_a_home_paths_are_whole() -> None:
    held = Confinement(hold=Hold.BOXED, profile=Profile(write=("/home/ana/notes",)))

    assert said(held) == "network: none · writes /home/ana/notes · own home"


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
    ],
)
def test_a_folder_holds_what_is_below_it_and_no_namesake(
    path: str, folder: str, inside: bool
) -> None:
    assert within(path, folder) is inside


@pytest.mark.parametrize(
    ("after", "more"),
    [
        (BASE, False),
        (Profile(), False),
        (replace(BASE, write=("/srv/notes/today",)), False),
        (replace(BASE, read=("/srv/notes",), write=()), False),
        (replace(BASE, read=("/srv/keys/one",)), False),
        (replace(BASE, read=("/srv",)), True),
        (replace(BASE, write=("/srv/keys",)), True),
        (replace(BASE, write=("/srv/notes-2",)), True),
        (replace(BASE, network=Network.PUBLIC), True),
        (replace(BASE, reach=(Place("db.example", 5433),)), True),
        (replace(BASE, reach=()), False),
    ],
)
def test_what_can_be_reached_now_and_could_not_before_is_more(after: Profile, more: bool) -> None:
    assert widens(BASE, after) is more


def test_a_place_on_the_public_network_is_more_than_that() -> None:
    public = Profile(network=Network.PUBLIC)

    assert widens(public, replace(public, reach=(Place("example.org", 443),)))
    assert not widens(public, Profile())


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
