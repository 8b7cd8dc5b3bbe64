"""What the command line says of the box."""

from typing import Any

from portico.faces.cli.box_words import in_words


def a_box(backend: str, **told: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "backend": backend,
        "offered": False,
        "held": 20,
        "escapes": [],
        "missing": None,
        "fix": None,
    }
    return nothing | told


def test_the_one_that_is_used_is_named() -> None:
    boxes = [a_box("bubblewrap", missing="no bwrap"), a_box("landlock", offered=True)]

    assert in_words(boxes) == "landlock, 20 probes held"


def test_without_any_it_says_why_and_what_to_do() -> None:
    boxes = [
        a_box("bubblewrap", missing="there is no program bwrap", fix="Install bubblewrap."),
        a_box("landlock", escapes=["signal", "abstract socket"]),
    ]

    assert in_words(boxes) == (
        "none; bubblewrap: there is no program bwrap (fix: Install bubblewrap.); "
        "landlock does not hold: signal, abstract socket"
    )


def test_before_it_is_known_it_does_not_guess() -> None:
    assert in_words(None) == "being tried"
    assert in_words([]) == "none; the setting box.backend is none"
    assert in_words([a_box("landlock", held=0)]) == "none; landlock does not hold: not tried"
