"""Portico's own entry in a client's configuration."""

import json
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core import config_edits
from portico.gateway.core.client_entry import (
    HOMES,
    ClientAbsent,
    ClientCannot,
    ClientFileMalformed,
    ClientFileMoved,
    ClientFileUnreadable,
    DetectedClient,
    EditUnsafe,
    EntryDiffers,
    EntryStatus,
    Removal,
    UnknownClient,
    Written,
    also_listed,
    entry_in,
    home_of,
    shown_diff,
    standing,
    switched_off,
    with_entry,
    without_entry,
)
from portico.gateway.core.config_documents import ConfigLocation, parsed
from portico.gateway.core.config_edits import Edited, Trace
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from tests.gateway.core.config_texts import SERVERS, VALUES, json_files, toml_files

JSON, JSON_NAMES = "mcp.json", ("mcpServers", "portico")
TOML, TOML_NAMES = "config.toml", ("mcp_servers", "portico")
OURS: JsonObject = {"command": "/opt/bin/portico", "args": ["stdio", "--start"]}
OTHER: JsonObject = {"command": "/x y/portico", "env": {"PORTICO_HOME": "\x7f é"}, "n": 60}


def is_part(small: str, large: str) -> bool:
    """Whether all of one text is in the other, in its order."""
    letters = iter(large)
    return all(letter in letters for letter in small)


@pytest.mark.requirement("first-hour:connect:own-bytes")
@pytest.mark.parametrize(
    ("file", "names", "texts"), [(JSON, JSON_NAMES, json_files()), (TOML, TOML_NAMES, toml_files())]
)
@given(st.data())
def test_what_is_put_in_is_taken_out_to_the_byte(
    file: str, names: Sequence[str], texts: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(texts)

    edited = with_entry(file, text, names, OURS)
    changed = with_entry(file, edited.text, names, OTHER).text

    assert entry_in(file, edited.text, names) == OURS
    assert edited.trace.inside or is_part(text, edited.text)
    assert without_entry(file, edited.text, names, edited.trace) == text
    assert entry_in(file, changed, names) == OTHER
    assert without_entry(file, changed, names, edited.trace) == text


@pytest.mark.requirement("first-hour:connect:rewritten")
@given(
    st.data(),
    json_files(),
    st.dictionaries(st.sampled_from(["theme", "n"]), VALUES),
    SERVERS,
    st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_of_a_file_that_its_client_wrote_anew_only_the_entry_goes(
    data: st.DataObject, text: str, more: dict[str, Any], servers: dict[str, Any], indent: Any
) -> None:
    """Members in another order, another indent, other servers added, comments gone."""
    edited = with_entry(JSON, text, JSON_NAMES, OURS)
    document = {**parsed(JSON, edited.text), **more}
    document["mcpServers"] = {**document["mcpServers"], **servers}

    def written(value: dict[str, Any]) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=False)

    shuffled = {name: document[name] for name in data.draw(st.permutations(list(document)))}
    listed: dict[str, Any] = shuffled["mcpServers"]
    shuffled["mcpServers"] = {
        each: listed[each] for each in data.draw(st.permutations(list(listed)))
    }
    rest = {name: each for name, each in shuffled["mcpServers"].items() if name != "portico"}
    expected = {**shuffled, "mcpServers": rest}
    if not rest and edited.trace.made:
        del expected["mcpServers"]

    left = without_entry(JSON, written(shuffled), JSON_NAMES, edited.trace)

    if not expected and edited.trace.made == 2:
        assert left == edited.trace.inside
    elif edited.trace.inside and (expected if edited.trace.made else rest) == {}:
        assert parsed(JSON, left) == expected  # the space that was between its braces
    else:
        assert left == written(expected)


def test_a_table_is_taken_out_however_it_was_written_anew() -> None:
    rows: list[str] = [
        '[mcp_servers]\nportico = { command = "p" }\nz = { command = "z" }\n',
        '[mcp_servers]\nz = { command = "z" }\nportico = { command = "p" } # ours',
        '[mcp_servers]\nportico.command = "p"\nportico.args = [\n"a", # b\n]\nz.command = "z"\n',
        'mcp_servers = { portico = { command = "p" }, z = { command = "z" } }\n',
        'mcp_servers = { z = { command = "z" }, portico = { command = "p" } }\n',
        'mcp_servers = { portico.command = "p", z = { command = "z" }, portico.args = [] }\n',
        'mcp_servers.portico = { command = "p" }\nmcp_servers.z.command = "z"\n',
        '[mcp_servers.portico]\ncommand = "p"\n\n[mcp_servers.z]\ncommand = "z"\n',
        '[mcp_servers.portico]\ncommand = "p"\n[mcp_servers.z]\ncommand = "z"\n',
        '[mcp_servers.z]\ncommand = "z"\n[mcp_servers.portico]\n[mcp_servers.portico.env]\nA = 1\n',
        '[mcp_servers.portico.env]\nA = 1\n[mcp_servers.z]\ncommand = "z"\n[mcp_servers.portico]\n',
    ]

    for rewritten in rows:
        left = without_entry(TOML, rewritten, TOML_NAMES)

        assert tomllib.loads(left) == {"mcp_servers": {"z": {"command": "z"}}}, rewritten
        assert is_part(left, rewritten)
        assert "portico" not in left, rewritten
        assert not left.startswith("\n"), rewritten


def test_it_is_written_as_the_file_is() -> None:
    rows: list[tuple[str, str]] = [
        ("{}", '{\n  "mcpServers": {\n    "portico": {}\n  }\n}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"portico": {}\n\t}\n}\n'),
        (
            '{\n\t/* a */ "a": 1,\n\t"mcpServers": {}\n}\n',
            '{\n\t/* a */ "a": 1,\n\t"mcpServers": {\n\t\t"portico": {}\n\t}\n}\n',
        ),
        (
            '{ "a": 1,\n\t"mcpServers": {} }',
            '{ "a": 1,\n\t"mcpServers": {\n\t\t"portico": {}\n\t} }',
        ),
        (
            '{ "a": {\n\t"b": 1 } }',
            '{ "a": {\n\t"b": 1 },\n\t"mcpServers": {\n\t\t"portico": {}\n\t} }',
        ),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"portico": {}}}'),
        ('{"a":1}', '{"a":1,"mcpServers":{"portico":{}}}'),
        ('{"mcpServers": {}}', '{"mcpServers": {"portico": {}}}'),
        (
            '{\n  "mcpServers": {\n    "a": {} // one\n  }\n}',
            '{\n  "mcpServers": {\n    "a": {}, // one\n    "portico": {}\n  }\n}',
        ),
        (
            '{\r\n  "mcpServers": {\r\n    "a": {},\r\n  },\r\n}',
            '{\r\n  "mcpServers": {\r\n    "a": {},\r\n    "portico": {},\r\n  },\r\n}',
        ),
        ("{ // none yet\n}", '{ // none yet\n  "mcpServers": {\n    "portico": {}\n  }\n}'),
        ('{"a": [\n1]}', '{"a": [\n1],\n  "mcpServers": {\n    "portico": {}\n  }}'),
    ]

    for before, after in rows:
        assert with_entry(JSON, before, JSON_NAMES, {}).text == after


def test_what_stands_around_it_stays() -> None:
    rows: list[tuple[str, str]] = [
        (
            '{ // a\n"mcpServers": { // b\n"portico": 1, "z": 2}}',
            '{ // a\n"mcpServers": { // b\n"z": 2}}',
        ),
        ('{"mcpServers": {"z": 2, // b\n"portico": 1}}', '{"mcpServers": {"z": 2 // b\n}}'),
        ('{"mcpServers": {"portico": 1 /* c */ , "z": 2}}', '{"mcpServers": { /* c */ "z": 2}}'),
        ('{"mcpServers": {"portico": 1,}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"portico": 1, /* c */}}', '{"mcpServers": { /* c */}}'),
        ('{"mcpServers": {"portico": null}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"portico": 1, "portico": 2}}', '{"mcpServers": {"portico": 1}}'),
    ]

    for before, after in rows:
        assert without_entry(JSON, before, JSON_NAMES) == after


def test_what_is_not_there_is_not_taken_out() -> None:
    for text in ['{"mcpServers": {"a": 1}}', "{}", ""]:
        assert without_entry(JSON, text, JSON_NAMES, Trace(2)) == text
    assert without_entry(TOML, "mcp_servers = { a = 1 }", TOML_NAMES) == "mcp_servers = { a = 1 }"
    assert entry_in(JSON, "{}", JSON_NAMES) is None
    assert config_edits.take_out_json("{}", JSON_NAMES, Trace()) == "{}"
    assert config_edits.change("{}", JSON_NAMES, OURS) == "{}"


def test_a_list_that_was_made_stays_if_somebody_else_is_in_it() -> None:
    made = with_entry(JSON, "{}", JSON_NAMES, OURS)
    commented = made.text.replace("  }\n}", "  } // mine\n}").replace(
        "    }\n", "    }\n    // kept\n"
    )

    assert made.trace == Trace(1)
    assert parsed(JSON, without_entry(JSON, commented, JSON_NAMES, made.trace)) == {
        "mcpServers": {}
    }


@pytest.mark.requirement("first-hour:connect:malformed")
@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        (JSON, '{\n  "a": 1\n  "b": 2\n}', (3, 3)),
        (JSON, "[]", (1, None)),
        (JSON, '{\n"mcpServers": []}', (2, None)),
        (JSON, '{\n\n"mcpServers": null}', (3, None)),
        (TOML, 'a = 1\nb = "x\n', (2, 7)),
        (TOML, "mcp_servers = 1", (None, None)),
        (TOML, "a = '''", (None, None)),
        (TOML, "[[mcp_servers]]\na = 1", (1, None)),
    ],
)
def test_a_file_with_a_mistake_in_it_is_refused_with_its_place(
    file: str, text: str, place: tuple[int | None, int | None]
) -> None:
    names = TOML_NAMES if file == TOML else JSON_NAMES

    with pytest.raises(ClientFileMalformed) as refused:
        with_entry(file, text, names, OURS)

    assert (refused.value.line, refused.value.column) == place
    assert str(refused.value).startswith(file)
    with pytest.raises(ClientFileMalformed):
        without_entry(file, text, names)


@pytest.mark.parametrize("after", ["{", '{"mcpServers": {"portico": 1}}', '{"mcpServers": {}}'])
def test_an_edit_that_harms_the_rest_is_refused(
    after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_edits, "put_in_json", lambda *_: Edited(after, Trace()))

    with pytest.raises(EditUnsafe):
        with_entry(JSON, '{"a": 1}', JSON_NAMES, {"portico": 1})


def test_an_entry_of_one_name_can_be_edited_too() -> None:
    """The list itself may be the top of a file."""
    edited = with_entry(JSON, '{"a": 1}', ("portico",), {})

    assert edited.text == '{"a": 1, "portico": {}}'
    assert with_entry(JSON, " ", ("portico",), {}).text == '{\n  "portico": {}\n}\n'
    assert (
        with_entry(TOML, "", ("a b",), {"x": True, "y": [1]}).text == '["a b"]\nx = true\ny = [1]\n'
    )


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
PLACE = ConfigLocation(path="/home/ana/.cursor/mcp.json", home="/home/ana")
WANTED: JsonObject = {"command": "/bin/portico", "args": ["stdio", "--start"]}
REACHED = CURSOR.reached("http://127.0.0.1:3100", "mine")


def listing(entry: str) -> str:
    return f'{{"mcpServers": {{"portico": {entry}}}}}'


def test_an_entry_is_told_from_others() -> None:
    rows: list[tuple[str, JsonObject, str]] = [
        ("{}", WANTED, EntryStatus.NONE),
        ('{"mcpServers": {"other": {"command": "/bin/other"}}}', WANTED, EntryStatus.NONE),
        (
            '{"mcpServers": {"other": {"command": "/a"}, "portico": {"command": "/b"}}}',
            WANTED,
            EntryStatus.FOREIGN,
        ),
        (listing('{"command": "/bin/portico", "args": ["stdio", "--start"]}'), WANTED, "connected"),
        (listing('{"command": "portico", "args": ["stdio"]}'), WANTED, EntryStatus.OTHERWISE),
        (listing('{"url": "http://localhost:3100/mcp"}'), WANTED, EntryStatus.OTHERWISE),
        (
            listing('{"url": "http://127.0.0.1:3100/mcp", "headers": {"Authorization": "other"}}'),
            REACHED,
            EntryStatus.SAME,
        ),
        (listing('{"command": "/bin/other"}'), WANTED, EntryStatus.FOREIGN),
        (listing('{"command": "${odd}/portico", "args": ["stdio"]}'), WANTED, EntryStatus.FOREIGN),
        (listing("7"), WANTED, EntryStatus.FOREIGN),
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
    found = DetectedClient(home=zed, file="f", present=True, status=EntryStatus.NONE)
    gone = Removal(
        home=zed, file="f", before="{}", after=None, as_before=True, foreign=False, diff=""
    )

    assert (found.problem, gone.key, gone.copy) == (None, None, None)
    assert Written(copy=None).notes == ()
