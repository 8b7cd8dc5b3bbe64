"""Which debate is meant: by its id, or by enough of it."""

import re
from itertools import islice
from typing import Final

from portico.debate.core.errors import DebateNotFound
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.run_names import LATEST, SHORT
from portico.interfaces.cli.server import Server

_WHOLE: Final = re.compile(r"dbt_[0-9a-z]{26}")


def find_debate(server: Server, text: str) -> str:
    """Its whole id; as lists show it, with three dots before it, it is known too. Raises
    `DebateNotFound`, `BadUsage`."""
    text = text.removeprefix("…")
    if _WHOLE.fullmatch(text):
        return text
    if len(text.removeprefix("dbt_")) < SHORT:
        raise BadUsage(
            f"{text!r} is too short for the name of a debate: it takes at least six letters, of the"
            " beginning or the end of its id.",
            fix="See which there are: portico debate list",
        )
    latest = (str(each["id"]) for each in islice(server.pages("/debates"), LATEST))
    found = [each for each in latest if each.endswith(text) or _begins(each, text)]
    if not found:
        raise DebateNotFound(text)
    if len(found) > 1:
        raise BadUsage(
            f"{text!r} is short for {len(found)} debates.",
            fix=f"Say more of it: {', '.join(found[:5])}",
        )
    return found[0]


def _begins(debate: str, text: str) -> bool:
    return debate.startswith((text, f"dbt_{text}"))
