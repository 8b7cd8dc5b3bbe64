"""What a server in a box finds in its environment."""

import pytest

from portico.adapters.box.server_environment import fitted
from portico.box.core.profile import Network, Place, Profile

OURS = {
    "HOME": "/home/ana",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin",
    "SHELL": "/bin/zsh",
    "TMPDIR": "/run/ana",
    "USER": "ana",
    "XDG_CACHE_HOME": "/home/ana/.cache",
}
PUBLIC = Profile(network=Network.PUBLIC)


def test_who_and_where_we_are_is_not_told() -> None:
    found = fitted(OURS, {}, program="/usr/bin/node", profile=PUBLIC, searched=())

    assert found == {"LANG": "C.UTF-8", "PATH": "/usr/bin"}


def test_what_was_declared_is_left_as_it_is() -> None:
    declared = {"HOME": "/srv/home", "XDG_CACHE_HOME": "/srv/cache", "TOKEN": "t"}
    given = {**OURS, **declared}

    found = fitted(given, declared, program="/usr/bin/node", profile=PUBLIC, searched=())

    assert found == {"LANG": "C.UTF-8", "PATH": "/usr/bin", **declared}


def test_further_folders_of_programs_come_last() -> None:
    found = fitted(OURS, {}, program="/usr/bin/uvx", profile=PUBLIC, searched=["/opt/a", "/opt/b"])

    assert found["PATH"] == "/usr/bin:/opt/a:/opt/b"


@pytest.mark.parametrize(
    ("program", "profile", "offline"),
    [
        ("/usr/bin/npx", Profile(), True),
        ("/opt/uvx", Profile(reach=(Place("api.example", 443),)), True),
        ("/usr/bin/npx", PUBLIC, False),
        ("/usr/bin/node", Profile(), False),
    ],
)
def test_without_a_network_what_fetches_programs_makes_do_with_what_it_has(
    program: str, profile: Profile, offline: bool
) -> None:
    found = fitted({}, {}, program=program, profile=profile, searched=())

    assert found == ({"npm_config_offline": "true", "UV_OFFLINE": "1"} if offline else {})


def test_a_declared_proxy_is_told_in_both_spellings() -> None:
    declared = {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "a"}

    found = fitted(declared, declared, program="/x", profile=PUBLIC, searched=())

    assert found == {
        "HTTPS_PROXY": "http://proxy:3128",
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": "a",
        "no_proxy": "a",
    }
