"""Secrets at a terminal: typed unseen, or read from standard input, never an argument."""

from typing import Any

import pytest

from portico.guard.vault import Rotated
from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome

CANARY = "canary-cli-5512"
SECRET = {
    "name": "github",
    "where": "age",
    "set_at": "2026-01-01T12:00:00+00:00",
    "set_by": "ana",
    "used_by": ["tracker"],
}
SET = "PUT /secrets/github"


def secrets(cli: CommandLine, words: str, **how: Any) -> Outcome:
    some = {SET: SECRET, "GET /secrets": [SECRET], "DELETE /secrets/github": {}}
    return cli(f"secrets {words}", some, **how)


def test_a_secret_is_read_from_standard_input(cli: CommandLine) -> None:
    got = secrets(cli, "set github", piped=f"{CANARY}\n")

    assert (got.code, got.asked) == (0, [(SET, {"value": CANARY})])
    assert "github is set, and kept in the encrypted file." in got.out
    assert "tracker" in got.err
    assert CANARY not in got.out + got.err


def test_a_person_types_it_unseen(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda _question: CANARY)

    got = secrets(cli, "set github", typed="", screen=80)

    assert got.asked == [(SET, {"value": CANARY})]
    assert CANARY not in got.out


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("set github", {"piped": ""}),
        ("set github", {"piped": "\n"}),
        (f"set github {CANARY}", {}),
        ("set github --no-input", {"typed": "", "screen": 80}),
    ],
    ids=["nothing", "an empty line", "an argument", "nobody is asked"],
)
def test_nothing_is_set(cli: CommandLine, words: str, how: dict[str, Any]) -> None:
    got = secrets(cli, words, **how)

    assert (got.code, got.asked) == (Exit.USAGE, [])


def test_they_are_listed_with_who_uses_them(cli: CommandLine) -> None:
    [row] = secrets(cli, "list").rows

    assert {"github", "tracker"} <= set(row)
    assert secrets(cli, "list --json").json == [SECRET]


def test_one_is_forgotten(cli: CommandLine) -> None:
    assert secrets(cli, "unset github").asked == [("DELETE /secrets/github", None)]


def test_the_key_of_the_vault_is_exchanged(cli: CommandLine) -> None:
    assert "Sealed anew: 3. The key is now 0a1b2c3d." in cli("secrets rotate").out

    cli.house.rotated = Rotated("0a1b2c3d", sealed_anew=1, lost=2, left=("99887766",))
    got = cli("secrets rotate")
    assert got.code == 0
    assert "2 cannot be opened" in got.err
    assert "99887766" in got.err


@pytest.mark.parametrize(
    ("value", "warned"), [("s3cr3t", True), ("password", True), (CANARY, False)]
)
def test_a_value_that_cannot_be_blacked_out_is_warned_of(
    cli: CommandLine, value: str, warned: bool
) -> None:
    got = secrets(cli, "set github", piped=value)

    assert ("too short, or too plain a word" in got.err) is warned
    assert value not in got.err
