"""A table for a person's screen: no word is broken, and nothing is cut off."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Final

_NARROWEST: Final = 16
"""Letters of a column of sentences; narrower it would not be read but deciphered."""


def laid_out(
    cells: Sequence[Sequence[str]], *, width: int, right: Collection[int], fold: Collection[int]
) -> Sequence[str]:
    """The lines of a table, without blanks at their ends.

    One that is too wide moves together. If that is not enough, the columns to `fold` go on below,
    between two words; and if that is not enough either, it runs over as it is.
    """
    natural = [max(map(_size, column)) for column in zip(*cells, strict=True)]
    gaps = len(natural) - 1
    gap = 2 if sum(natural) + 2 * gaps <= width else 1
    widths = _narrowed(natural, width - gap * gaps, fold)
    return [line for row in cells for line in _lines(row, widths, right, " " * gap)]


def _narrowed(natural: Sequence[int], room: int, fold: Collection[int]) -> Sequence[int]:
    """What one of the columns to fold does not need is for the others."""
    widths = [*natural]
    left = room - sum(size for place, size in enumerate(natural) if place not in fold)
    narrow_first = sorted(fold, key=lambda place: natural[place])
    for done, place in enumerate(narrow_first):
        share = left // (len(narrow_first) - done)
        widths[place] = min(natural[place], max(share, _NARROWEST))
        left -= widths[place]
    return widths if left >= 0 else natural


def _lines(
    row: Sequence[str], widths: Sequence[int], right: Collection[int], gap: str
) -> Iterator[str]:
    folded = [_folded(text, width) for text, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*folded, fillvalue=""):
        yield gap.join(
            _padded(text, widths[place], right=place in right) for place, text in enumerate(parts)
        ).rstrip()


def _folded(text: str, width: int) -> Sequence[str]:
    if _size(text) <= width:
        return [text]
    lines: list[str] = []
    for word in text.split():
        if lines and _size(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _padded(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - _size(text))
    return blanks + text if right else text + blanks


def _size(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
