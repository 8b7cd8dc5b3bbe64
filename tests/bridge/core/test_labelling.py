"""How secret something is that somebody writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.bridge.core.errors import AboveClearance, BelowContainer, TooManyLabels, WriteDown
from portico.bridge.core.messages import check_shared, label_again, label_of, secrecy
from portico.kernel.errors import PorticoError
from portico.kernel.label import PUBLIC, Label, Level, join

TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL)
LEGAL = Label(Level.CONFIDENTIAL, frozenset({"legal"}))
LABELS = st.builds(Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["a", "b"])))


def test_a_label_is_that_of_the_place_of_what_was_read_or_the_one_asked_for() -> None:
    found = label_of(None, inside=TEAM, mark=PUBLIC, clearance=SECRET)

    assert (found.label, found.raised) == (TEAM, False)

    found = label_of(None, inside=TEAM, mark=LEGAL, clearance=LEGAL)

    assert (found.label, found.raised) == (LEGAL, True)

    found = label_of(LEGAL, inside=TEAM, mark=PUBLIC, clearance=LEGAL)

    assert (found.label, found.raised) == (LEGAL, False)


def test_nothing_is_less_secret_than_what_was_read_or_than_its_place() -> None:
    with pytest.raises(WriteDown) as refused:
        label_of(TEAM, inside=TEAM, mark=SECRET, clearance=SECRET)

    assert (refused.value.wanted, refused.value.mark) == (TEAM, SECRET)

    with pytest.raises(BelowContainer):
        label_of(PUBLIC, inside=TEAM, mark=PUBLIC, clearance=SECRET)

    check_shared(SECRET, TEAM)

    with pytest.raises(WriteDown):
        check_shared(TEAM, SECRET)


@pytest.mark.parametrize("wanted", [None, LEGAL])
def test_nothing_is_more_secret_than_its_writer_may_read(wanted: Label | None) -> None:
    mark = LEGAL if wanted is None else PUBLIC

    with pytest.raises(AboveClearance):
        label_of(wanted, inside=TEAM, mark=mark, clearance=SECRET)


@given(wanted=st.none() | LABELS, inside=LABELS, mark=LABELS, clearance=LABELS)
def test_whatever_is_written_covers_what_was_read_and_where_it_is(
    wanted: Label | None, inside: Label, mark: Label, clearance: Label
) -> None:
    try:
        label = label_of(wanted, inside=inside, mark=mark, clearance=clearance).label
    except PorticoError:
        least = join([inside, mark]) if wanted is None else wanted
        assert not (least.covers(join([inside, mark])) and clearance.covers(least))
    else:
        assert label.covers(join([inside, mark]))
        assert clearance.covers(label)
        assert wanted in (None, label)


def test_what_may_have_been_written_before_keeps_the_label_that_it_had() -> None:
    assert label_again(TEAM, inside=TEAM, mark=SECRET, clearance=SECRET, again=True) == TEAM
    assert label_again(None, inside=TEAM, mark=SECRET, clearance=SECRET, again=True) == SECRET
    for again, clearance in ((False, SECRET), (True, PUBLIC)):
        with pytest.raises(WriteDown):
            label_again(TEAM, inside=TEAM, mark=SECRET, clearance=clearance, again=again)


def test_the_most_secret_is_always_the_same_one() -> None:
    audit = Label(Level.CONFIDENTIAL, frozenset({"audit"}))

    assert max([PUBLIC, LEGAL, audit, SECRET], key=secrecy) == LEGAL


def test_a_label_too_many_is_named() -> None:
    refused = TooManyLabels(Label(Level.RESTRICTED, frozenset({"finance"})))

    assert "restricted+finance" in str(refused)
    assert refused.fix is not None
