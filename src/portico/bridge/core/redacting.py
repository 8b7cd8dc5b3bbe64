"""A text without what was found in it, and what changes, for whoever has to say yes."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from portico.bridge.core.declassification import Finding, FindingKind, Redacted
from portico.bridge.core.scan import found, shown
from portico.kernel.redaction import BLACK


def redacted(text: str, findings: Sequence[Finding] | None = None) -> Redacted:
    """With what stands for each of its findings; those of `found`, unless others are given."""
    gone = found(text) if findings is None else findings
    return Redacted(
        text=_told(text, gone, shown), findings=tuple(gone), diff=tuple(_changes(text, gone))
    )


@dataclass(slots=True)
class _Change:
    """Neighbouring lines of which something goes."""

    first: int
    last: int
    gone: list[Finding] = field(default_factory=list)


def _changes(text: str, gone: Sequence[Finding]) -> Iterator[str]:
    """In one pass, since it is known where the changes are: `line 7:` says where, `-` was there,
    `+` is there instead, and a blank stands before what stays, a line on each side."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    changes = _by_lines(starts, gone)
    passed = 0
    for number, change in enumerate(changes, 1):
        begin, end = starts[change.first], starts[change.last + 1] - 1
        was, inside = text[begin:end], [_moved(each, begin) for each in change.gone]
        yield f"line {change.first + 1}:"
        yield from _each(" ", lines[max(change.first - 1, passed) : change.first])
        yield from _each("-", _told(was, inside, _as_it_was(was)).split("\n"))
        yield from _each("+", _told(was, inside, shown).split("\n"))
        upto = changes[number].first if number < len(changes) else len(lines)
        passed = min(change.last + 2, upto)
        yield from _each(" ", lines[change.last + 1 : passed])


def _each(sign: str, lines: Sequence[str]) -> Iterator[str]:
    return (f"{sign}{line}" for line in lines)


def _by_lines(starts: Sequence[int], gone: Sequence[Finding]) -> Sequence[_Change]:
    changes: list[_Change] = []
    for each in gone:
        first = bisect_right(starts, each.start) - 1
        last = bisect_right(starts, each.end - 1) - 1
        if not changes or first > changes[-1].last:
            changes.append(_Change(first, last))
        changes[-1].last = last
        changes[-1].gone.append(each)
    return changes


def _as_it_was(text: str) -> Callable[[Finding], str]:
    """A secret is black here, too: what it was is nothing to decide upon."""
    return lambda it: BLACK if it.kind is FindingKind.SECRET else text[it.start : it.end]


def _moved(finding: Finding, begin: int) -> Finding:
    return Finding(finding.rule, finding.kind, finding.start - begin, finding.end - begin)


def _told(text: str, gone: Sequence[Finding], word: Callable[[Finding], str]) -> str:
    pieces: list[str] = []
    place = 0
    for each in gone:
        pieces += [text[place : each.start], word(each)]
        place = each.end
    return "".join([*pieces, text[place:]])
