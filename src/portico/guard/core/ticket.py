"""What somebody's yes is worth: one act, the very one that they were shown."""

from dataclasses import dataclass

from portico.guard.core.act import Act
from portico.kernel.ids import ApprovalId
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Made only by whoever has claimed the approval's single use."""

    approval: ApprovalId
    hash: str
    by: str
    """The name of the person who said yes."""
    for_run: bool = False
    """Whether it was a run that asked, and goes on with what comes of it."""
    label: Label = PUBLIC
    """Of that run."""

    def good_for(self, act: Act) -> bool:
        return self.hash == act.hash
