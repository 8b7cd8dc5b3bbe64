"""What is said in words: of the box, of uses of tools, in help texts; and where stdio leads."""

from typing import Any

import pytest

from portico.interfaces.cli.agent_text import trace_lines
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.help_text import unbroken
from portico.interfaces.cli.status import in_words
from portico.interfaces.cli.up import Face, _path
from tests.interfaces.cli.agent_answers import TRACE


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


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        (None, "being tried"),
        ([], "none; the setting box.backend is none"),
        ([a_box("bubblewrap", missing="no bwrap"), a_box("landlock", offered=True)],
         "landlock, 20 probes held"),
        ([a_box("landlock", held=0)], "none; landlock does not hold: not tried"),
        ([a_box("bubblewrap", missing="there is no program bwrap", fix="Install bubblewrap."),
          a_box("landlock", escapes=["signal", "abstract socket"])],
         "none; bubblewrap: there is no program bwrap (fix: Install bubblewrap.); "
         "landlock does not hold: signal, abstract socket"),
    ],
    ids=["not known yet", "switched off", "used", "not tried", "none holds"],
)  # fmt: skip
def test_of_the_box_it_is_said_which_is_used_or_why_none_is(boxes: Any, said: str) -> None:
    assert in_words(boxes) == said


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (None, "Moved.", "approved"),
        ("no_such_file", "There is none.", "approved"),
        ("approval_rejected", "mail.send was not approved (apr_1): no.", "rejected"),
        ("approval_over", "apr_01 is withdrawn already.", "withdrawn"),
        ("approval_over", "apr_01 is expired already.", "not answered"),
        ("approval_over", "It is too late.", "not approved"),
    ],
)
def test_a_use_that_was_asked_for_says_what_became_of_that(
    code: str | None, text: str, said: str
) -> None:
    use = TRACE["uses"][0] | {
        "approval": "apr_01",
        "code": code,
        "failed": code is not None,
        "text": text,
        "early": False,
    }

    lines = trace_lines({**TRACE, "uses": [use]})

    assert any(line.endswith(f"files.read  0.2 s, {said}") for line in lines), lines


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("one\ntwo", "one two"),
        ("one\n\ntwo\nthree", "one\n\ntwo three"),
        ("these:\n- one\n- two", "these:\n- one\n- two"),
        ("so:\n    portico init\nthen", "so:\n    portico init then"),
    ],
)
def test_lines_of_a_paragraph_are_one(given: str, shown: str) -> None:
    assert unbroken(given) == shown


@pytest.mark.parametrize(
    ("server", "face", "path"),
    [
        (None, "gateway", "/mcp"),
        ("git hub", "gateway", "/mcp/servers/git%20hub"),
        (None, "bridge", "/mcp/bridge"),
        (None, "debate", "/mcp/debate"),
    ],
)
def test_stdio_leads_to_the_gateway_unless_another_door_is_named(
    server: str | None, face: Face, path: str
) -> None:
    assert _path(server, face) == path


@pytest.mark.parametrize("face", ["bridge", "debate"])
def test_nobody_comes_in_by_two_doors(face: Face) -> None:
    with pytest.raises(InvalidUsage):
        _path("github", face)
