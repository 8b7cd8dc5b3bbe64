"""What went wrong in a run, as others may read it too: which error it was, and where its own words
are kept.

A server's refusal quotes what it was given, and our own errors quote a plan and its values. The
journal of a run, how it ended and its events are read by others than its caller; so they say what
kind of error it was, and the words stay sealed with what the run gave.
"""

import re
from dataclasses import replace
from typing import Final

from portico.engine.core.runs import Failure
from portico.gateway.core.plan.report import Trouble
from portico.kernel.errors import PorticoError, type_name
from portico.kernel.json import JsonObject, JsonValue

_LONGEST: Final = 500
"""Characters of what a tool says that are told with the rest; the whole of it is kept."""
_UNFORESEEN: Final = "It broke in a way that nobody foresaw"
_KEPT: Final = re.compile(r"(The step '[^']*' failed: )?(.*) \[in full: (res_[0-9a-z]{26})\]")


def words_of(error: Exception) -> JsonObject:
    """What is kept for the caller."""
    words = {"words": str(error) or type_name(error)}
    fix = error.fix if isinstance(error, PorticoError) else None
    return {**words, "fix": fix} if fix else words


def discreet(error: Exception, step: str | None, kept: str | None) -> Failure:
    """`kept`: where its words are, if they could be kept."""
    title: str = _UNFORESEEN
    code: str | None = None
    if isinstance(error, PorticoError):
        title, code = error.title, error.code
    message = title if kept is None else f"{title} [in full: {kept}]"
    return Failure(type_name(error), message, code, step)


def kept_words(message: str) -> str | None:
    """Where the words are that a message stands for."""
    fits = _KEPT.fullmatch(message)
    return None if fits is None else fits[3]


def spoken(message: str, content: JsonValue) -> str:
    """With its words in their place; as it is if they are kept no longer."""
    fits = _KEPT.fullmatch(message)
    match content:
        case {"words": str(words)} if fits is not None:
            return f"{fits[1] or ''}{words}"
        case {"isError": True, "text": str(text)} if fits is not None:
            return f"{fits[1] or ''}{fits[2]}: {_short(text) or 'without a word'}"
        case _:
            return message


def unspoken(trouble: Trouble) -> Trouble:
    """As others see it: without even where its words are."""
    fits = _KEPT.fullmatch(trouble.message)
    if fits is None:
        return trouble
    return replace(trouble, message=f"{fits[1] or ''}{fits[2]}")


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
