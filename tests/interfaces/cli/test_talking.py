"""Keys, people, spaces and invitations from the command line, and how the server is doing."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome


def a_key(**changes: Any) -> dict[str, Any]:
    return {
        "id": "0A0V8CXbKro2",
        "name": "command line",
        "principal": "prn_1",
        "scopes": None,
        "tools": None,
        "clearance": "restricted",
        "created_at": "2026-01-01T12:00:00+00:00",
        "expires_at": None,
        "last_used_at": "2026-01-02T12:00:00+00:00",
        "revoked_at": None,
    } | changes


def a_principal(**changes: Any) -> dict[str, Any]:
    return {
        "id": "prn_1",
        "kind": "person",
        "name": "ana",
        "roles": ["admin"],
        "clearance": "restricted",
        "created_at": "2026-01-01T12:00:00+00:00",
        "disabled_at": None,
    } | changes


KEYS = [
    a_key(),
    a_key(id="04GueJLDy2js", name="ci", scopes=["a", "b"], expires_at="2099-02-13T12:00:00+00:00"),
    a_key(id="06cHBiQiz74Q", name="old", revoked_at="2026-01-03T12:00:00+00:00", last_used_at=None),
    a_key(id="07cHBiQiz74Q", name="older", expires_at="2026-01-03T12:00:00+00:00"),
]
PEOPLE = [
    a_principal(),
    a_principal(id="prn_2", kind="agent", name="scout", roles=["member", "operator"]),
    a_principal(id="prn_3", name="ben", disabled_at="2026-01-03T12:00:00+00:00", clearance="team"),
]
INVITATION = {"link": "http://x/join#ptc_y", "expires_at": "2026-01-08T12:00:00+00:00"}
OUR_HOME = {"id": "spc_1", "name": "our home", "created_at": "2026-01-01T12:00:00+00:00"}
MADE = {"id": "abcdefghijkl", "principal": "prn_1", "key": "ptc_abcdefghijkl_x"}
ANSWERS = {
    "GET /keys": {"data": KEYS, "next": None},
    "POST /keys": MADE,
    "GET /principals": {"data": PEOPLE, "next": None},
    "GET /spaces": {"data": [OUR_HOME], "next": None},
    "POST /spaces": {"space": {}, "invitation": INVITATION},
    "POST /invitations": INVITATION,
}


def asked(cli: CommandLine, words: str, some: Any = None, **how: Any) -> Outcome:
    return cli(words, ANSWERS | (some or {}), **how)


def shown(got: Outcome) -> list[str]:
    return [line.rstrip() for line in got.lines]


@pytest.mark.requirement("cli:output:json-everywhere")
def test_keys_fit_a_screen_of_80_columns(cli: CommandLine) -> None:
    lines = shown(asked(cli, "keys list", screen=80))

    assert max(map(len, lines)) <= 80
    assert lines == snapshot(
        [
            "id           name         holder scopes clearance  expires    last used  state",
            "0A0V8CXbKro2 command line ana    all    restricted -          2026-01-02 active",
            "04GueJLDy2js ci           ana    2      restricted 2099-02-13 2026-01-02 active",
            "06cHBiQiz74Q old          ana    all    restricted -          -          revoked",
            "07cHBiQiz74Q older        ana    all    restricted 2026-01-03 2026-01-02 expired",
        ]
    )
    assert asked(cli, "keys list --json").json == {"data": KEYS}


@pytest.mark.requirement("cli:output:json-everywhere")
def test_people_fit_a_screen_of_80_columns(cli: CommandLine) -> None:
    assert shown(asked(cli, "people list", screen=80)) == snapshot(
        [
            "name   kind    roles             clearance   since       state",
            "ana    person  admin             restricted  2026-01-01  active",
            "scout  agent   member, operator  restricted  2026-01-01  active",
            "ben    person  admin             team        2026-01-01  disabled",
        ]
    )
    assert asked(cli, "people list --json").json == {"data": PEOPLE}


def test_a_list_of_tools_is_a_column_where_any_key_has_one(cli: CommandLine) -> None:
    keys = [a_key(), a_key(id="04GueJLDy2js", tools=["mail.*", "files.read"])]

    first, second = asked(cli, "keys list", {"GET /keys": {"data": keys, "next": None}}).rows

    assert (first[4], second[4]) == ("all", "mail.* files.read")


def test_a_program_gets_a_key_of_its_own(cli: CommandLine) -> None:
    got = asked(cli, "keys create editor --agent")

    assert got.sent[0]["agent"] is True
    assert got.out == f"{MADE['key']}\n"


def test_a_key_may_be_kept_where_desktop_clients_find_it(cli: CommandLine) -> None:
    file = cli.house.whereabouts().agent_key_file

    got = asked(cli, "keys create editor --agent --save --json")
    file.write_text("ptc_old")
    kept = asked(cli, "keys create editor --agent --save")

    assert got.json == {"key_file": str(file)}
    assert (kept.code, kept.asked) == (Exit.FAILED, [])
    assert "--replace" in kept.err
    assert asked(cli, "keys create editor --agent --save --replace").code == 0
    assert cli.house.asked == [MADE["key"], MADE["key"]]


@pytest.mark.parametrize(
    ("option", "told"), [("", None), ("--as ana", "prn_1"), ("--nobody", None)]
)
def test_whose_word_a_program_passes_on_is_shown_and_set(
    cli: CommandLine, option: str, told: str | None
) -> None:
    route = f"{'PUT' if option else 'GET'} /keys/abcdefghijkl/trust"

    got = asked(
        cli,
        f"keys trust abcdefghijkl {option}",
        {route: {"key": "abcdefghijkl", "person": told}},
    )

    assert (route, {"person": told} if option else None) in got.asked
    assert got.out.endswith(f"the word of {'ana' if told else 'nobody'}.\n")


STATUS = {
    "version": "1.2.3",
    "ready": True,
    "boxes": None,
    "secrets": "age",
    "store": {
        "server_version": "18.1",
        "source": "embedded",
        "migrations_applied": 2,
        "migrations_pending": 0,
    },
}


@pytest.mark.parametrize(
    ("words", "ready", "code", "said"),
    [
        ("--wait 10", True, 0, "ready\tyes"),
        ("--wait 0.01", False, Exit.NOT_RUNNING, "ready\tno"),
        ("--verbose", True, 0, "log_file\t{log_file}\n"),
    ],
)
def test_how_the_server_is_doing_is_told(
    cli: CommandLine, words: str, ready: bool, code: int, said: str
) -> None:
    some = {"GET /status": STATUS | {"ready": ready}, "GET /me": a_principal()}

    got = cli(f"status {words}", some, late="10" in words)

    assert got.code == code
    assert said.format(log_file=cli.house.whereabouts().log_file) in got.out


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ("spaces create acme --admin dora", None),
        ("people invite dora", {"name": "dora", "roles": ["member"], "clearance": "team"}),
    ],
)
def test_a_link_is_given_with_the_day_until_which_it_works(
    cli: CommandLine, words: str, sent: dict[str, Any] | None
) -> None:
    got = asked(cli, words)

    assert got.out == "http://x/join#ptc_y\n"
    assert got.err == "Send this link to dora; it works once, until 2026-01-08.\n"
    assert sent is None or got.sent == [sent]


def test_a_space_is_deleted_only_by_its_name(cli: CommandLine) -> None:
    got = asked(cli, "spaces delete --confirm home")

    assert (got.code, got.routes) == (Exit.USAGE, ["GET /spaces"])
    assert "portico spaces delete --confirm 'our home'" in got.err


@pytest.fixture
def newcomer(cli: CommandLine) -> CommandLine:
    """Somebody with a machine of their own, and no key yet."""
    cli.key_file.unlink()
    cli.known_as = None
    return cli


JOIN = "join {url}/join#ptc_x"
LETS_IN = {
    "POST /invitations/accept": {"key": "ptc_new", "principal": "prn_2"},
    "GET /me": {"name": "ana"},
}


@pytest.mark.parametrize(("words", "piped"), [(JOIN, ""), ("join -", "{url}/join#ptc_x\n")])
def test_a_key_is_printed_unless_it_is_to_be_saved(
    newcomer: CommandLine, words: str, piped: str
) -> None:
    got = newcomer(words, LETS_IN, piped=piped)

    assert (got.code, got.out, newcomer.house.asked) == (0, "ptc_new\n", [])
    assert str(newcomer.key_file) in got.err
    assert f"portico config set client.server {got.url}" in got.err


def test_a_key_that_is_there_already_stays(newcomer: CommandLine) -> None:
    newcomer.key_file.write_text("ptc_old")

    got = newcomer(JOIN, LETS_IN)

    assert f"{newcomer.key_file} has another key" in got.err
    assert newcomer.key_file.read_text() == "ptc_old"


@pytest.mark.parametrize(
    ("known_as", "changed"), [(None, True), ("server_url", True), ("remote", False)]
)
def test_a_saved_key_takes_its_server_along_unless_it_is_set_already(
    newcomer: CommandLine, known_as: Any, changed: bool
) -> None:
    """A server on the port that ours would have is somebody else's where we have none."""
    newcomer.known_as = known_as
    newcomer.house.overruled_by = "environment PORTICO_CLIENT__SERVER"

    got = newcomer(f"{JOIN} --save", LETS_IN)

    setting = [("client.server", got.url)] if changed else []
    assert (got.code, newcomer.house.asked) == (0, ["ptc_new", *setting])
    assert (f"Commands now talk to {got.url}" in got.err) is changed
    assert ("… but environment PORTICO_CLIENT__SERVER wins" in got.err) is changed


@pytest.mark.parametrize("may", [True, False])
def test_whoever_joins_gets_a_second_key_for_programs_if_they_may_make_one(
    newcomer: CommandLine, may: bool
) -> None:
    newcomer.known_as = "remote"

    got = newcomer(f"{JOIN} --save", LETS_IN | {"POST /keys": MADE if may else None})

    assert newcomer.house.asked == ["ptc_new", *([MADE["key"]] if may else [])]
    assert ("POST /keys", {"name": "ana-desktop", "agent": True}) in got.asked
    assert ("portico keys create NAME --agent --save" in got.err) is not may


def test_a_key_that_is_there_is_replaced_only_when_told_to(cli: CommandLine) -> None:
    kept = cli(f"{JOIN} --save", LETS_IN)

    assert (kept.code, kept.asked) == (Exit.FAILED, [])
    assert "--replace" in kept.err
    assert cli(f"{JOIN} --save --replace", LETS_IN).code == 0
    assert cli.house.asked == ["ptc_new"]


def test_a_key_that_cannot_be_saved_is_not_lost(newcomer: CommandLine) -> None:
    newcomer.house.failure = OSError(28, "No space left on device")

    got = newcomer(f"{JOIN} --save", LETS_IN)

    assert (got.code, got.out) == (Exit.FAILED, "ptc_new\n")
    assert "No space left on device" in got.err


@pytest.mark.parametrize(
    "link",
    ["nonsense", "http://127.0.0.1:9/join", "ptc_x", "http://#ptc_x", "file://x/join#ptc_x"],
)
def test_what_is_no_invitation_is_told(newcomer: CommandLine, link: str) -> None:
    got = newcomer(f"join {link}")

    assert got.code == Exit.USAGE
    assert "behind the #" in got.err
