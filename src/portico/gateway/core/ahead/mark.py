"""How an answer says that it was read ahead of time, and how old it is."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from portico.gateway.core.call import Answer

AHEAD: Final = "portico/ahead"


def marked(answer: Answer, age: timedelta) -> Answer:
    told = {AHEAD: {"age_ms": round(age.total_seconds() * 1000)}}
    return replace(answer, meta={**(answer.meta or {}), **told})


def is_marked(answer: Answer) -> bool:
    return answer.meta is not None and AHEAD in answer.meta


def age_ms(answer: Answer) -> int | None:
    """None of one that was not read ahead."""
    match (answer.meta or {}).get(AHEAD):
        case {"age_ms": int(age)}:
            return age
        case _:
            return None


def unmarked(answer: Answer) -> Answer:
    """What a server says of itself in our name is not handed on."""
    if not is_marked(answer):
        return answer
    meta = {name: value for name, value in (answer.meta or {}).items() if name != AHEAD}
    return replace(answer, meta=meta or None)
