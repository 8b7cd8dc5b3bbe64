"""Profiles and consents as they are kept and sent, and what is none."""

import pytest

from portico.box.core.errors import BadPlace, BadProfile
from portico.box.core.profile import Network, Place, Profile
from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.profile_text import (
    MOST,
    profile_from,
    profile_json,
    unboxed_from,
    unboxed_json,
)
from portico.kernel.json import JsonValue
from portico.testing.kernel import BEGINNING

FULL = Profile(
    read=("/srv/é",),
    write=("/srv/notes", "/srv/mail"),
    network=Network.PUBLIC,
    reach=(Place("::1", 80), Place("db.example", 5432)),
)


@pytest.mark.parametrize("profile", [FULL, Profile()])
def test_a_profile_comes_back_as_it_was(profile: Profile) -> None:
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
