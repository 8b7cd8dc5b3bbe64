"""Which key opens the door, and what its holder may do behind it."""

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.api_key import ApiKey, KeyHolder, Purpose, StoredKey
from portico.guard.core.authentication import as_principal, genuine, opens, principal_of
from portico.guard.core.identity import Identity
from portico.guard.core.roles import Role, Scope
from portico.kernel.label import Label, Level
from portico.testing.guard import TEAM, an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy

PEPPER = b"pepper"
KEY, OTHER = (ApiKey.mint(SeededEntropy(seed)) for seed in ("one", "other"))
DAY = timedelta(days=1)

labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["finance", "legal"]))
)
scopes = st.frozensets(st.sampled_from(Scope))
identities = st.builds(
    replace,
    st.just(an_identity()),
    roles=st.frozensets(st.sampled_from(Role)),
    grants=scopes,
    clearance=labels,
)


def holder(
    identity: Identity | None = None,
    *,
    purpose: Purpose = Purpose.ACCESS,
    scopes: frozenset[Scope] | None = None,
    clearance: Label = TEAM,
) -> KeyHolder:
    who = identity or an_identity()
    key = StoredKey(
        id=KEY.id,
        space=who.space,
        principal=who.id,
        purpose=purpose,
        name="laptop",
        scopes=scopes,
        clearance=clearance,
        created_at=BEGINNING,
    )
    return KeyHolder(key, KEY.digest(PEPPER), who)


@pytest.mark.parametrize(
    ("shown", "pepper", "proven"),
    [
        (KEY, PEPPER, True),
        (OTHER, PEPPER, False),
        (ApiKey(KEY.id, OTHER.secret), PEPPER, False),
        (ApiKey(OTHER.id, KEY.secret), PEPPER, False),
        (KEY, b"another pepper", False),
    ],
    ids=["this one", "another", "another secret", "another id", "another pepper"],
)
@pytest.mark.requirement("guard:keys:stored-as-hmac")
def test_a_key_is_proven_by_all_of_it(shown: ApiKey, pepper: bytes, proven: bool) -> None:
    assert genuine(holder(), shown, pepper) == proven


@pytest.mark.parametrize(
    ("found", "open_"),
    [
        (holder(), True),
        (replace(holder(), identity=replace(an_identity(), disabled_at=BEGINNING)), False),
        (replace(holder(), key=replace(holder().key, revoked_at=BEGINNING)), False),
        (replace(holder(), key=replace(holder().key, expires_at=BEGINNING)), False),
    ],
    ids=["living", "disabled", "revoked", "expired"],
)
@pytest.mark.requirement("guard:keys:only-the-living-open")
def test_only_a_living_key_of_somebody_who_is_enabled_opens(found: KeyHolder, open_: bool) -> None:
    assert opens(found, BEGINNING + DAY) == open_


@given(identities, st.none() | scopes, labels)
@pytest.mark.requirement("guard:keys:never-widen")
def test_a_key_never_widens_what_its_principal_may(
    identity: Identity, key_scopes: frozenset[Scope] | None, clearance: Label
) -> None:
    principal = principal_of(holder(identity, scopes=key_scopes, clearance=clearance))

    assert principal.scopes <= identity.scopes
    assert key_scopes is None or principal.scopes <= key_scopes
    assert identity.clearance.covers(principal.clearance)
    assert clearance.covers(principal.clearance)


@given(identities)
def test_a_key_that_narrows_nothing_gives_all_that_the_principal_has(identity: Identity) -> None:
    principal = principal_of(holder(identity, clearance=identity.clearance))

    assert principal == as_principal(identity)
    assert principal.scopes == identity.scopes


@given(identities, st.none() | scopes)
@pytest.mark.requirement("guard:invitations:single-use")
def test_an_invitation_is_good_for_nothing_but_to_be_accepted(
    identity: Identity, key_scopes: frozenset[Scope] | None
) -> None:
    principal = principal_of(holder(identity, purpose=Purpose.INVITATION, scopes=key_scopes))

    assert principal.scopes == {Scope.INVITATION_ACCEPT}


def test_a_key_for_a_purpose_that_nobody_knows_lets_nobody_in() -> None:
    unheard_of = cast("Purpose", "from a later version")

    with pytest.raises(UnboundLocalError):
        principal_of(holder(purpose=unheard_of))
