"""Keys: known by their shape, proven by their secret, and never shown by accident."""

import re
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.keys import ApiKey, Purpose, StoredKey
from portico.testing.guard import TEAM, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
keys = st.integers(0).map(SeededEntropy).map(ApiKey.mint)


def stored(expires_at: datetime | None = None, revoked_at: datetime | None = None) -> StoredKey:
    ana = an_identity()
    return StoredKey(
        id="x" * 12,
        space=ana.space,
        principal=ana.id,
        purpose=Purpose.ACCESS,
        name="laptop",
        scopes=None,
        clearance=TEAM,
        created_at=BEGINNING,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


@given(keys)
@pytest.mark.requirement("guard:keys:format")
def test_a_key_is_a_prefix_an_id_a_secret_and_a_checksum(key: ApiKey) -> None:
    assert re.fullmatch(r"ptc_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}", key.reveal())


@given(keys)
@pytest.mark.requirement("guard:keys:format")
def test_a_revealed_key_is_parsed_back(key: ApiKey) -> None:
    assert ApiKey.parse(key.reveal()) == key


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
@pytest.mark.requirement("guard:keys:format")
def test_all_256_bits_of_the_secret_are_in_the_key(one: bytes, other: bytes) -> None:
    first, second = (ApiKey.mint(lambda size, b=bits: b[:size]) for bits in (one, other))

    assert (first.secret == second.secret) == (one == other)


@given(keys, st.integers(0, 65), st.sampled_from(_LETTERS + "_ é\n-"))
@pytest.mark.requirement("guard:keys:format")
def test_a_key_with_any_one_letter_changed_is_not_a_key(
    key: ApiKey, place: int, letter: str
) -> None:
    text = key.reveal()
    changed = text[:place] + letter + text[place + 1 :]

    assert len(text) == 66
    assert ApiKey.parse(changed) == (key if changed == text else None)


@given(keys, st.integers(0, 66), st.sampled_from(_LETTERS + " \n"))
def test_a_key_with_a_letter_more_or_less_is_not_a_key(
    key: ApiKey, place: int, letter: str
) -> None:
    text = key.reveal()

    assert ApiKey.parse(text[:place] + letter + text[place:]) is None
    assert ApiKey.parse(text[:place] + text[place + 1 :]) in (None, key)
    assert ApiKey.parse(text[: place - 1]) is None


@given(st.text() | st.text(_LETTERS, min_size=61, max_size=61).map("ptc_".__add__))
def test_any_text_at_all_is_parsed_without_a_failure(text: str) -> None:
    parsed = ApiKey.parse(text)

    assert parsed is None or parsed.reveal() == text


@given(keys)
@pytest.mark.requirement("guard:keys:never-shown")
def test_a_key_that_is_printed_shows_its_id_alone(key: ApiKey) -> None:
    for shown in (repr(key), str(key), f"{key}", f"{key!r}", f"{[key]}"):
        assert key.id in shown
        assert key.secret not in shown
        assert key.reveal() not in shown


@given(keys, keys, st.binary(max_size=40), st.binary(max_size=40))
@pytest.mark.requirement("guard:keys:stored-as-hmac")
def test_a_digest_is_of_one_key_under_one_pepper(
    one: ApiKey, other: ApiKey, salt: bytes, pepper: bytes
) -> None:
    assert len(one.digest(pepper)) == 32
    assert one.digest(pepper) == one.digest(pepper)
    assert (one.digest(pepper) == other.digest(pepper)) == (one == other)
    if salt.rstrip(b"\0") != pepper.rstrip(b"\0"):  # HMAC itself fills its key up with zeros
        assert one.digest(pepper) != one.digest(salt)


@pytest.mark.parametrize(
    ("key", "ended"),
    [
        (stored(), False),
        (stored(expires_at=BEGINNING + timedelta(seconds=1)), False),
        (stored(expires_at=BEGINNING), True),
        (stored(expires_at=BEGINNING - timedelta(seconds=1)), True),
        (stored(revoked_at=BEGINNING - timedelta(days=9)), True),
        (stored(revoked_at=BEGINNING, expires_at=BEGINNING + timedelta(days=9)), True),
    ],
)
@pytest.mark.requirement("guard:keys:expiry")
def test_a_key_ends_when_it_expires_or_is_revoked(key: StoredKey, ended: bool) -> None:
    assert key.ended(BEGINNING) == ended


@pytest.mark.parametrize(
    ("days_left", "overlap_days", "ends_after"), [(None, 2, 2), (5, 2, 2), (1, 2, 1), (None, 0, 0)]
)
@pytest.mark.requirement("guard:keys:rotate-with-overlap")
def test_rotation_never_lengthens_the_old_keys_life(
    days_left: int | None, overlap_days: int, ends_after: int
) -> None:
    key = stored(expires_at=None if days_left is None else BEGINNING + timedelta(days=days_left))

    ends = key.expiring(BEGINNING, timedelta(days=overlap_days))

    assert ends == BEGINNING + timedelta(days=ends_after)
