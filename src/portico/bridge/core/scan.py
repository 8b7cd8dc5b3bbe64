"""Look through a text for what should not be in it when more people read it."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from portico.bridge.core.declassification import Finding, FindingKind
from portico.bridge.core.scan_rules import RULES, ibans
from portico.kernel.redaction import forms_in

Known = Callable[[str], Iterable[tuple[int, int]]]
"""Where very secrets stand that the house knows of, whatever their form."""

UNCLEAR: Final = "unclear"
_ROUNDS: Final = 8
_SHOWN: Final = re.compile(r"(?:\[[a-z][a-z0-9-]{0,40}\])+")


def nothing_known(_text: str) -> Iterable[tuple[int, int]]:
    return ()


def found(text: str, known: Known = nothing_known) -> Sequence[Finding]:
    """In order, none upon another; what is left without them has nothing more to be found.

    What is beside something that goes may look otherwise once that is gone, so that it is looked
    again until nothing new is found. A text that is made so that this does not end goes whole.
    """
    stretches: Sequence[Finding] = ()
    for _ in range(_ROUNDS):
        left = Left(text, stretches)
        new = [left.before(each) for each in _in(left.text, known)]
        if not new:
            return stretches
        stretches = _parted([*stretches, *new])
    return (Finding(UNCLEAR, FindingKind.SECRET, 0, len(text)),)


def shown(finding: Finding) -> str:
    """What stands in its place. No blanks are in it, so that it ends where what it stands for
    would."""
    return f"[{finding.rule}]"


class Left:
    """What is left of a text, and where that was before."""

    def __init__(self, text: str, gone: Sequence[Finding]) -> None:
        self._parts: list[tuple[int, int, int]] = []
        pieces: list[str] = []
        place = length = 0
        for each in gone:
            kept = text[place : each.start]
            self._parts.append((length, place, each.start))
            self._parts.append((length + len(kept), each.start, each.end))
            pieces += [kept, shown(each)]
            length += len(kept) + len(shown(each))
            place = each.end
        self._parts.append((length, place, len(text)))
        self._starts = [part[0] for part in self._parts]
        self.text = "".join([*pieces, text[place:]])

    def before(self, finding: Finding) -> Finding:
        """The same in the text as it was; what begins or ends inside something that is gone takes
        that along."""
        return replace(
            finding,
            start=self._place(finding.start, last=False),
            end=self._place(finding.end - 1, last=True),
        )

    def _place(self, place: int, *, last: bool) -> int:
        """Of a letter: where it began, or with `last`, where it ended."""
        part = bisect_right(self._starts, place) - 1
        begins, start, end = self._parts[part]
        if part % 2:
            return end if last else start
        return start + place - begins + last


def _in(text: str, known: Known) -> Iterator[Finding]:
    """In this very text, as it stands; without what stands for something that is gone."""
    for each in _all(text, known):
        if not _SHOWN.fullmatch(text, each.start, each.end):
            yield each


def _all(text: str, known: Known) -> Iterator[Finding]:
    for start, end in known(text):
        yield Finding("known-secret", FindingKind.SECRET, start, end)
    for name, start, end in forms_in(text):
        yield Finding(name, FindingKind.SECRET, start, end)
    for rule in RULES:
        yield from rule.found(text)
    yield from ibans(text)


def _parted(findings: Iterable[Finding]) -> Sequence[Finding]:
    """Those that lie upon one another as one: named after a secret if one of them is, and else
    after the longest."""
    parted: list[Finding] = []
    for each in sorted(findings, key=lambda it: (it.start, it.end)):
        if parted and each.start < parted[-1].end:
            parted[-1] = _both(parted[-1], each)
        else:
            parted.append(each)
    return parted


def _both(one: Finding, other: Finding) -> Finding:
    first = max(one, other, key=_weight)
    return replace(first, start=min(one.start, other.start), end=max(one.end, other.end))


def _weight(finding: Finding) -> tuple[bool, int]:
    return finding.kind is FindingKind.SECRET, finding.end - finding.start
