"""The errors of the bridge."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.label import Label

# What is refused on the bridge.
#
# PorticoError ├── ProjectNotFound         none, or none that the caller may know of; the same for
# all below ├── ConversationNotFound ├── MessageNotFound ├── MemoryNotFound ├── AttachmentNotFound
# ├── WorkNotFound ├── ProjectNameTaken        there is one of this name under the same label ├──
# WriteDown               less secret than what was read in this task ├── BelowContainer
# less secret than where it is written ├── AboveClearance          more secret than the writer may
# read ├── TooManyLabels           one more kind of secret than a space can have ├── Archived
# nothing is written there any more ├── NotTakingPart           only for those who take part in it
# ├── NotTheirs               only its sender may change it ├── MemoryChanged           somebody
# else was faster ├── LeaseHeld               somebody holds something of it, or came first ├──
# TooManyLeases           one has as many as one can have ├── LeaseLost               it has
# expired, or is another's by now ├── WorkTaken               somebody has claimed it ├── WorkOver
# it is done or dropped ├── WorkHeldUp              something that it depends on is not over ├──
# NotLower                not less secret than it is ├── NotApproved             nobody has said yes
# to exactly this ├── LoweredOtherwise        it was changed after somebody was asked └──
# InvalidBridgeInput          every flaw of what was sent, at once

_OWN: Final = "You have it already"


class ProjectNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "project_not_found"
    title = "No such project"
    fix = "List the projects: those that you cannot see are not among them."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("project", name))
        self.name = name


class ConversationNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "conversation_not_found"
    title = "No such conversation"
    fix = "List the conversations: those that you cannot see are not among them."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("conversation", name))
        self.name = name


class MessageNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "message_not_found"
    title = "No such message"
    fix = "Read its conversation: what you cannot see is not in it."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("message", name))
        self.name = name


class MemoryNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "memory_not_found"
    title = "Nothing is remembered under this key"
    fix = "List the keys of the project: those that you cannot see are not among them."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("memory", name))
        self.name = name


class AttachmentNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "attachment_not_found"
    title = "No such attachment"
    fix = "Read the message that it went with, which names its digest."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("attachment", name))
        self.name = name


class WorkNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "work_not_found"
    title = "No such piece of work"
    fix = "List the work of the project: what you cannot see is not in it."

    def __init__(self, name: str) -> None:
        super().__init__(_unseen("piece of work", name))
        self.name = name


class ProjectNameTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "project_name_taken"
    title = "The name is taken"

    def __init__(self, name: str, label: Label) -> None:
        super().__init__(
            f"There is a project {name[:200]!r} already that is {label}.",
            fix="Choose another name, or use the one that is there.",
        )


class WriteDown(PorticoError):
    kind = Kind.DENIED
    code = "write_down"
    title = "Less secret than what was read"

    def __init__(self, wanted: Label, mark: Label, *, shared: bool = False) -> None:
        """`shared`: it has no label of its own, and is seen by whoever sees where it is done."""
        super().__init__(
            f"What was read in this task is {mark}; this would be written as {wanted}.",
            fix=f"Do it in a task that has read no more than {wanted}: read with `upto` {wanted} "
            "from its beginning, or come with another key."
            if shared
            else f"Write it as {mark}, or leave the label out; lowering needs a person's approval.",
        )
        self.wanted, self.mark = wanted, mark


class BelowContainer(PorticoError):
    kind = Kind.INVALID
    code = "below_container"
    title = "Less secret than the place where it is written"

    def __init__(self, wanted: Label, inside: Label) -> None:
        super().__init__(
            f"What is written here is at least {inside}, not {wanted}.",
            fix=f"Leave the label out, or write it as {inside} or above.",
        )


class AboveClearance(PorticoError):
    kind = Kind.DENIED
    code = "above_clearance"
    title = "More secret than you may read"

    def __init__(self, wanted: Label, clearance: Label) -> None:
        super().__init__(
            f"{wanted} is above your clearance, which is {clearance}.",
            fix=f"Write it as {clearance} at most, or have somebody write it who is cleared.",
        )


class TooManyLabels(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_labels"
    title = "No label more"
    fix = "Use one that is in use already, with fewer compartments."

    def __init__(self, label: Label) -> None:
        super().__init__(f"There are as many labels in use as a space can have; {label} is new.")
        self.label = label


class Archived(PorticoError):
    kind = Kind.CONFLICT
    code = "archived"
    title = "Put away"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what[:200]} is archived: nothing is written there any more.",
            fix="Take it out of the archive first.",
        )


class NotTakingPart(PorticoError):
    kind = Kind.DENIED
    code = "not_taking_part"
    title = "Not one of its participants"
    fix = "Join it first, or have somebody who takes part in it add you."

    def __init__(self, conversation: str) -> None:
        super().__init__(f"You do not take part in {conversation[:200]!r}.")


class NotTheirs(PorticoError):
    kind = Kind.DENIED
    code = "not_yours"
    title = "Only its sender may change it"

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} was sent by somebody else.")


class MemoryChanged(PorticoError):
    kind = Kind.CONFLICT
    code = "memory_changed"
    title = "Changed meanwhile"
    fix = "Read it again, and write upon the version that is there now."

    def __init__(self, key: str, *, wanted: int, there: int) -> None:
        was = f"version {there}" if there else "nothing"
        super().__init__(f"{key[:200]!r} has {was} under this label, not version {wanted}.")
        self.there = there


class LeaseHeld(PorticoError):
    kind = Kind.CONFLICT
    code = "lease_held"
    title = "Held by another"

    def __init__(
        self,
        resource: str,
        *,
        until: datetime,
        holder: str | None = None,
        next_: str | None = None,
        own: bool = False,
    ) -> None:
        """`own`: it is the caller's already, perhaps by another run of the same agent."""
        who = f"{holder[:80]} holds" if holder is not None else f"{(next_ or '')[:80]} waits for"
        super().__init__(
            f"{'You hold' if own else who} {resource[:300]!r} until"
            f" {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC.",
            fix="Renew it, or release it before you take it anew."
            if own
            else "Wait until then, ask them to release it, or take something else.",
        )
        self.until = until
        if own:
            self.title = _OWN


class TooManyLeases(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_leases"
    title = "Holds too much already"
    fix = "Release what is not needed, or take a pattern such as src/** in place of single names."

    def __init__(self, most: int) -> None:
        super().__init__(f"One can have {most} leases and places in the queue of a project.")


class LeaseLost(PorticoError):
    kind = Kind.CONFLICT
    code = "lease_lost"
    title = "Not held any more"
    fix = "Take it anew, and look at what others did meanwhile before you go on."

    def __init__(self, resource: str) -> None:
        super().__init__(f"The lease of {resource[:200]!r} has expired, or is another's by now.")


class WorkTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "work_taken"
    title = "Claimed by another"

    def __init__(self, work: str, by: str, *, own: bool = False) -> None:
        """`own`: it is the caller's already, perhaps by another run of the same agent."""
        super().__init__(
            f"You have claimed {work} before."
            if own
            else f"{work} is not yours: {by[:80]} has it.",
            fix="Go on with it, hand it over or end it, with the token of that claim."
            if own
            else "Take another one; if it was yours, it was handed over since.",
        )
        if own:
            self.title = _OWN


class WorkOver(PorticoError):
    kind = Kind.CONFLICT
    code = "work_over"
    title = "Over already"

    def __init__(self, work: str) -> None:
        super().__init__(f"{work} is done or dropped.", fix="Look at what came of it.")


class WorkHeldUp(PorticoError):
    kind = Kind.CONFLICT
    code = "work_held_up"
    title = "Waits for something else"

    def __init__(self, work: str) -> None:
        super().__init__(
            f"{work} depends on work that is not over.", fix="Do that first, or take another one."
        )


class NotLower(PorticoError):
    kind = Kind.INVALID
    code = "not_lower"
    title = "Not less secret than it is"

    def __init__(self, wanted: Label, is_: Label) -> None:
        super().__init__(
            f"It is {is_}, and {wanted} is not less secret than that.",
            fix="Name a lower level, or fewer compartments; who wants it higher writes it anew.",
        )


class NotApproved(PorticoError):
    kind = Kind.DENIED
    code = "not_approved"
    title = "Nobody has said yes to exactly this"
    fix = "Ask for it anew, and have somebody else answer who is cleared for it."

    def __init__(self, message: str) -> None:
        super().__init__(f"No person has approved that {message} is lowered like this.")


class LoweredOtherwise(PorticoError):
    kind = Kind.CONFLICT
    code = "lowered_otherwise"
    title = "Changed after somebody was asked"
    fix = "Ask for it anew: a yes is to the very words that were shown."

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} is not as it was when somebody was asked to lower it.")


class InvalidBridgeInput(PorticoError):
    kind = Kind.INVALID
    code = "bad_bridge_input"
    type_name = "BadBridgeInput"
    title = "Not as it should be"
    fix = "Mend each of the fields that are named."

    def __init__(self, flaws: Sequence[FieldError]) -> None:
        told = "; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws)
        super().__init__(f"This cannot be taken as it is: {told.rstrip('.')}.")
        self.field_errors = tuple(flaws)


def _unseen(what: str, name: str) -> str:
    """In the same words, whether there is none or it is hidden."""
    return f"There is no {what} {name[:200]!r} that you can see."


# What the names and texts may hold that somebody sends: every flaw is told, at once.

_NOT_KEPT: Final = re.compile("[\0\ud800-\udfff]")


def flaws_of_line(field: str, text: str, *, most: int, least: int = 1) -> Sequence[FieldError]:
    """Of what is shown in one line: a name, a key."""
    if not text.isprintable():
        return [FieldError(field, "has letters that cannot be shown in a line")]
    if text != text.strip():
        return [FieldError(field, "begins or ends with a space")]
    return _length(field, text, least=least, most=most)


def flaws_of_text(field: str, text: str, *, most: int, least: int = 0) -> Sequence[FieldError]:
    if _NOT_KEPT.search(text):
        return [FieldError(field, "has letters that cannot be kept")]
    return _length(field, text, least=least, most=most)


def raise_if_invalid(flaws: Iterable[FieldError]) -> None:
    """Raises `InvalidBridgeInput`."""
    if found := tuple(flaws):
        raise InvalidBridgeInput(found)


def _length(field: str, text: str, *, least: int, most: int) -> Sequence[FieldError]:
    if len(text) < least:
        return [FieldError(field, "must not be empty")]
    if len(text) > most:
        return [FieldError(field, f"has {len(text):,} letters; at most {most:,}")]
    return []
