"""What steps of a saved workflow are called in the journal of the run that called it.

Before their names stands the name of the step that called it, as often as saved ones stand inside
one another; and whatever a run waits for has a name of at most two hundred characters.
"""

import hashlib
from typing import Final

_LONGEST: Final = 30
_BEGINNING: Final = 17
_DIGITS: Final = 12


def inner_name(step: str) -> str:
    """Its own, or if that is long, its beginning and a digest, which no step can be called."""
    if len(step) <= _LONGEST:
        return step
    digest = hashlib.sha256(step.encode()).hexdigest()
    return f"{step[:_BEGINNING]}#{digest[:_DIGITS]}"
