"""What `portico demo` refuses, and how it takes what stands behind it."""

import sys

import pytest

from portico.interfaces.cli.demo import named_as_in_the_demo
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.screen import a_screen


def test_commands_of_the_machine_are_not_run_in_it(cli: CommandLine) -> None:
    got = cli("demo serve --port 1")

    assert got.code == 2
    assert "Leave demo away: portico serve" in got.err


@pytest.mark.parametrize("typed", ["demo search x --limit 1 --json", "--json demo ui"])
def test_where_there_is_none_no_command_is_run_in_it(cli: CommandLine, typed: str) -> None:
    got = cli(typed)

    assert (got.code, got.error["fix"]) == (2, "Make it: portico demo")


@pytest.mark.parametrize("typed", ["demo --remove --json", "demo --json --remove"])
def test_what_is_not_there_is_gone_already(cli: CommandLine, typed: str) -> None:
    assert cli(typed).json == {"removed": None}


def test_a_server_elsewhere_has_no_demo(cli: CommandLine) -> None:
    cli.house.remote = "https://portico.example"

    got = cli("demo --json")

    assert (got.code, got.error["code"]) == (1, "demo_elsewhere")


@pytest.mark.parametrize(("words", "of"), [("demo search", "search"), ("demo", "demo")])
def test_help_of_what_is_run_in_it_is_that_of_the_command(
    cli: CommandLine, words: str, of: str
) -> None:
    got = cli(f"{words} --help")

    assert got.code == 0
    assert f"Usage: portico {of}" in got.out


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Look: portico approvals show c522hv", "Look: portico demo approvals show c522hv"),
        ("portico ui", "portico demo ui"),
        ("portico demo ui", "portico demo ui"),
        ("portico config set x 1", "portico config set x 1"),
        ("portico up, then portico search", "portico up, then portico demo search"),
        ("in my-portico approvals and portico.toml", "in my-portico approvals and portico.toml"),
    ],
)
def test_a_person_reads_commands_as_they_are_called_in_it(
    said: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    with named_as_in_the_demo():
        print(said)
        print(said, file=sys.stderr)
    print(said)

    assert screen.getvalue().splitlines() == [named, named, said]


def test_a_program_reads_them_as_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with named_as_in_the_demo():
        print("portico ui")

    assert capsys.readouterr().out == "portico ui\n"
