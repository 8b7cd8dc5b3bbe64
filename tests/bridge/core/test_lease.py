"""How many leases one can have."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from portico.bridge.core.errors import TooManyLeases
from portico.bridge.core.lease import MOST_OF_ONE, Lease, LeaseId, LeaseWish, Waiting, check_number
from portico.bridge.core.project import ProjectId
from portico.kernel.ids import PrincipalId
from portico.testing.kernel import BEGINNING, SeededEntropy

ANA, BOB = PrincipalId(UUID(int=1)), PrincipalId(UUID(int=2))
PROJECT = ProjectId.mint(BEGINNING, SeededEntropy("project"))
LATER = BEGINNING + timedelta(minutes=1)
LEASE = Lease(
    id=LeaseId.mint(BEGINNING, SeededEntropy("lease")),
    project=PROJECT,
    resource="a",
    holder=ANA,
    holder_name="ana",
    token=1,
    taken_at=BEGINNING,
    expires_at=LATER,
)


def test_what_one_has_and_what_one_waits_for_is_counted_together() -> None:
    wish = LeaseWish(project=PROJECT, resource="last")
    held = [replace(LEASE, resource=f"r{number}") for number in range(MOST_OF_ONE - 1)]
    waiting = Waiting(principal=ANA, name="ana", resource="other", since=BEGINNING, until=LATER)

    check_number(wish, ANA, held=held, queue=[replace(waiting, resource="last")])
    check_number(wish, BOB, held=held, queue=[waiting])
    with pytest.raises(TooManyLeases, match=str(MOST_OF_ONE)):
        check_number(wish, ANA, held=held, queue=[waiting])
