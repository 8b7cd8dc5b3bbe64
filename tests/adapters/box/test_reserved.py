"""Some folders are given to nobody unasked."""

import pytest

from portico.adapters.box.reserved import Reserved, fewest, of_the_system

RESERVED = Reserved("/home/ana", ("/home/ana/.config/portico", "/srv/portico/data"))


@pytest.mark.parametrize(
    ("path", "barred"),
    [
        ("/", True),
        ("/srv", True),
        ("/home", True),
        ("/home/ana", True),
        ("/home/ana/.local", True),
        ("/home/ana/.local/share", True),
        ("/home/ana/.config", True),
        ("/home/ana/.config/portico", True),
        ("/home/ana/.config/portico/client.key", True),
        ("/srv/portico/data/homes/x", True),
        ("/home/ana/notes", False),
        ("/home/ana/.pyenv", False),
        ("/home/ana/.local/share/uv/python/3.12", False),
        ("/home/anabel/notes", False),
        ("/srv/portico", False),
    ],
)
def test_the_home_what_holds_it_shared_drawers_and_our_own_are_barred(
    path: str, barred: bool
) -> None:
    assert RESERVED.bar(path) is barred


def test_what_every_box_has_is_the_systems() -> None:
    assert of_the_system("/usr/bin/python3")
    assert of_the_system("/etc/passwd")
    assert not of_the_system("/opt/node/bin/node")
    assert not of_the_system("/usrlocal")


def test_what_lies_in_another_is_not_named_twice() -> None:
    assert fewest(["/a/b", "/a", "/c", "/a"]) == ("/a", "/c")
    assert fewest(["/a/b", "/ab", "/c/d"], ["/a", "/c/d"]) == ("/ab",)
