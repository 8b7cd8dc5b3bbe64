"""Which paths are looked at at all."""

import pytest

from portico.box.core.errors import PathRefused
from portico.box.core.paths import DEEPEST, LONGEST, LONGEST_NAME, names_inside, names_of


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.txt", ("a.txt",)),
        ("a/b/c.txt", ("a", "b", "c.txt")),
        ("./a//b/./c/", ("a", "b", "c")),
        ("...", ("...",)),
        ("..a/a..", ("..a", "a..")),
        ("é/ü.txt", ("é", "ü.txt")),
        ("a" * LONGEST_NAME, ("a" * LONGEST_NAME,)),
        ("/".join("a" * DEEPEST), ("a",) * DEEPEST),
        ("\\..\\a", ("\\..\\a",)),
    ],
)
def test_a_path_is_the_names_on_the_way(path: str, names: tuple[str, ...]) -> None:
    assert names_of(path) == names_inside(path) == names


@pytest.mark.parametrize("path", ["", ".", "./", ".//."])
def test_the_folder_itself_is_no_name_inside_it(path: str) -> None:
    assert names_of(path) == ()
    with pytest.raises(PathRefused, match="the folder itself"):
        names_inside(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "absolute"),
        ("//etc/passwd", "absolute"),
        ("..", "upwards"),
        ("../workspace-secrets/key", "upwards"),
        ("a/../b", "upwards"),
        ("a/..", "upwards"),
        ("a.txt\0.png", "NUL"),
        ("\0", "NUL"),
        ("a\udcff", "UTF-8"),
        ("a" * (LONGEST_NAME + 1), "longer than 255"),
        ("é" * 128, "longer than 255"),
        ("a/" * (LONGEST // 2) + "a", "longer than 4000"),
        ("/".join("a" * (DEEPEST + 1)), "more than 200"),
    ],
)
def test_what_cannot_be_a_way_inside_is_refused_with_a_reason(path: str, reason: str) -> None:
    with pytest.raises(PathRefused, match=reason) as refused:
        names_of(path)

    assert refused.value.path == path
