"""Names as words, and types beside one another."""

import pytest

from portico.gateway.core.edges.kinship import Kinship, kinship
from portico.gateway.core.edges.words import share, spelled, words


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("originSkyIds", ("origin", "sky", "id")),
        ("HTTPServer_names", ("http", "server", "name")),
        ("cities", ("city",)),
        ("status", ("status",)),
        ("address", ("address",)),
        ("bus", ("bus",)),
        ("ties", ("tie",)),
        ("", ()),
    ],
)
def test_a_name_is_its_words_in_the_singular(name: str, found: tuple[str, ...]) -> None:
    assert words(name) == found


def test_spellings_of_one_name_are_the_same() -> None:
    assert spelled("userId") == spelled("user_id") == spelled("USER-ID") == "userid"


def test_words_in_common_are_a_share_of_all() -> None:
    assert share(frozenset({"user", "id"}), frozenset({"id"})) == 0.5
    assert share(frozenset({"user"}), frozenset({"id"})) == 0
    assert share(frozenset(), frozenset()) == 0


@pytest.mark.parametrize(
    ("given", "wanted", "found"),
    [
        ("string", "string", Kinship.SAME),
        ("integer", "number", Kinship.SAME),
        (None, "string", Kinship.UNKNOWN),
        ("object", None, Kinship.UNKNOWN),
        ("number", "string", Kinship.NEAR),
        ("array", "string", Kinship.NEAR),
        ("string", "array", Kinship.NEAR),
        ("object", "string", Kinship.APART),
    ],
)
def test_types_are_akin_or_apart(given: str | None, wanted: str | None, found: Kinship) -> None:
    assert kinship(given, wanted) is found
