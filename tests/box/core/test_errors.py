import pytest

from portico.box.core.errors import (
    AddressRefused,
    BadPlace,
    BadProfile,
    BoxUnavailable,
    CodeBusy,
    CodeRefused,
    FetchFailed,
    FileTrouble,
    PathRefused,
)
from portico.kernel.errors import PorticoError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BoxUnavailable("no bwrap", fix="Install it."), "no bwrap"),
        (BadProfile("/x is not there"), "/x is not there"),
        (BadPlace("nonsense"), "nonsense"),
        (PathRefused("../x", "it leads out"), "it leads out"),
        (FileTrouble("x", "there is none"), "there is none"),
        (AddressRefused("10.0.0.1:80", "it is private"), "10.0.0.1:80"),
        (FetchFailed("example.com:443", "it took too long"), "it took too long"),
        (CodeRefused("it cannot be read"), "it cannot be read"),
        (CodeBusy("200 wait"), "200 wait"),
    ],
)
def test_a_refusal_says_what_was_refused_and_why(error: PorticoError, words: str) -> None:
    assert words in str(error)
    assert str(error).endswith(".")
