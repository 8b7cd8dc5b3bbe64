"""How secret something is that somebody writes: never less than what they have read for it."""

from dataclasses import dataclass

from portico.bridge.core.errors import AboveClearance, BelowContainer, WriteDown
from portico.kernel.label import Label, join


@dataclass(frozen=True, slots=True)
class Labelled:
    label: Label
    raised: bool
    """It is more secret than the place where it is written."""


def label_of(wanted: Label | None, *, inside: Label, mark: Label, clearance: Label) -> Labelled:
    """Of what is written `inside` a place, in a task that has read up to `mark`.

    Raises `BelowContainer`, `WriteDown`, `AboveClearance`.
    """
    label = join([inside, mark]) if wanted is None else wanted
    if not label.covers(inside):
        raise BelowContainer(label, inside)
    if not label.covers(mark):
        raise WriteDown(label, mark)
    if not clearance.covers(label):
        raise AboveClearance(label, clearance)
    return Labelled(label, raised=wanted is None and label != inside)


def label_again(
    wanted: Label | None, *, inside: Label, mark: Label, clearance: Label, again: bool
) -> Label:
    """The same of what may have been written before with the same key, when less was read: then it
    is told again. What was not is refused where that is looked for.

    Raises `BelowContainer`, `WriteDown`, `AboveClearance`.
    """
    try:
        return label_of(wanted, inside=inside, mark=mark, clearance=clearance).label
    except WriteDown:
        if not again or wanted is None or not clearance.covers(wanted):
            raise
        return wanted


def secrecy(label: Label) -> tuple[int, int, str]:
    """To tell the most secret of several, and always the same one, also where none covers the
    others."""
    return label.level, len(label.compartments), str(label)


def check_shared(inside: Label, mark: Label) -> None:
    """Of what everybody in a project sees, and which has no label of its own: a lease, a claim,
    an acknowledgement, that somebody is there. Raises `WriteDown`."""
    if not inside.covers(mark):
        raise WriteDown(inside, mark, shared=True)
