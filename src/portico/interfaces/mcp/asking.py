"""What a caller can be asked for, by what its client says that it can do."""

from collections.abc import Mapping
from typing import Any, Final

from portico.gateway.core.calls import Question, Wanted
from portico.gateway.core.errors import InputUnsupported

Capabilities = Mapping[str, Any]
"""A client's own words, in the protocol's form."""

_WORDS: Final[Mapping[Wanted, str]] = {
    Wanted.ELICITATION: "an answer of its user",
    Wanted.SAMPLING: "an answer of its model",
    Wanted.ROOTS: "its folders",
}
_NAMES: Final[Mapping[Wanted, str]] = {
    Wanted.ELICITATION: "elicitation",
    Wanted.SAMPLING: "sampling",
    Wanted.ROOTS: "roots",
}


def able(capabilities: Capabilities) -> frozenset[Wanted]:
    return frozenset(
        wanted for wanted, name in _NAMES.items() if isinstance(capabilities.get(name), Mapping)
    )


def missing(error: InputUnsupported) -> dict[str, Any]:
    """What a client would have to be able to do, in the protocol's form."""
    told = error.wanted
    return {
        _NAMES[wanted]: {} for wanted in Wanted if _WORDS[wanted] in told or wanted.value in told
    }


def check(question: Question, capabilities: Capabilities, subject: str) -> None:
    """Raises `InputUnsupported`."""
    unable = question.wanted not in able(capabilities)
    if unable or not _in_this_way(question, capabilities):
        raise InputUnsupported(subject, _WORDS[question.wanted])


def _in_this_way(question: Question, capabilities: Capabilities) -> bool:
    match question.wanted:
        case Wanted.ELICITATION:
            can = capabilities["elicitation"]
            if question.params.get("mode") == "url":
                return "url" in can
            return "form" in can or "url" not in can
        case Wanted.SAMPLING:
            return not question.params.get("tools") or "tools" in capabilities["sampling"]
        case Wanted.ROOTS:
            return True
