"""Whom a text names: `@bob, could you ask @planner-2?`"""

import re
from typing import Final

from portico.bridge.core.message import MOST_MENTIONS

_NAMED: Final = re.compile(r"(?:^|(?<=[\s(\[{<\"']))@(\w[\w.-]*)")


def names_in(text: str) -> tuple[str, ...]:
    """Each once, without the `@` and without what ends a sentence; no more than can be mentioned.
    Whether there is somebody of that name is another question."""
    found = (name.rstrip(".-") for name in _NAMED.findall(text))
    return tuple(dict.fromkeys(found))[:MOST_MENTIONS]
