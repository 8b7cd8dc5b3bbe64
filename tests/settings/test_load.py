"""Which source wins, and where each value is said to come from."""

from pathlib import Path

import pytest

from portico.kernel.errors import Flaw
from portico.settings.errors import InvalidSettings, UnreadableSettings
from portico.settings.load import Loaded, check, load


class Machine:
    """A user's folders, a project's folder, an environment."""

    def __init__(self, root: Path) -> None:
        self.user_file = root / "home" / "config" / "portico.toml"
        self.provisioned_file = root / "home" / "config" / "provisioned.toml"
        self.project_file = root / "project" / "portico.toml"
        for file in (self.user_file, self.project_file):
            file.parent.mkdir(parents=True)
        self.environment = {"PORTICO_HOME": str(root / "home")}

    def load(self, config: Path | None = None, **flags: object) -> Loaded:
        dotted = {name.replace("__", "."): value for name, value in flags.items()}
        return load(self.environment, folder=self.project_file.parent, config=config, flags=dotted)

    def flaws(self) -> list[Flaw]:
        with pytest.raises(InvalidSettings) as caught:
            self.load()
        return [*caught.value.flaws]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.requirement("settings:sources:precedence")
def test_flag_over_environment_over_project_over_user_over_provisioned_over_default(
    machine: Machine,
) -> None:
    seen = [(machine.load().settings.server.port, machine.load().origin("server.port").text)]

    machine.provisioned_file.write_text("[server]\nport = 1001")
    seen.append(_port(machine.load()))
    machine.user_file.write_text("[server]\nport = 1002")
    seen.append(_port(machine.load()))
    machine.project_file.write_text("[server]\nport = 1003")
    seen.append(_port(machine.load()))
    machine.environment["PORTICO_SERVER__PORT"] = "1004"
    seen.append(_port(machine.load()))
    seen.append(_port(machine.load(server__port=1005)))

    assert seen == [
        (3100, "default"),
        (1001, str(machine.provisioned_file)),
        (1002, str(machine.user_file)),
        (1003, str(machine.project_file)),
        (1004, "environment PORTICO_SERVER__PORT"),
        (1005, "flag --port"),
    ]


def _port(loaded: Loaded) -> tuple[int, str]:
    return loaded.settings.server.port, loaded.origin("server.port").text


@pytest.mark.requirement("settings:sources:precedence")
def test_sources_are_merged_setting_by_setting(machine: Machine) -> None:
    machine.user_file.write_text('[server]\nport = 1002\n[log]\nlevel = "debug"')
    machine.project_file.write_text("[server]\nport = 1003")

    settings = machine.load().settings

    assert (settings.server.port, settings.log.level) == (1003, "debug")


def test_a_flag_or_a_variable_that_is_not_given_decides_nothing(machine: Machine) -> None:
    machine.user_file.write_text('[log]\nlevel = "debug"')
    machine.environment["PORTICO_LOG__LEVEL"] = ""

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


def test_flags_are_named_as_they_are_typed(machine: Machine) -> None:
    loaded = machine.load(database__pool_size=3)

    assert loaded.origin("database.pool_size").describe("database.pool_size") == "flag --pool-size"


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


def test_a_config_variable_that_is_empty_counts_as_not_set(machine: Machine) -> None:
    machine.user_file.write_text("[server]\nport = 1002")
    machine.environment["PORTICO_CONFIG"] = ""

    assert machine.load().settings.server.port == 1002


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
def test_an_unknown_setting_is_told_with_its_line_and_the_nearest_one(machine: Machine) -> None:
    machine.user_file.write_text("[server]\nprot = 3200\n")

    assert machine.flaws() == [
        Flaw(
            "server.prot",
            f"there is no such setting; did you mean server.port? ({machine.user_file}:2)",
        )
    ]


@pytest.mark.requirement("settings:file:validated")
def test_an_unknown_section_is_told_with_its_line(machine: Machine) -> None:
    machine.user_file.write_text('[log]\nlevel = "info"\n\n[sever]\nport = 1')

    [flaw] = machine.flaws()

    assert flaw.field == "sever"
    assert flaw.message == (
        f"there is no such setting; did you mean server? ({machine.user_file}:4)"
    )


def test_what_resembles_nothing_gets_no_suggestion(machine: Machine) -> None:
    machine.environment["PORTICO_ZZZZ__QQQQ"] = "1"

    assert machine.flaws() == [
        Flaw("zzzz", "there is no such setting (environment PORTICO_ZZZZ__QQQQ)")
    ]


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

    assert flaw.field == "server"
    assert f"({machine.user_file}:1)" in flaw.message


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
    machine.user_file.write_text(f'[server]\nhost = "{host}"')

    [flaw] = machine.flaws()

    assert f"host {host} is open to the network" in flaw.message
    assert "public_url" in flaw.message
    machine.environment["PORTICO_SERVER__PUBLIC_URL"] = "https://portico.example/"
    assert machine.load().settings.server.public_url == "https://portico.example"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_for_this_machine_needs_no_name(machine: Machine, host: str) -> None:
    machine.user_file.write_text(f'[server]\nhost = "{host}"')

    assert machine.load().settings.server.host == host


@pytest.mark.parametrize(
    "url", ["portico.example", "ftp://portico.example", "https://", "https://a.example/path"]
)
def test_a_public_url_is_a_scheme_and_a_host(machine: Machine, url: str) -> None:
    machine.environment["PORTICO_SERVER__PUBLIC_URL"] = url

    [flaw] = machine.flaws()

    assert flaw.field == "server.public_url"
    assert "https://portico.example" in flaw.message


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

    assert "hunter2" not in f"{caught.value} {caught.value.flaws} {caught.value.fix}"


def test_every_setting_is_among_the_leaves(machine: Machine) -> None:
    paths = [path for path, _ in machine.load().leaves()]

    assert len(paths) == len(set(paths)) == 13
    assert {"server.port", "database.source", "identity.pepper", "log.level"} <= set(paths)


def test_a_file_is_checked_before_it_is_written(machine: Machine) -> None:
    check("[server]\nport = 3200", machine.user_file)

    with pytest.raises(InvalidSettings, match=str(machine.user_file)):
        check("[server]\nport = 0", machine.user_file)
