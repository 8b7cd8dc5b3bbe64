"""Servers that several files want, and several servers of one name."""

from portico.gateway.core.client_files.telling_apart import told_apart
from portico.gateway.core.client_files.wish import Described, Wish
from portico.gateway.core.server import Foreign, FromFile, Http, Plain, Stdio


def wish(name: str, launch: Foreign, otherwise: str = "") -> Wish:
    return Wish(name=name, called=name, launch=launch, where=f"/{name}", otherwise=otherwise)


def file(name: str, *wishes: Wish) -> Described:
    return Described(origin=name, client=name, wishes=wishes)


def test_the_same_server_in_two_files_is_taken_once() -> None:
    def github(where: str) -> Stdio:
        key = FromFile(where, "/x")
        return Stdio("npx", (Plain("gh"), key), {"TOKEN": key})

    first, second = told_apart(
        [file("a", wish("github", github("a"))), file("b", wish("github", github("b")))]
    )

    assert [each.name for each in first.wishes] == ["github"]
    assert second.wishes == []
    assert [each.left_out for each in second.problems] == [False]


def test_different_servers_of_one_name_are_told_apart() -> None:
    first, second = told_apart(
        [
            file("a", wish("db", Stdio("one")), wish("db", Stdio("two"), "shop")),
            file("b", wish("db", Http("https://x"), "cursor"), wish("y", Http("https://x"))),
        ]
    )

    assert [each.name for each in first.wishes] == ["db", "db-shop"]
    assert [each.name for each in second.wishes] == ["db-cursor", "y"]


def test_what_has_nothing_to_tell_it_apart_is_numbered() -> None:
    [told] = told_apart([file("a", *(wish("db", Stdio(each)) for each in ("x", "y", "z")))])

    assert [each.name for each in told.wishes] == ["db", "db-2", "db-3"]
