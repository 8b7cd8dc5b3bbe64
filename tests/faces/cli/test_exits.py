"""The exit codes that scripts rely on."""

from pathlib import Path

import pytest

from portico.adapters.telemetry.errors import ExporterMissing
from portico.engine.core.errors import BackupFailed, KeyReused, StoreRefused, StoreUnavailable
from portico.faces.cli.errors import BadUsage, Broken, FileInTheWay, NeedsYes, SystemRefused
from portico.faces.cli.exits import Exit, exit_for
from portico.faces.cli.join import BadLink
from portico.faces.cli.server import NoKey, NotRunning, Refused
from portico.guard.core.errors import KeyNotFound, NameTaken, NotAuthenticated, Overreach
from portico.kernel.budget import ReservationExceeded
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import BadId
from portico.settings.errors import InvalidSettings, UnreadableSettings


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyNotFound("x"), 1),
        (NameTaken("bob"), 1),
        (BackupFailed("disk full"), 1),
        (FileInTheWay(Path("x")), 1),
        (SystemRefused(OSError()), 1),
        (Broken(ValueError()), 1),
        (BadUsage("x"), 2),
        (BadId("x", "spc"), 2),
        (BadLink(), 2),
        (KeyReused("k"), 2),
        (InvalidSettings([]), 3),
        (UnreadableSettings("x"), 3),
        (StoreRefused("root"), 3),
        (ExporterMissing(), 3),
        (StoreUnavailable("x"), 4),
        (NotRunning("http://127.0.0.1:3100"), 4),
        (NotAuthenticated(), 5),
        (Overreach("x"), 5),
        (NeedsYes("Sure?"), 6),
        (ReservationExceeded("x", ("calls",)), 7),
        (Refused(401, {}), 5),
        (Refused(403, {"code": "not_permitted"}), 5),
        (Refused(404, {}), 1),
        (Refused(409, {}), 1),
        (Refused(422, {}), 2),
        (Refused(429, {}), 7),
        (Refused(500, {}), 4),
        (Refused(503, {}), 4),
    ],
    ids=lambda value: value.code if isinstance(value, PorticoError) else str(value),
)
@pytest.mark.requirement("cli:exits:codes")
def test_each_failure_has_its_exit_code(error: PorticoError, code: int) -> None:
    assert exit_for(error) == code


@pytest.mark.requirement("cli:exits:codes")
def test_every_kind_of_failure_has_an_exit_code() -> None:
    for kind in Kind:
        error = PorticoError("x")
        error.kind, error.code = kind, "x"
        assert exit_for(error) > 0


def test_the_codes_are_those_of_the_manual() -> None:
    assert {each.name: int(each) for each in Exit} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "CONFIG": 3,
        "NOT_RUNNING": 4,
        "DENIED": 5,
        "APPROVAL": 6,
        "BUDGET": 7,
        "PARTIAL": 8,
        "UNDECIDED": 9,
        "SKIPPED": 77,
        "INTERRUPTED": 130,
    }


def test_what_the_server_refused_is_told_in_its_own_words() -> None:
    problem = {
        "detail": "There is no key 'x'.",
        "code": "key_not_found",
        "title": "No such key",
        "fix": "portico keys list",
        "errors": [{"field": "id", "message": "unknown"}],
    }

    error = Refused(404, problem)

    assert (str(error), error.code, error.title, error.fix) == (
        "There is no key 'x'.",
        "key_not_found",
        "No such key",
        "portico keys list",
    )
    assert [(flaw.field, flaw.message) for flaw in error.flaws] == [("id", "unknown")]


def test_a_missing_key_names_its_file_and_how_to_get_one() -> None:
    error = NoKey(Path("/home/ana/client.key"))

    assert "/home/ana/client.key" in str(error)
    assert "portico init" in str(error.fix)
