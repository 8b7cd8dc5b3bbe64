"""The exit codes that scripts rely on."""

from pathlib import Path

import pytest

from portico.adapters.telemetry.setup import ExporterMissing
from portico.engine.core.errors import BackupFailed, KeyReused, StoreRefused, StoreUnavailable
from portico.guard.core.errors import KeyNotFound, NameTaken, NotAuthenticated, Overreach
from portico.interfaces.cli.errors import (
    ConfirmationRequired,
    Exit,
    FileInTheWay,
    InternalFailure,
    InvalidUsage,
    SystemRefused,
    exit_for,
)
from portico.interfaces.cli.principals import InvalidLink
from portico.interfaces.cli.server import NotRunning, Refused
from portico.kernel.budget import ReservationExceeded
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import InvalidId
from portico.settings.load import InvalidSettings, UnreadableSettings

FAILURES: dict[int, list[PorticoError]] = {
    1: [
        KeyNotFound("x"),
        NameTaken("bob"),
        BackupFailed("disk full"),
        FileInTheWay(Path("x")),
        SystemRefused(OSError()),
        InternalFailure(ValueError()),
        Refused(404, {}),
        Refused(409, {}),
    ],
    2: [InvalidUsage("x"), InvalidId("x", "spc"), InvalidLink(), KeyReused("k"), Refused(422, {})],
    3: [InvalidSettings([]), UnreadableSettings("x"), StoreRefused("root"), ExporterMissing()],
    4: [StoreUnavailable("x"), NotRunning("http://x"), Refused(500, {}), Refused(503, {})],
    5: [
        NotAuthenticated(),
        Overreach("x"),
        Refused(401, {}),
        Refused(403, {"code": "not_permitted"}),
    ],
    6: [ConfirmationRequired("Sure?")],
    7: [ReservationExceeded("x", ("calls",)), Refused(429, {})],
}


@pytest.mark.parametrize("code", FAILURES)
@pytest.mark.requirement("cli:exits:codes")
def test_each_failure_has_its_exit_code(code: int) -> None:
    assert {
        repr(error): exit_for(error) for error in FAILURES[code] if exit_for(error) != code
    } == {}


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

    told = {"detail": str(error), "code": error.code, "title": error.title, "fix": error.fix}
    errors = [{"field": flaw.field, "message": flaw.message} for flaw in error.field_errors]
    assert {**told, "errors": errors} == problem
