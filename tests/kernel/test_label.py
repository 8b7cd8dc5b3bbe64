"""Labels are a lattice; reading goes up to one's clearance, writing never down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.label import PUBLIC, InvalidLabel, Label, Level, join, may_read, may_write, meet

labels = st.builds(
    Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["finance", "legal", "r-d"]))
)
TOP = Label(Level.RESTRICTED, frozenset({"finance", "legal", "r-d"}))


@given(labels, labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_join_and_meet_are_commutative(one: Label, other: Label) -> None:
    assert join([one, other]) == join([other, one])
    assert meet(one, other) == meet(other, one)


@given(labels, labels, labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_join_and_meet_are_associative(one: Label, two: Label, three: Label) -> None:
    assert join([join([one, two]), three]) == join([one, join([two, three])])
    assert meet(meet(one, two), three) == meet(one, meet(two, three))


@given(labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_join_and_meet_with_itself_change_nothing(label: Label) -> None:
    assert join([label, label]) == meet(label, label) == label


@given(labels, labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_join_and_meet_absorb_each_other(one: Label, other: Label) -> None:
    assert join([one, meet(one, other)]) == one
    assert meet(one, join([one, other])) == one


@given(labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_public_is_the_bottom(label: Label) -> None:
    assert join([label, PUBLIC]) == label
    assert meet(label, PUBLIC) == PUBLIC
    assert meet(label, TOP) == label


def test_the_join_of_nothing_is_public() -> None:
    assert join([]) == PUBLIC


@given(labels, labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_the_order_is_the_lattices_own(one: Label, other: Label) -> None:
    assert one.covers(other) == (join([one, other]) == one) == (meet(one, other) == other)


@given(labels, labels, labels)
@pytest.mark.requirement("kernel:label:lattice")
def test_the_join_is_the_least_label_that_covers_both(one: Label, two: Label, any_: Label) -> None:
    both = join([one, two])

    assert both.covers(one)
    assert both.covers(two)
    assert any_.covers(both) == (any_.covers(one) and any_.covers(two))


@given(labels, labels, labels)
@pytest.mark.requirement("kernel:label:no-write-down")
def test_a_higher_clearance_reads_whatever_a_lower_one_does(
    low: Label, more: Label, label: Label
) -> None:
    if may_read(low, label):
        assert may_read(join([low, more]), label)


@given(labels, labels, labels)
@pytest.mark.requirement("kernel:label:no-write-down")
def test_what_may_be_written_is_nowhere_below_what_was_read(
    clearance: Label, context: Label, label: Label
) -> None:
    if may_write(clearance, context, label):
        assert label.covers(context)
        assert may_read(clearance, label)


@given(labels, labels, labels)
@pytest.mark.requirement("kernel:label:no-write-down")
def test_nobody_learns_from_what_was_written_more_than_their_clearance_allows(
    writer: Label, context: Label, reader: Label
) -> None:
    """Were a reader not cleared for what the writer had read, no label would show it to them."""
    for level in Level:
        for compartments in (frozenset[str](), context.compartments, TOP.compartments):
            label = Label(level, compartments)
            if may_write(writer, context, label) and may_read(reader, label):
                assert may_read(reader, context)


@given(labels, labels)
@pytest.mark.requirement("kernel:label:no-write-down")
def test_writing_above_ones_clearance_is_refused(clearance: Label, label: Label) -> None:
    if not clearance.covers(label):
        assert not may_write(clearance, PUBLIC, label)


@given(labels)
def test_what_is_printed_is_parsed_back(label: Label) -> None:
    assert Label.parse(str(label)) == label


def test_a_label_is_written_with_its_compartments_in_order() -> None:
    label = Label.parse("confidential+legal+finance")

    assert label == Label(Level.CONFIDENTIAL, frozenset({"finance", "legal"}))
    assert str(label) == "confidential+finance+legal"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "Team",
        "team\n",
        "+team",
        "team+",
        "team+Legal",
        "team+-x",
        "team+a b",
        "team+a,b",
        "team+a\n",
        f"team+{'x' * 64}",
    ],
)
def test_a_text_that_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(InvalidLabel) as caught:
        Label.parse(text)

    assert caught.value.text == text
    assert caught.value.fix is not None
