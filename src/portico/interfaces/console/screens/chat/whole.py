"""One text of a run, all of it, by the name that a chat links to it under."""

import re
from typing import Final

from portico.agents.core.traces import WholeTrace
from portico.interfaces.console.wording import as_json

_NAME: Final = re.compile(r"(said|turn|thought|before|gave|given)-(\d{1,6})(?:-(\d{1,6}))?")


def whole_text(trace: WholeTrace, name: str) -> str | None:
    """None where there is no such text."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    what, number, place = found[1], int(found[2]), int(found[3] or 0)
    texts = {
        "said": {each.number: each.text for each in trace.said},
        "turn": {each.number: each.text for each in trace.turns},
        "thought": {each.number: each.thought for each in trace.turns},
        "before": {at: each.text for at, each in enumerate(trace.run.history)},
    }
    if what in texts:
        return texts[what].get(number)
    uses = {(each.turn, each.place): each for each in trace.uses}
    use = uses.get((number, place))
    if use is None:
        return None
    return use.text if what == "gave" else as_json(use.arguments)
