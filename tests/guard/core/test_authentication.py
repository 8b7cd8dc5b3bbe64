"""Which key opens the door, and what its holder may do behind it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.authentication import as_principal, genuine, opens, principal_of
from portico.guard.core.keys import ApiKey, KeyHolder, OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Identity, Role, Scope
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import TEAM, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy

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
    found = holder(identity, clearance=identity.clearance)
    principal = principal_of(found)

    keyed = replace(as_principal(identity), key=found.key.id, reach=found.key.clearance)
    assert principal == keyed
    assert principal.scopes == identity.scopes


def test_the_lists_of_tools_of_a_principal_and_of_its_key_both_count() -> None:
    bare = holder()
    listed = replace(bare.identity, tools=("git.*",))
    narrowed = replace(bare.key, tools=("*.get",))

    assert principal_of(bare).tools == ()
    assert principal_of(replace(bare, identity=listed)).tools == (("git.*",),)
    assert principal_of(replace(bare, key=narrowed)).tools == (("*.get",),)
    assert principal_of(replace(bare, identity=listed, key=narrowed)).tools == (
        ("git.*",),
        ("*.get",),
    )
    assert as_principal(listed).tools == (("git.*",),)


WITHHELD = """
    agents:write approvals:answer bridge:declassify bridge:manage compartments:grant contexts:open
    debates:manage keys:own keys:write policy:write principals:write runs:control secrets:write
    servers:approve servers:write space:delete space:export space:write traces:read
    workflows:write"""


def test_an_agent_changes_nothing_of_what_holds_it_whatever_its_roles_and_grants() -> None:
    agent = an_identity("scout", kind=PrincipalKind.AGENT, roles=[Role.ADMIN])
    person = an_identity("ana", roles=[Role.ADMIN])

    lacking = principal_of(holder(person)).scopes - principal_of(holder(agent)).scopes

    assert lacking == set(WITHHELD.split())

    granted = frozenset({Scope.KEYS_WRITE, Scope.SPACES_CREATE, Scope.METRICS_READ})
    agent = replace(an_identity("scout", kind=PrincipalKind.AGENT, roles=[]), grants=granted)

    assert agent.scopes == {Scope.METRICS_READ}


def test_what_a_key_was_made_for_stays_known_when_its_principal_may_less() -> None:
    secret = Label(Level.RESTRICTED)
    found = holder(an_identity(clearance=TEAM), clearance=secret)

    assert principal_of(found).clearance == TEAM
    assert principal_of(found).reach == secret


@given(identities, st.none() | scopes)
@pytest.mark.requirement("guard:invitations:single-use")
def test_an_invitation_is_good_for_nothing_but_to_be_accepted(
    identity: Identity, key_scopes: frozenset[Scope] | None
) -> None:
    principal = principal_of(holder(identity, purpose=Purpose.INVITATION, scopes=key_scopes))

    assert principal.scopes == {Scope.INVITATION_ACCEPT}


def in_session(found: KeyHolder, until: datetime | None = None) -> KeyHolder:
    """What was opened with it."""
    session = replace(
        found.key,
        id=OTHER.id,
        purpose=Purpose.SESSION,
        opened_with=OpenedWith(found.key.id, until),
        expires_at=BEGINNING + DAY,
    )
    return replace(found, key=session)


@given(identities, st.none() | scopes, labels)
@pytest.mark.requirement("guard:keys:never-widen")
def test_in_a_session_one_may_what_one_may_with_its_key(
    identity: Identity, key_scopes: frozenset[Scope] | None, clearance: Label
) -> None:
    found = holder(identity, scopes=key_scopes, clearance=clearance)

    with_key, session = principal_of(found), principal_of(in_session(found))

    assert replace(session, key=with_key.key) == with_key


@pytest.mark.parametrize("until", [None, BEGINNING + 30 * DAY])
def test_what_is_made_in_a_session_may_live_as_long_as_its_key(until: datetime | None) -> None:
    assert principal_of(in_session(holder(), until)).until == until


@pytest.mark.parametrize(
    ("role", "key_scopes", "task"),
    [
        (Role.MEMBER, None, OTHER.id),
        (Role.MEMBER, frozenset({Scope.KEYS_OWN}), OTHER.id),
        (Role.MEMBER, frozenset({Scope.TOOLS_CALL}), KEY.id),
        (Role.VIEWER, None, KEY.id),
        (Role.VIEWER, frozenset({Scope.KEYS_OWN}), KEY.id),
    ],
    ids=["member", "key with keys:own", "key without it", "viewer", "viewer, key with keys:own"],
)
def test_whoever_may_make_no_keys_gets_no_clean_task_by_logging_in(
    role: Role, key_scopes: frozenset[Scope] | None, task: str
) -> None:
    found = holder(an_identity(roles=[role]), scopes=key_scopes)

    assert principal_of(in_session(found)).key == task
    assert principal_of(found).key == KEY.id


def test_a_key_for_a_purpose_that_nobody_knows_lets_nobody_in() -> None:
    unheard_of = cast("Purpose", "from a later version")

    with pytest.raises(UnboundLocalError):
        principal_of(holder(purpose=unheard_of))
