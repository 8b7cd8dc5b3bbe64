"""What a writer is told beside what was written."""

from typing import Final

RAISED: Final = (
    "Its label was raised: you have read something as secret in this task. Those who are cleared "
    "for less do not see it."
)
