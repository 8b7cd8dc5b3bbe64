"""Every error there is can be told to a person and acted on by a program."""

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator

import pytest

import portico
from portico.kernel.errors import Kind, PorticoError


def every_error() -> list[type[PorticoError]]:
    for module in pkgutil.walk_packages(portico.__path__, "portico."):
        if module.name != "portico.__main__":
            importlib.import_module(module.name)
    ours = [error for error in _below(PorticoError) if error.__module__.startswith("portico.")]
    return sorted(set(ours), key=lambda error: error.__name__)


def _below(error: type[PorticoError]) -> Iterator[type[PorticoError]]:
    for child in error.__subclasses__():
        yield child
        yield from _below(child)


@pytest.mark.timeout(30)
@pytest.mark.requirement("kernel:errors:kind-and-code")
def test_every_error_has_a_kind_a_title_and_a_code_of_its_own() -> None:
    errors = every_error()

    assert len(errors) > 20
    for error in errors:
        assert isinstance(error.kind, Kind), error
        assert error.title.strip(), error
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code), error
        assert error.__name__[-5:] != "Error", error
    assert [code for code, count in Counter(e.code for e in errors).items() if count > 1] == []


def test_the_mend_of_one_occurrence_stands_over_that_of_its_kind() -> None:
    class Leaking(PorticoError):
        kind = Kind.UNAVAILABLE
        code = "leaking"
        title = "The roof leaks"
        fix = "Call a roofer."

    usual, special = Leaking("It drips."), Leaking("It pours.", fix="Leave the house.")

    assert (str(usual), usual.fix) == ("It drips.", "Call a roofer.")
    assert (str(special), special.fix) == ("It pours.", "Leave the house.")
    assert usual.flaws == ()
