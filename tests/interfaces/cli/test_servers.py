"""Servers of tools from the command line, against a gateway that says what it is told to."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.screen import a_screen
from tests.interfaces.cli.scripted_server import InTurn
from tests.interfaces.cli.server_answers import (
    ACCEPT,
    CONFINED,
    GRANTS,
    a_server,
    a_tool,
    live,
    reviewed,
)

UNDECIDED = a_tool(standing="live", proposed="local_write")


def test_what_was_granted_is_said(cli: CommandLine) -> None:
    tools = [a_tool(), a_tool("write", proposed="local_write"), a_tool("wipe", proposed="unknown")]
    granted = {"GET /tools": live(read="local_read", write="unknown", wipe="unknown")}

    got = cli("servers approve lab --yes", reviewed(*tools) | granted)

    last = "lab is approved: 1 as read, 2 as destructive; --all takes what is proposed"
    assert got.lines[-1] == last
    assert (ACCEPT, {"pin": "p2", "proposed": "reads"}) in got.asked
    program = cli("servers approve lab --yes --json", reviewed(a_tool()))
    assert program.json == {"name": "lab"}


def test_whoever_approves_sees_what_each_tool_says(cli: CommandLine) -> None:
    tools = [a_tool(description="Reads a file, " + "word " * 60), a_tool("odd", description="")]

    got = cli("servers approve lab", reviewed(*tools), typed="y\n", screen=80)

    assert "says" in got.lines[0]
    assert "Reads a file, word" in got.out
    assert got.out.count("word") < 30
    assert max(map(len, got.lines)) <= 80
    assert (ACCEPT, {"pin": "p2", "proposed": "all"}) in got.asked


def test_whoever_declines_the_tools_is_told_that_the_server_may_start(cli: CommandLine) -> None:
    some = reviewed(a_tool(), launch_approved=False)

    got = cli("servers approve lab", some, typed="y\nn\n", screen=80)

    assert got.code == Exit.APPROVAL
    assert "Nothing was changed" not in got.out
    assert "The server may be started; its tools wait." in got.out
    assert "POST /servers/lab/approve-launch" in got.routes
    assert ACCEPT not in got.routes


def test_whoever_declines_the_command_has_changed_nothing(cli: CommandLine) -> None:
    some = reviewed(launch_approved=False, loaders=["NODE_OPTIONS"])

    got = cli("servers approve lab", some, typed="n\n", screen=80)

    assert (got.code, got.routes) == (Exit.APPROVAL, ["GET /servers/lab/review"])
    assert "Nothing was changed" in got.out
    assert "NODE_OPTIONS decides which code runs" in got.out


def test_where_nothing_waits_nobody_is_asked(cli: CommandLine) -> None:
    some = reviewed(UNDECIDED) | {"GET /tools": live(read="unknown")}

    got = cli("servers approve lab", some, typed="", screen=80)

    assert got.lines == [
        "Nothing waits for approval.",
        "lab is approved: 1 as destructive; --all takes what is proposed",
    ]
    assert ACCEPT not in got.routes


def test_all_decides_what_was_left_undecided(cli: CommandLine) -> None:
    some = reviewed(UNDECIDED) | {"GET /tools": live(read="local_write")}

    got = cli("servers approve lab --yes --all", some)

    assert (ACCEPT, {"pin": "p2", "proposed": "all"}) in got.asked
    assert got.out.endswith("lab is approved: 1 as write\n")


def test_one_that_is_gone_is_shown_so_and_not_approved(cli: CommandLine) -> None:
    gone = {"GET /servers": [a_server(gone=True)], "POST /servers/lab/restart": None}
    some = reviewed(a_tool(standing="live"), gone=True) | gone

    listed = cli("servers list", some)
    approved = cli("servers approve lab --yes", some)

    reaches = CONFINED["reaches"]
    assert listed.out == f"lab\tgone\tteam\t2\t100\tidle\tportico.toml\t{reaches}\n"
    assert approved.code == Exit.FAILED
    assert ACCEPT not in approved.routes


def test_a_diff_shows_the_command_and_what_a_new_tool_says(cli: CommandLine) -> None:
    change = {"path": "arguments.0", "before": "lab@1", "after": "lab@2"}
    some = reviewed(
        a_tool("fresh", standing="new"),
        a_tool("bad", standing="refused", refused="hides U+200B"),
        a_tool("old", standing="changed", changes=[change | {"path": "title"}]),
        a_tool("same", standing="live"),
        launch_changes=[change],
        said=[change | {"path": "instructions"}],
    )

    assert cli("servers diff lab", some).lines == [
        "\thow it starts\tcommand arguments.0\tlab@1\tlab@2",
        "fresh\tnew\t\t\tReads a file.",
        "bad\trefused\t\t\thides U+200B",
        "old\tchanged\ttitle\tlab@1\tlab@2",
        "\tbeside its tools\tinstructions\tlab@1\tlab@2",
    ]


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        ("live", "It is as it was approved."),
        ("pending", "It waits for approval. Look at all of it: portico servers approve lab"),
    ],
)
def test_a_diff_without_differences_is_no_table(cli: CommandLine, standing: str, said: str) -> None:
    some = reviewed(a_tool(standing=standing))

    assert cli("servers diff lab", some, screen=80).lines == [said]


@pytest.mark.parametrize(
    ("option", "pair", "rest"),
    [
        ("--env", "API_KEY=sk-abcdefghijklmnopqrstuvwx", "-- npx lab"),
        ("--env", "PASSWORD=hunter2", "-- npx lab"),
        ("--header", "Authorization=Bearer abc123def456", "--url https://tools.example"),
    ],
)
def test_a_secret_is_not_taken_as_it_is(
    cli: CommandLine, option: str, pair: str, rest: str
) -> None:
    got = cli(f"servers add lab {option} '{pair}' {rest}", {})

    name, _, value = pair.partition("=")
    assert (got.code, got.asked) == (Exit.USAGE, [])
    assert f"{option} '{name}=secret:github'" in got.err
    assert value not in got.err


def test_a_reference_and_what_is_no_secret_are_taken(cli: CommandLine) -> None:
    environment = "--env API_KEY=$LAB_KEY --env MODE=fast --env X=secret:lab"
    command = "-- npx -y lab keyring:lab/ana"

    got = cli(f"servers add lab {environment} {command}", {"POST /servers": {"name": "lab"}})

    [body] = got.sent
    assert body["launch"]["environment"] == {
        "API_KEY": {"env": "LAB_KEY"},
        "MODE": "fast",
        "X": {"secret": "secret:lab"},
    }
    assert body["launch"]["arguments"] == ["-y", "lab", {"secret": "keyring:lab/ana"}]


def test_tools_are_let_in_one_by_one(cli: CommandLine) -> None:
    wipe = a_tool("wipe", standing="live", effect="irreversible", proposed="local_read")
    some = reviewed(a_tool(), a_tool("write", proposed="local_write"), wipe)

    got = cli("servers approve lab --yes --tool read --tool write --tool wipe", some)

    effects = {"read": "local_read", "write": "unknown", "wipe": "irreversible"}
    assert (ACCEPT, {"pin": "p2", "proposed": "reads", "effects": effects}) in got.asked
    assert cli("servers approve lab --yes --tool no", some).code == Exit.USAGE


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("team --trusted --json", {"label": "team", "trusted": True}),
        ("--untrusted --clearance team", {"clearance": "team", "trusted": False}),
    ],
)
def test_how_secret_a_server_is_can_be_shown_and_said(
    cli: CommandLine, words: str, body: dict[str, Any]
) -> None:
    said = {"label": "team", "clearance": "team", "trusted": True}

    shown = cli("servers label lab", {"GET /servers/lab": a_server()})

    assert "confidential" in shown.out
    assert cli(f"servers label lab {words}", {"PUT /servers/lab/label": said}).sent == [body]


def test_a_label_above_what_may_be_sent_is_warned_of(cli: CommandLine) -> None:
    said = {"label": "confidential", "clearance": "team", "trusted": False}

    got = cli("servers label lab confidential", {"PUT /servers/lab/label": said})

    assert got.code == 0
    fix = "portico servers label lab --clearance confidential"
    assert fix in " ".join(got.err.split())


def test_a_list_of_servers_says_why_one_failed(cli: CommandLine) -> None:
    broken = a_server(name="broken", failure="it ended with 1; " + "x" * 300)
    off = a_server(name="off", failure="long ago", enabled=False)

    told = cli("servers list", {"GET /servers": [a_server(), broken, off]}).err

    assert "broken failed: it ended with 1; xxx" in told
    assert "… (portico servers show broken)" in told
    assert "lab failed" not in told
    assert "off failed" not in told


def test_an_effect_is_said_of_many_tools_at_once(cli: CommandLine) -> None:
    done = [{"tool": "lab.read", "before": "unknown", "after": "local_read"}]

    got = cli("tools effect lab.* local_read", {"PUT /effects": done})

    assert got.sent == [{"tools": "lab.*", "effect": "local_read"}]
    assert "lab.read" in got.out


@pytest.mark.parametrize(
    ("returns", "last"),
    [
        ({"seen": 1}, "Returns (seen once): {id: int}"),
        ({"seen": 1200}, "Returns (seen 1,200 times): {id: int}"),
        (None, ""),
    ],
)
def test_what_was_learnt_of_a_tool_is_shown_with_it(
    cli: CommandLine, returns: dict[str, Any] | None, last: str
) -> None:
    tool = {
        "tool": "shop.find",
        "definition": {"name": "find", "description": "Finds.", "inputSchema": {}},
        "returns": returns and {"shape": "{id: int}", "json_schema": {}, **returns},
    }

    shown = cli("tools show shop.find", {"GET /tools/shop.find": tool})

    assert shown.lines[-1].endswith(last)
    assert ("Returns" in shown.out) == bool(returns)


def test_a_task_is_opened_listed_and_closed(cli: CommandLine) -> None:
    task = {
        "id": "ctx_1",
        "name": "quarter",
        "label": "team",
        "untrusted": True,
        "opened_at": "2026-01-01T12:00:00+00:00",
    }
    some = {"POST /contexts": task, "GET /contexts": [task], "DELETE /contexts/ctx_1": {}}

    assert cli("contexts open quarter", some).out == "ctx_1\n"
    assert "quarter" in cli("contexts list", some).out
    assert cli("contexts close ctx_1", some).asked == [("DELETE /contexts/ctx_1", None)]


LINK = {"server": "lab", "login_url": "https://login.example/a?b", "expires_at": "2026-01-01"}
LOGGED_IN = {"server": "lab", "logged_in": True}
LOGIN = {
    "POST /servers/lab/login": LINK,
    "GET /servers/lab/login": InTurn(LOGGED_IN | {"logged_in": False}, LOGGED_IN),
}


def test_a_link_to_log_in_is_shown_and_waited_for(cli: CommandLine) -> None:
    got = cli("servers login lab --no-browser", LOGIN)

    assert got.code == 0
    assert LINK["login_url"] in got.err
    assert "logged in to lab" in got.out


def test_a_program_gets_the_link(cli: CommandLine) -> None:
    out = {"GET /servers/lab/login": LOGGED_IN | {"logged_in": False}}

    assert cli("servers login lab --no-wait --json", LOGIN | out).json == LINK


@pytest.mark.parametrize(("verb", "route"), [("login", "GET"), ("logout", "DELETE")])
def test_whoever_is_logged_in_is_sent_nowhere_and_logs_out(
    cli: CommandLine, verb: str, route: str
) -> None:
    its = f"{route} /servers/lab/login"

    assert cli(f"servers {verb} lab", {its: LOGGED_IN}).routes == [its]


def test_an_operator_says_as_what_portico_is_known(cli: CommandLine) -> None:
    said = {"client_id": "ours", "client_secret": "secret:lab", "issuer": None, "scope": None}
    route = "/servers/lab/login-client"
    some = {f"PUT {route}": {"server": "lab", **said}, f"DELETE {route}": {}}

    for option in ("", "--json"):
        words = f"--client-id ours --client-secret secret:lab {option}"
        got = cli(f"servers login-config lab {words}", some)
        assert got.sent == [said]
        assert "ours" in got.out
    assert cli("servers login-config lab --default", some).routes == [f"DELETE {route}"]


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
