"""What servers may reach, at a terminal: shown plainly, said with options, and red where it is
everything."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.screen import a_screen
from tests.interfaces.cli.server_answers import CONFINED, GRANTS, a_server, reviewed

TIGHT = {"read": [], "write": ["/srv/lab"], "network": "none", "reach": ["api.lab.example:443"]}
UNBOXED = CONFINED | {"hold": "unboxed", "reaches": "NOT BOXED: all rights of Portico itself"}
WHERE = "/servers/lab/profile"
REACHES = "network: public · writes /srv/lab · own home"


def a_profile(**changes: Any) -> dict[str, Any]:
    return {
        **CONFINED,
        "name": "lab",
        "command": "npx lab /srv/lab",
        "default": GRANTS,
        "proposed": None,
        "consent": None,
        "let_out": "lab:0123456789ab",
    } | changes


def profile(cli: CommandLine, options: str = "", **changes: Any) -> Outcome:
    found = a_profile(**changes)
    some = {f"GET {WHERE}": found, f"PUT {WHERE}": found, f"DELETE {WHERE}": found}
    return cli(f"servers profile lab {options}", some)


def test_without_options_it_is_shown(cli: CommandLine) -> None:
    got = profile(cli)

    assert f"may_reach\t{REACHES}" in got.lines
    assert "nobody: it follows from the command" in got.out
    assert got.routes == [f"GET {WHERE}"]


def test_a_program_gets_all_of_it(cli: CommandLine) -> None:
    got = profile(cli, "--json", proposed=TIGHT)

    assert (got.json, got.err) == (a_profile(proposed=TIGHT), "")


def test_what_is_proposed_is_said_with_the_way_to_take_it(cli: CommandLine) -> None:
    told = profile(cli, proposed=TIGHT).err

    assert "network: none · reach: api.lab.example:443 · write: /srv/lab" in told
    assert "portico servers profile lab --proposed" in told
    assert profile(cli, "--proposed", proposed=TIGHT).sent == [TIGHT]


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ("--reach db:5432", {"reach": ["db:5432"]}),
        ("--reach db:5432 --only", {"reach": ["db:5432"], "write": []}),
        ("--write /srv", {"write": ["/srv/lab", "/srv"]}),
        ("--read ~/keys --write notes --network none",
         {"read": ["/home/ana/keys"], "write": ["/srv/lab", "{here}/notes"], "network": "none"}),
    ],
)  # fmt: skip
def test_what_is_said_is_added_unless_it_is_all(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, options: str, changes: dict[str, Any]
) -> None:
    """Paths are what this machine understands."""
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.chdir(cli.root)

    got = profile(cli, options)

    wanted = GRANTS | changes
    wanted["write"] = [each.format(here=cli.root) for each in wanted["write"]]
    assert got.sent == [wanted]
    assert "started anew" in got.err


def test_it_goes_back_to_the_default(cli: CommandLine) -> None:
    assert profile(cli, "--default").routes == [f"DELETE {WHERE}", f"GET {WHERE}"]


@pytest.mark.parametrize(
    "options",
    ["--default --proposed", "--default --read /a", "--proposed", "--only", "--write ''"],
)
def test_what_contradicts_itself_or_is_not_known_is_refused(cli: CommandLine, options: str) -> None:
    got = profile(cli, options)

    assert (got.code, got.sent) == (Exit.USAGE, [])


def test_who_is_not_boxed_is_shown_in_red(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    consent = {"by": "ana", "at": "2026-11-15T12:00:00+00:00", "holds": True}
    some = {
        f"GET {WHERE}": a_profile(**UNBOXED, consent=consent),
        "GET /servers": [a_server(), a_server(confinement=UNBOXED)],
    }
    screen = a_screen(monkeypatch)
    for name, value in {"TERM": "xterm", "FORCE_COLOR": "1", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)

    cli("servers profile lab", some)
    cli("servers list", some)

    shown = screen.getvalue()
    assert "\x1b[1;31mNOT BOXED: lab runs with all rights" in shown
    assert "ana, 2026-11-15" in shown
    assert shown.count("\x1b[1;31mNOT BOXED\x1b[0m") == 1
    assert REACHES in shown


@pytest.mark.parametrize(
    ("confinement", "said"),
    [
        (CONFINED, [f"It may reach: {REACHES}"]),
        (CONFINED | {"hold": "refused", "reaches": "no box here: does not start"},
         ["There is no box on this machine", "--unboxed"]),
    ],
    ids=["boxed", "no box"],
)  # fmt: skip
def test_what_it_may_reach_is_shown_before_it_is_started(
    cli: CommandLine, confinement: dict[str, Any], said: list[str]
) -> None:
    some = reviewed(launch_approved=False, confinement=confinement)

    got = cli("servers approve lab", some, typed="n\n", screen=80)

    assert got.code == Exit.APPROVAL
    assert [words for words in said if words not in got.out] == []


def test_consent_is_asked_for_with_the_command_in_sight_and_sent_along(cli: CommandLine) -> None:
    some = reviewed(confinement=CONFINED | {"hold": "refused"})

    got = cli("servers approve lab --unboxed", some, typed="y\ny\n", screen=80)

    assert got.code == 0
    assert "npx lab" in got.out
    assert "NOT BOXED" in got.out
    assert "Start lab without a box?" in got.out
    body = {"launch_pin": "p1", "unboxed": True}
    assert ("POST /servers/lab/approve-launch", body) in got.asked
