"""Ids: typed, sortable by time, prefixed on the wire."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.ids import EventId, Id, InvalidId, PrincipalId, RunId, SpaceId, uuid7
from portico.testing.memory_store import BEGINNING, SeededEntropy

KINDS: list[type[Id]] = [SpaceId, PrincipalId, EventId, RunId]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.timedeltas(timedelta(0), timedelta(days=365 * 8000)).map(EPOCH.__add__)
kinds = st.sampled_from(KINDS)
values = st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number))


@given(kinds, values)
@pytest.mark.requirement("kernel:ids:typed-and-sortable")
def test_what_is_printed_is_parsed_back(kind: type[Id], value: UUID) -> None:
    assert kind.parse(str(kind(value))) == kind(value)


@given(kinds, moments, st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8))
@pytest.mark.requirement("kernel:ids:typed-and-sortable")
def test_text_sorts_as_time_does(kind: type[Id], at: datetime, one: bytes, other: bytes) -> None:
    earlier = kind.mint(at, lambda _: one)
    later = kind.mint(at + timedelta(microseconds=1), lambda _: other)

    assert str(earlier) < str(later)
    assert earlier.value < later.value


@given(values, values)
def test_text_sorts_as_the_value_does(one: UUID, other: UUID) -> None:
    assert (str(SpaceId(one)) < str(SpaceId(other))) == (one < other)


@given(moments, st.binary(min_size=8, max_size=8))
def test_a_minted_id_is_a_uuid_of_version_7_with_its_millisecond(
    at: datetime, randomness: bytes
) -> None:
    value = uuid7(at, randomness)

    millisecond = (at - EPOCH) // timedelta(milliseconds=1)
    assert (value.version, value.variant) == (7, "specified in RFC 4122")
    assert value.int >> 80 == millisecond


@given(values)
@pytest.mark.requirement("kernel:ids:typed-and-sortable")
def test_ids_of_different_things_are_never_equal(value: UUID) -> None:
    assert len({kind(value) for kind in KINDS}) == len(KINDS)
    assert len({str(kind(value)) for kind in KINDS}) == len(KINDS)


@given(values)
@pytest.mark.requirement("kernel:ids:typed-and-sortable")
def test_an_id_of_another_thing_is_refused(value: UUID) -> None:
    with pytest.raises(InvalidId) as caught:
        SpaceId.parse(str(PrincipalId(value)))

    assert (caught.value.text, caught.value.prefix) == (str(PrincipalId(value)), "spc")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "spc",
        "spc_",
        "_00000000000000000000000000",
        "spc_0000000000000000000000000",  # one letter short
        "spc_000000000000000000000000000",  # one too many
        "spc_80000000000000000000000000",  # more than 128 bits
        "spc_é0000000000000000000000000",
        "spc_0000000000000000000000000l",  # not in Crockford's alphabet
        "spc_0000000000000000000000000A",  # one spelling only
        "spc_0000000000000000000000000 ",
        "spc_00000000000000000000000000\n",
        "SPC_00000000000000000000000000",
        " spc_00000000000000000000000000",
    ],
)
def test_a_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidId, match="is not an id of the form spc_…"):
        SpaceId.parse(text)


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        parsed = SpaceId.parse(text)
    except InvalidId:
        return

    assert str(parsed) == text


def test_a_refusal_does_not_repeat_a_long_text() -> None:
    with pytest.raises(InvalidId) as caught:
        SpaceId.parse("x" * 10_000)

    assert len(str(caught.value)) < 120


def test_two_ids_of_one_moment_differ() -> None:
    entropy = SeededEntropy()

    assert SpaceId.mint(BEGINNING, entropy) != SpaceId.mint(BEGINNING, entropy)


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
claims = st.tuples(values.map(SpaceId), values.map(PrincipalId), words, words)
Claim = tuple[SpaceId, PrincipalId, str, str]


@given(claims, claims)
@pytest.mark.requirement("runs:start:once")
def test_the_run_of_a_claim_is_the_same_for_the_same_claim_only(one: Claim, other: Claim) -> None:
    assert RunId.of_claim(*one) == RunId.of_claim(*one)
    assert (RunId.of_claim(*one) == RunId.of_claim(*other)) == (one == other)


@given(claims)
def test_the_run_of_a_claim_has_an_id_like_any_other_and_never_a_minted_one(claim: Claim) -> None:
    run = RunId.of_claim(*claim)

    assert RunId.parse(str(run)) == run
    assert (run.value.version, run.value.variant) == (8, "specified in RFC 4122")


def test_a_claim_cannot_be_moved_between_operation_and_key() -> None:
    space, principal = SpaceId(UUID(int=1)), PrincipalId(UUID(int=2))

    assert RunId.of_claim(space, principal, "a", "bc") != RunId.of_claim(
        space, principal, "ab", "c"
    )
