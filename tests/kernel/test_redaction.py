"""Whatever looks like a secret does not come out."""

import pytest

from portico.kernel.redaction import blacked_out


@pytest.mark.requirement("guard:keys:never-logged")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bearer ptc_0123456789ab_" + "x" * 49, "Bearer ptc_0123456789ab_********"),
        ("postgresql://app:hunter2@db/portico", "postgresql://app:********@db/portico"),
        ("host=db password=hunter2 user=app", "host=db password=******** user=app"),
        ("host=db password='hunter 2' user=app", "host=db password=******** user=app"),
        ("postgresql://app:hun't@er2@db/portico", "postgresql://app:********@db/portico"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_whatever_looks_like_a_secret_is_blacked_out(text: str, shown: str) -> None:
    assert blacked_out(text) == shown
