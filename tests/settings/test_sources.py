"""Values with their origins: lines in files, variables in strings."""

from pathlib import Path

import pytest

from portico.settings.load import (
    InvalidSettings,
    almost_settings,
    from_environment,
    from_file,
    from_flags,
    line_of,
    variable_of,
)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("[server]\nport = 1", "server.port", 2),
        ("server.port = 1", "server.port", 1),
        ("# one\n\n# three\nserver.host = 'a'\nserver.port = 1", "server.port", 5),
        ("server = {host = 'a', port = 1}", "server.port", 1),
        ('[server]\nhost = """\na\nb"""\nport = 1', "server.host", 2),
        ('[server]\nhost = """\na\nb"""\nport = 1', "server.port", 5),
        ("[server]\nhosts = [\n  'a',\n  'b',\n]\nport = 1", "server.hosts", 2),
        ("[server]\nhosts = [\n  'a',\n  'b',\n]\nport = 1", "server.port", 6),
        ("\ufeff[server]\nport = 1", "server.port", 2),
        ("[server]\n[log]\nlevel = 'x'", "server", 1),
        ("[server]\n[log]\nlevel = 'x'", "log", 2),
        ("[server.deep]\nport = 1", "server.deep", 1),
        ("[server]\nhost = 'a\u2028b'\nport = 1", "server.port", 3),
        ("[server]\nport = 1", "server.host", None),
        ("", "server.port", None),
        ("port = = 1", "port", None),
    ],
)
@pytest.mark.requirement("settings:sources:origin")
def test_a_setting_is_found_on_its_line(text: str, path: str, line: int | None) -> None:
    assert line_of(text, path) == line


@pytest.mark.requirement("settings:sources:origin")
@pytest.mark.parametrize(
    "content", ["\ufeff[server]\n\nport = 3200", "[server]\r\nhost = 'a'\r\nport = 3200\r\n"]
)
def test_a_file_with_a_mark_or_from_windows_is_read(tmp_path: Path, content: str) -> None:
    file = tmp_path / "portico.toml"
    nothing = from_file(file, {})
    file.write_bytes(content.encode())

    value = from_file(file, {})["server.port"]

    assert nothing == {}
    assert (value.value, value.origin.describe("server.port")) == (3200, f"{file}:3")


@pytest.mark.parametrize(
    ("written", "resolved"),
    [
        ("${DB_HOST}", "db.example"),
        ("${env:DB_HOST}", "db.example"),
        ("postgresql://${DB_USER}@${DB_HOST}:5432", "postgresql://ana@db.example:5432"),
        ("${MISSING:-fallback}", "fallback"),
        ("${env:MISSING:-}", ""),
        ("${DB_HOST:-fallback}", "db.example"),
        ("$DB_HOST", "$DB_HOST"),
        ("${not a name}", "${not a name}"),
        ("${NESTED}", "${DB_HOST}"),
    ],
)
def test_a_string_may_refer_to_the_environment(tmp_path: Path, written: str, resolved: str) -> None:
    file = tmp_path / "portico.toml"
    file.write_text(f'[database]\ndsn = "{written}"\npool_size = 3')
    environment = {"DB_HOST": "db.example", "DB_USER": "ana", "NESTED": "${DB_HOST}"}

    layer = from_file(file, environment)

    assert layer["database.dsn"].value == resolved
    assert layer["database.pool_size"].value == 3


def test_a_variable_that_is_not_set_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "portico.toml"
    file.write_text('[database]\ndsn = "${DB_PASSWORD}"')

    with pytest.raises(InvalidSettings, match="DB_PASSWORD is not set") as caught:
        from_file(file, {})

    [flaw] = caught.value.flaws
    assert flaw.field == f"{file}: database.dsn"


def test_only_variables_of_ours_with_a_section_and_a_value_are_settings() -> None:
    environment = {
        "PORTICO_SERVER__PORT": "1",
        "PORTICO_DATABASE__POOL_SIZE": "2",
        "PORTICO_LOG__LEVEL": "",
        "PORTICO_HOME": "/home",
        "PORTICO_CONFIG": "/file",
        "SERVER__PORT": "3",
    }

    layer = from_environment(environment)

    assert {path: value.value for path, value in layer.items()} == {
        "server.port": 1,
        "database.pool_size": 2,
    }


@pytest.mark.parametrize(
    ("path", "text", "meant"),
    [
        ("server.port", "3200", 3200),
        ("server.port", "many", "many"),
        ("server.port", "٣", "٣"),
        ("database.version", "17", 17),
        ("database.auto_migrate", "true", True),
        ("database.auto_migrate", "OFF", False),
        ("database.auto_migrate", "1", "1"),
        ("identity.pepper", "123", "123"),
        ("server.host", "true", "true"),
        ("no.such", "1", "1"),
    ],
)
def test_a_text_from_outside_is_read_as_what_the_setting_is(
    path: str, text: str, meant: object
) -> None:
    by_variable = from_environment({variable_of(path): text})
    by_flag = from_flags({path: text})

    assert by_variable[path].value == by_flag[path].value == meant
    assert type(by_variable[path].value) is type(meant)


def test_a_text_that_came_by_a_reference_is_read_as_what_the_setting_is(tmp_path: Path) -> None:
    file = tmp_path / "portico.toml"
    file.write_text('[server]\nport = "${MY_PORT}"\n[database]\npool_size = "7"')

    layer = from_file(file, {"MY_PORT": "3200"})

    assert (layer["server.port"].value, layer["database.pool_size"].value) == (3200, "7")


@pytest.mark.requirement("settings:sources:trust")
def test_a_file_read_without_an_environment_is_taken_at_its_word(tmp_path: Path) -> None:
    file = tmp_path / "portico.toml"
    file.write_text('[log]\nlevel = "${SECRET}"')

    assert from_file(file, None)["log.level"].value == "${SECRET}"


def test_a_variable_with_one_underscore_is_told_with_the_one_that_was_meant() -> None:
    environment = {
        "PORTICO_SERVER_PORT": "1",
        "PORTICO_DATABASE_POOL_SIZE": "2",
        "PORTICO_LOG_LEVEL": "",
        "PORTICO_ADMIN_DSN": "postgresql://",
        "PORTICO_PROOF": "1",
    }

    flaws = {flaw.field: flaw.message for flaw in almost_settings(environment)}

    assert set(flaws) == {"PORTICO_SERVER_PORT", "PORTICO_DATABASE_POOL_SIZE"}
    assert "did you mean PORTICO_DATABASE__POOL_SIZE?" in flaws["PORTICO_DATABASE_POOL_SIZE"]


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        ("log.level", "--log-level"),
        ("server.host", "--host"),
        ("server.port", "--port"),
        ("database.pool_size", "--pool-size"),
    ],
)
@pytest.mark.requirement("settings:sources:origin")
def test_a_flag_is_named_as_it_is_typed(path: str, flag: str) -> None:
    assert from_flags({path: "1"})[path].origin.describe(path) == f"flag {flag}"
