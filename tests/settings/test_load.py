"""Which source wins, and where each value is said to come from."""

from pathlib import Path

import pytest

from portico.kernel.errors import FieldError
from portico.settings.load import (
    InvalidSettings,
    Loaded,
    UnreadableSettings,
    almost_settings,
    check,
    from_environment,
    from_file,
    from_flags,
    line_of,
    load,
    variable_of,
)
from tests.settings.conftest import Machine


@pytest.mark.requirement("settings:sources:precedence")
def test_flag_over_environment_over_project_over_user_over_provisioned_over_default(
    machine: Machine,
) -> None:
    seen = [_level(machine.load())]

    machine.provisioned_file.write_text('[log]\nlevel = "warning"')
    seen.append(_level(machine.load()))
    machine.user_file.write_text('[log]\nlevel = "error"')
    seen.append(_level(machine.load()))
    machine.project_file.write_text('[log]\nlevel = "debug"')
    seen.append(_level(machine.load()))
    machine.environment["PORTICO_LOG__LEVEL"] = "warning"
    seen.append(_level(machine.load()))
    seen.append(_level(machine.load(log__level="info")))

    assert seen == [
        ("info", "default"),
        ("warning", str(machine.provisioned_file)),
        ("error", str(machine.user_file)),
        ("debug", str(machine.project_file)),
        ("warning", "environment PORTICO_LOG__LEVEL"),
        ("info", "flag --log-level"),
    ]


def _level(loaded: Loaded) -> tuple[str, str]:
    return loaded.settings.log.level, loaded.origin("log.level").text


@pytest.mark.requirement("settings:sources:precedence")
def test_sources_are_merged_setting_by_setting(machine: Machine) -> None:
    machine.user_file.write_text('[server]\nport = 1002\n[log]\nlevel = "debug"')
    machine.project_file.write_text('[log]\nlevel = "error"')

    settings = machine.load().settings

    assert (settings.server.port, settings.log.level) == (1002, "error")


@pytest.mark.parametrize(
    "text",
    [
        'server.host = "0.0.0.0"',
        'server.public_url = "https://evil.example"',
        'client.server = "https://evil.example"',
        'database.dsn = "postgresql://evil.example/x"',
        'database.run_as = "evil"',
        'identity.pepper = "known"',
        "server = 3",
        "log.file = false",
        "log.keep_days = 1",
        'log.rooms = "psycopg=debug"',
        'telemetry.otlp_endpoint = "https://evil.example"',
        'embeddings.url = "https://evil.example/v1"',
        'box.unboxed = ["evil"]',
        'web.allow = ["127.0.0.1:80"]',
    ],
)
@pytest.mark.requirement("settings:sources:trust")
def test_a_file_that_came_with_a_folder_decides_nothing_trusted(
    machine: Machine, text: str
) -> None:
    machine.project_file.write_text(f'# hello\nlog.level = "debug"\n{text}')

    [flaw] = machine.flaws()

    assert flaw.field == text.partition(" ")[0]
    assert "only in your own file, the environment or flags" in flaw.message
    assert f"{machine.project_file}:3" in flaw.message


@pytest.mark.requirement("settings:sources:trust")
def test_a_file_that_came_with_a_folder_reads_no_variables(machine: Machine) -> None:
    machine.environment["SECRET"] = "debug"
    machine.project_file.write_text('[log]\nlevel = "${SECRET}"')

    [flaw] = machine.flaws()

    assert flaw.field == "log.level"
    machine.project_file.write_text('[client]\nserver = "https://${SECRET}.evil.example"')
    assert [flaw.field for flaw in machine.flaws()] == ["client.server"]


@pytest.mark.parametrize("link", [False, True])
def test_ones_own_file_may_decide_everything_wherever_one_stands(
    machine: Machine, link: bool
) -> None:
    machine.user_file.write_text("[server]\nport = 1002")
    if link:
        machine.project_file.symlink_to(machine.user_file)
    folder = machine.project_file.parent if link else machine.user_file.parent

    loaded = load(machine.environment, folder=folder)

    assert loaded.settings.server.port == 1002


@pytest.mark.requirement("settings:sources:trust")
def test_a_file_that_was_named_may_decide_everything(machine: Machine) -> None:
    machine.project_file.write_text("[server]\nport = 1003")

    assert machine.load(config=machine.project_file).settings.server.port == 1003


def test_a_flag_or_a_variable_that_is_not_given_decides_nothing(machine: Machine) -> None:
    machine.user_file.write_text('[log]\nlevel = "debug"')
    machine.environment |= {"PORTICO_LOG__LEVEL": "", "PORTICO_CONFIG": ""}

    assert machine.load(log__level=None).settings.log.level == "debug"


@pytest.mark.requirement("settings:sources:origin")
def test_an_origin_names_the_file_and_the_line(machine: Machine) -> None:
    machine.user_file.write_text(
        '# mine\n\n[server]\n# the port\nport = 1002\n\n[log]\nlevel="info"'
    )

    loaded = machine.load()

    assert loaded.origin("server.port").describe("server.port") == f"{machine.user_file}:5"
    assert loaded.origin("log.level").describe("log.level") == f"{machine.user_file}:8"
    assert loaded.origin("server.host").describe("server.host") == "default"


def test_a_named_file_stands_in_the_place_of_both(machine: Machine, tmp_path: Path) -> None:
    machine.user_file.write_text("[server]\nport = 1002")
    machine.project_file.write_text('[log]\nlevel = "debug"')
    named = tmp_path / "named.toml"
    named.write_text("[server]\nport = 1009")

    by_flag = machine.load(config=named)
    machine.environment["PORTICO_CONFIG"] = str(named)
    by_variable = machine.load()

    for loaded in (by_flag, by_variable):
        assert (loaded.settings.server.port, loaded.settings.log.level) == (1009, "info")


def test_a_named_file_that_is_not_there_is_told(machine: Machine, tmp_path: Path) -> None:
    machine.environment["PORTICO_CONFIG"] = str(tmp_path / "gone.toml")

    with pytest.raises(UnreadableSettings, match=r"gone\.toml") as caught:
        machine.load()

    assert "PORTICO_CONFIG" in str(caught.value.fix)


def test_a_file_that_cannot_be_read_is_told_with_the_mend(machine: Machine) -> None:
    machine.user_file.mkdir()

    with pytest.raises(UnreadableSettings, match=str(machine.user_file)) as caught:
        machine.load()

    assert "may read it" in str(caught.value.fix)


def test_a_file_that_is_not_text_is_told(machine: Machine) -> None:
    machine.user_file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(UnreadableSettings, match="is not UTF-8"):
        machine.load()


@pytest.mark.requirement("settings:file:validated")
@pytest.mark.parametrize(
    ("text", "field", "told", "line"),
    [
        ("[server]\nprot = 3200\n", "server.prot", "; did you mean server.port?", 2),
        ('[log]\nlevel = "info"\n\n[sever]\nport = 1', "sever", "; did you mean server?", 4),
        ("[zzzz]\nqqqq = 1", "zzzz", "", 1),
    ],
)
def test_what_is_unknown_is_told_with_its_line_and_the_nearest_one(
    machine: Machine, text: str, field: str, told: str, line: int
) -> None:
    machine.user_file.write_text(text)

    message = f"there is no such setting{told} ({machine.user_file}:{line})"
    assert machine.flaws() == [FieldError(field, message)]


@pytest.mark.requirement("settings:file:validated")
def test_every_flaw_is_told_at_once_each_with_its_place(machine: Machine) -> None:
    machine.user_file.write_text('[server]\nport = 99999\n[database]\nsource = "oracle"')
    machine.environment["PORTICO_LOG__LEVEL"] = "loud"

    flaws = {flaw.field: flaw.message for flaw in machine.flaws()}

    assert set(flaws) == {"server.port", "database.source", "log.level"}
    assert flaws["server.port"].endswith(f"({machine.user_file}:2)")
    assert flaws["database.source"].endswith(f"({machine.user_file}:4)")
    assert flaws["log.level"].endswith("(environment PORTICO_LOG__LEVEL)")


@pytest.mark.parametrize("text", ["server = 5", "server = []", "server = 'x'"])
def test_a_section_that_is_no_table_is_told(machine: Machine, text: str) -> None:
    machine.user_file.write_text(text)
    machine.environment["PORTICO_SERVER__PORT"] = "3200"

    [flaw] = machine.flaws()

    assert flaw == FieldError("server", f"must be a table: [server] ({machine.user_file}:1)")


@pytest.mark.requirement("settings:file:validated")
def test_what_is_no_toml_is_told_with_its_line(machine: Machine) -> None:
    machine.user_file.write_text("[server]\nport = = 3200\n")

    [flaw] = machine.flaws()

    assert flaw.field == str(machine.user_file)
    assert "not valid TOML" in flaw.message
    assert "line 2" in flaw.message


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "portico.lan"])
@pytest.mark.requirement("settings:server:open-needs-a-name")
def test_a_server_open_to_the_network_must_say_its_name_there(machine: Machine, host: str) -> None:
    machine.user_file.write_text(f'[server]\nport = 3200\nhost = "{host}"')

    [flaw] = machine.flaws()

    assert flaw.field == "server.host"
    assert f"({machine.user_file}:3)" in flaw.message
    assert f"host {host} is open to the network" in flaw.message
    assert "public_url" in flaw.message
    machine.environment["PORTICO_SERVER__PUBLIC_URL"] = "https://portico.example/"
    assert machine.load().settings.server.public_url == "https://portico.example"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_for_this_machine_needs_no_name(machine: Machine, host: str) -> None:
    machine.user_file.write_text(f'[server]\nhost = "{host}"')

    assert machine.load().settings.server.host == host


@pytest.mark.parametrize(
    "url",
    [
        "portico.example",
        "ftp://portico.example",
        "https://",
        "https://a.example/path",
        "https://a.example?x=1",
        "https://a.example#x",
        "https://a.example:99999",
        "https://a.example:x",
        "https://user:hunter2@a.example",
        "https://a example",
    ],
)
@pytest.mark.parametrize("path", ["server.public_url", "client.server"])
def test_an_address_of_a_server_is_a_scheme_and_a_host(
    machine: Machine, path: str, url: str
) -> None:
    machine.environment[variable_of(path)] = url

    [flaw] = machine.flaws()

    assert flaw.field == path
    assert "https://portico.example" in flaw.message
    assert "hunter2" not in flaw.message


def test_the_command_line_can_be_told_which_server_to_talk_to(machine: Machine) -> None:
    assert machine.load().settings.client.server is None
    machine.environment["PORTICO_CLIENT__SERVER"] = "http://[::1]:3200/"

    assert machine.load().settings.client.server == "http://[::1]:3200"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[server]\nport = true", "server.port"),
        ('[server]\nport = "3200"', "server.port"),
        ("[server]\nport = 3200.0", "server.port"),
        ('[database]\npool_size = "7"', "database.pool_size"),
        ("[database]\nauto_migrate = 1", "database.auto_migrate"),
        ('[database]\nauto_migrate = "true"', "database.auto_migrate"),
        ("[database]\nversion = true", "database.version"),
        ('[database]\nversion = "17"', "database.version"),
        ("[server]\nhost = 1", "server.host"),
        ("[identity]\npepper = 1", "identity.pepper"),
    ],
)
@pytest.mark.requirement("settings:file:validated")
def test_a_value_of_another_type_is_not_taken_for_one(
    machine: Machine, text: str, path: str
) -> None:
    machine.user_file.write_text(text)

    assert [flaw.field for flaw in machine.flaws()] == [path]


@pytest.mark.parametrize("name", ["dsn", "owner_dsn", "engine_dsn"])
@pytest.mark.parametrize(
    "address", ["host=db hunter2", "postgresql://app:hunter2@[db/x", "mysql://hunter2@db"]
)
@pytest.mark.requirement("settings:secrets:hidden")
def test_what_is_no_address_of_a_database_is_told_and_not_repeated(
    machine: Machine, name: str, address: str
) -> None:
    machine.environment[f"PORTICO_DATABASE__{name.upper()}"] = address

    [flaw] = machine.flaws()

    assert flaw.field == f"database.{name}"
    assert "PostgreSQL" in flaw.message
    assert "hunter2" not in flaw.message


@pytest.mark.requirement("settings:secrets:hidden")
def test_a_secret_is_shown_only_as_being_there(machine: Machine) -> None:
    machine.environment |= {
        "PORTICO_DATABASE__DSN": "postgresql://app:hunter2@db/portico",
        "PORTICO_IDENTITY__PEPPER": "hunter2",
    }

    loaded = machine.load()
    leaves = dict(loaded.leaves())

    assert leaves["database.dsn"] == leaves["identity.pepper"] == "********"
    assert leaves["database.owner_dsn"] is None
    assert "hunter2" not in repr(leaves)
    assert "hunter2" not in repr(loaded)
    assert loaded.settings.identity.pepper is not None
    assert loaded.settings.identity.pepper.get_secret_value() == "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        '[database]\ndsn = ["hunter2"]',
        '[database]\ndsn = {password = "hunter2"}',
        '[database]\ndsm = "hunter2"',
        'database = "hunter2"',
        '[database]\ndsn = "${HUNTER}hunter2"',
        '[database]\ndsn = "hunter2',
        '[identity]\npepper = "hunter2"\npepper = "hunter2"',
    ],
)
@pytest.mark.requirement("settings:secrets:hidden")
def test_a_refusal_never_repeats_a_secret(machine: Machine, text: str) -> None:
    machine.user_file.write_text(text)

    with pytest.raises(InvalidSettings) as caught:
        machine.load()

    assert "hunter2" not in f"{caught.value} {caught.value.field_errors} {caught.value.fix}"


def test_a_file_is_checked_before_it_is_written(machine: Machine) -> None:
    check("[server]\nport = 3200", machine.user_file)

    with pytest.raises(InvalidSettings, match=str(machine.user_file)):
        check("[server]\nport = 0", machine.user_file)
    with pytest.raises(InvalidSettings, match=r"must be a table: \[server\]"):
        check("server = 0", machine.user_file)


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

    [flaw] = caught.value.field_errors
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
