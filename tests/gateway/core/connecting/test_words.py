"""What is said of a client's file, and what is told before anything is written."""

from portico.gateway.core.connecting.errors import (
    ClientAbsent,
    ClientFileMoved,
    ClientFileUnreadable,
    EntryDiffers,
)
from portico.gateway.core.connecting.home import home_of
from portico.gateway.core.connecting.proposal import Found, Removal, Written
from portico.gateway.core.connecting.standing import Standing
from portico.kernel.errors import PorticoError


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
