"""Where each client's entry goes, and what it is."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from portico.gateway.core.client_entry import (
    HOMES,
    ClientAbsent,
    ClientCannot,
    ClientFileMoved,
    ClientFileUnreadable,
    EntryDiffers,
    Found,
    Removal,
    Standing,
    UnknownClient,
    Written,
    also_listed,
    home_of,
    shown_diff,
    standing,
    switched_off,
)
from portico.gateway.core.config_documents import Place
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

URL = "http://127.0.0.1:3100"


def or_none(work: Callable[..., object]) -> object:
    try:
        return work()
    except ClientCannot:
        return None


def test_each_client_has_its_entry_in_its_own_form_and_its_own_file() -> None:
    """What they are stands in `homes.json`; null is what a client cannot have."""
    found = {
        home.name: {
            "names": [*home.names],
            "started": home.started(["/opt/portico"], {}),
            "reached": or_none(partial(home.reached, URL, "k")),
            "project": or_none(partial(home.project_file, "/p")),
            "linux": [*home.files({}, "/home/ana", mac=False)],
            "mac": [*home.files({}, "/home/ana", mac=True)],
        }
        for home in HOMES
    }

    assert found == json.loads(Path(__file__).with_name("homes.json").read_text("utf-8"))


def test_which_installation_it_is_goes_with_the_entry() -> None:
    found = home_of("cursor").started(["python", "-m", "portico"], {"PORTICO_HOME": "/p"})

    assert found == {
        "command": "python",
        "args": ["-m", "portico", "stdio", "--start"],
        "env": {"PORTICO_HOME": "/p"},
    }


def test_a_variable_of_the_client_moves_its_file() -> None:
    assert home_of("codex").files({"CODEX_HOME": "/c"}, "/h", mac=False) == ["/c/config.toml"]


def test_only_known_clients_are_known() -> None:
    with pytest.raises(UnknownClient):
        home_of("emacs")


CURSOR = home_of("cursor")
GEMINI = home_of("gemini")
PLACE = Place(path="/home/ana/.cursor/mcp.json", home="/home/ana")
WANTED: JsonObject = {"command": "/bin/portico", "args": ["stdio", "--start"]}
REACHED = CURSOR.reached("http://127.0.0.1:3100", "mine")


def listing(entry: str) -> str:
    return f'{{"mcpServers": {{"portico": {entry}}}}}'


def test_an_entry_is_told_from_others() -> None:
    rows: list[tuple[str, JsonObject, str]] = [
        ("{}", WANTED, Standing.NONE),
        ('{"mcpServers": {"other": {"command": "/bin/other"}}}', WANTED, Standing.NONE),
        (
            '{"mcpServers": {"other": {"command": "/a"}, "portico": {"command": "/b"}}}',
            WANTED,
            Standing.FOREIGN,
        ),
        (listing('{"command": "/bin/portico", "args": ["stdio", "--start"]}'), WANTED, "connected"),
        (listing('{"command": "portico", "args": ["stdio"]}'), WANTED, Standing.OTHERWISE),
        (listing('{"url": "http://localhost:3100/mcp"}'), WANTED, Standing.OTHERWISE),
        (
            listing('{"url": "http://127.0.0.1:3100/mcp", "headers": {"Authorization": "other"}}'),
            REACHED,
            Standing.SAME,
        ),
        (listing('{"command": "/bin/other"}'), WANTED, Standing.FOREIGN),
        (listing('{"command": "${odd}/portico", "args": ["stdio"]}'), WANTED, Standing.FOREIGN),
        (listing("7"), WANTED, Standing.FOREIGN),
    ]

    for text, wanted, found in rows:
        assert standing(CURSOR, CURSOR.client, PLACE, text, wanted) == found


def test_a_file_may_switch_it_off() -> None:
    text = '{"mcp": {"excluded": ["portico"]}, "mcpServers": {"portico": {"command": "x"}}}'

    assert switched_off(GEMINI.client, PLACE, text)
    assert not switched_off(GEMINI.client, PLACE, "{}")
    assert not switched_off(GEMINI.client, PLACE, '{"mcpServers": 1}')


def test_nothing_is_listed_twice_where_nothing_is_behind() -> None:
    assert also_listed(CURSOR.client, PLACE, listing('{"command": "x"}'), []) == []


def test_a_diff_shows_no_secrets() -> None:
    token = "ghp_" + "a" * 36

    shown = shown_diff("f", f'{{"t": "{token}"}}\r\n', f'{{"t": "{token}",\r\n"x": 1}}\r\n')

    assert token not in shown
    assert '+"x": 1}' in shown.splitlines()


def test_every_refusal_names_the_file_and_a_way_out() -> None:
    rows: list[PorticoError] = [
        ClientAbsent("Zed", "~/settings.json"),
        EntryDiffers("~/settings.json"),
        ClientFileUnreadable("~/settings.json", "is not UTF-8"),
        ClientFileMoved("~/settings.json"),
    ]

    for error in rows:
        assert "~/settings.json" in str(error)
        assert error.fix


def test_what_was_found_and_what_goes_is_nothing_more_than_was_said() -> None:
    zed = home_of("zed")
    found = Found(home=zed, file="f", present=True, standing=Standing.NONE)
    gone = Removal(
        home=zed, file="f", before="{}", after=None, as_before=True, foreign=False, diff=""
    )

    assert (found.problem, gone.key, gone.copy) == (None, None, None)
    assert Written(copy=None).notes == ()
