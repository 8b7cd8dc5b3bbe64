"""Why an edge is proposed, in a few words."""

from collections.abc import Iterator
from typing import Final

from portico.learning.core.dataflow.candidates import Candidate
from portico.learning.core.dataflow.kinship import Kinship
from portico.learning.core.dataflow.signs import Sign

_NEAR: Final = 0.45
"""The cosine from which on two texts are said to mean much the same."""


def reason(candidate: Candidate) -> str:
    return ", ".join([*_for(candidate), *_against(candidate)]) or "nothing else would fit"


def _for(candidate: Candidate) -> Iterator[str]:
    fit, signs = candidate.fit, candidate.signs
    if fit.seen:
        yield f"seen {fit.seen} times" if fit.seen > 1 else "seen once"
    yield from _by_name(candidate)
    if fit.kinship is Kinship.SAME:
        yield "same type"
    if signs[Sign.OPEN]:
        yield "takes anything"


def _by_name(candidate: Candidate) -> Iterator[str]:
    fit = candidate.fit
    if fit.same_name:
        yield "same name"
    elif fit.words > 0:
        yield "words in common"
    elif fit.name_meaning >= _NEAR:
        yield "names near in meaning"
    if candidate.signs[Sign.ABOUT]:
        yield "named after what the step is about"
    if not fit.same_name and fit.meaning >= _NEAR:
        yield "descriptions near in meaning"


def _against(candidate: Candidate) -> Iterator[str]:
    fit, signs = candidate.fit, candidate.signs
    if fit.kinship is Kinship.NEAR:
        yield "though of another type"
    if signs[Sign.ECHO]:
        yield "though that step was told it itself"
    if signs[Sign.SAME_TOOL]:
        yield "though it is the same tool"
    if candidate.unclear:
        yield "though another of its fields fits as well"
