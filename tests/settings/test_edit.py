"""Changing one setting leaves the rest of the file alone."""

import tomllib
from pathlib import Path

import pytest

from portico.settings.edit import STARTER, as_toml, with_setting, without_setting
from portico.settings.load import InvalidSettings, check

FILE = Path("/somewhere/portico.toml")
MINE = """\
# Mine, all mine.
[server]  # where it listens
port = 3200   # not the usual one

# quiet please
[log]
level = "warning"
"""


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_every_comment_and_every_other_line_stays() -> None:
    changed = with_setting(MINE, "server.port", "3300", FILE)

    assert changed == MINE.replace("3200", "3300")


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_a_setting_joins_its_section() -> None:
    changed = with_setting(MINE, "server.host", "localhost", FILE)

    assert tomllib.loads(changed)["server"] == {"port": 3200, "host": "localhost"}
    for comment in ("# Mine, all mine.", "# where it listens", "# not the usual one", "# quiet"):
        assert comment in changed


def test_a_section_is_made_if_there_is_none_and_a_dotted_setting_changed_in_its_place() -> None:
    changed = with_setting(MINE, "database.source", "system", FILE)
    dotted = with_setting("server.port = 1 # one\n", "server.port", "2", FILE)

    assert changed.startswith(MINE)
    assert changed.endswith("\n")
    assert tomllib.loads(changed)["database"] == {"source": "system"}
    assert tomllib.loads(dotted) == {"server": {"port": 2}}
    assert "# one" in dotted


@pytest.mark.parametrize(
    ("path", "value", "written"),
    [
        ("server.port", "3300", 3300),
        ("database.auto_migrate", "true", True),
        ("database.auto_migrate", "false", False),
        ("log.level", "debug", "debug"),
        ("server.host", "127.0.0.1", "127.0.0.1"),
        ("server.public_url", 'https://a.example/"', 'https://a.example/"'),
    ],
)
def test_a_number_or_a_truth_value_is_written_as_one(
    path: str, value: str, written: object
) -> None:
    section, name = path.split(".")

    assert tomllib.loads(with_setting("", path, value, FILE))[section][name] == written


@pytest.mark.parametrize("path", ["server", "server.prot", "", "prot", "server.port.deep"])
def test_a_setting_that_does_not_exist_is_refused(path: str) -> None:
    with pytest.raises(InvalidSettings, match="no such setting") as caught:
        with_setting(MINE, path, "1", FILE)

    assert caught.value.field_errors[0].field == path


def test_a_near_miss_is_told_with_what_was_meant() -> None:
    with pytest.raises(InvalidSettings, match=r"did you mean server\.port\?"):
        with_setting(MINE, "server.prot", "1", FILE)


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("models.providers.mine.kind", "[models.providers.mine]\nkind = …\n"),
        ("models.providers.mine", "[models.providers.mine]\nSETTING = …\n"),
        ("models.providers", "[models.providers.NAME]\nSETTING = …\n"),
        ("servers.x.command", "[servers.x]\ncommand = …\n"),
        ("ahead.prices.git*", '[ahead.prices]\n"git*" = …\n'),
    ],
)
def test_of_a_table_it_is_told_how_it_is_written(path: str, lines: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        with_setting(MINE, path, "sk-secret", FILE)

    [flaw] = caught.value.field_errors
    assert flaw.field == path
    assert flaw.message == f"is a table, which is written into {FILE} by hand:\n\n{lines}"


def test_a_table_is_taken_out_whole_or_by_hand() -> None:
    text = MINE + '\n[models.providers.mine]\nkind = "openai"\n'

    assert "models.providers" not in without_setting(text, "models.providers", FILE)
    with pytest.raises(InvalidSettings, match="by hand"):
        without_setting(text, "models.providers.mine.kind", FILE)


@pytest.mark.requirement("settings:change:keeps-the-rest")
def test_a_setting_is_taken_out_and_the_rest_stays() -> None:
    changed = without_setting(MINE, "server.port", FILE)

    assert changed == MINE.replace("port = 3200   # not the usual one\n", "")


def test_what_is_not_set_can_be_taken_out_too() -> None:
    assert without_setting(MINE, "server.host", FILE) == MINE
    assert without_setting(MINE, "database.source", FILE) == MINE
    with pytest.raises(InvalidSettings, match="no such setting"):
        without_setting(MINE, "server.prot", FILE)


def test_a_file_that_is_no_toml_is_not_touched() -> None:
    with pytest.raises(InvalidSettings, match="not valid TOML") as caught:
        with_setting("[server\nport = 1", "server.port", "2", FILE)

    assert caught.value.field_errors[0].field == str(FILE)


def test_a_section_that_is_no_table_is_told_and_not_overwritten() -> None:
    with pytest.raises(InvalidSettings, match="server"):
        with_setting("server = 5", "server.port", "2", FILE)


def test_the_file_that_init_writes_is_valid_and_decides_nothing() -> None:
    check(STARTER, FILE)

    assert tomllib.loads(STARTER) == {"server": {}, "database": {}}


def test_addresses_are_written_as_toml() -> None:
    addresses = {"dsn": 'host=db password=a"b\\c', "owner_dsn": "x"}

    assert tomllib.loads(as_toml({"database": addresses})) == {"database": addresses}
