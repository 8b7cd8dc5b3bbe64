"""Which of the values at one place is taken: the first, the next, the one that was asked for."""

from collections.abc import Callable, Sequence
from typing import Final

from portico.kernel.json import JsonValue
from portico.learning.core.prefetch.pools import Value
from portico.learning.core.prefetch.view import Candidate, View, tokens

Candidates = Sequence[Candidate]
Choice = Callable[[View, str, Candidates], Candidate | None]
_MOST_OF_A_LIST: Final = 40


def _only(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[0] if len(of) == 1 else None


def _first(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[0]


def _second(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[1] if len(of) > 1 else None


def _third(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[2] if len(of) > 2 else None


def _last(_view: View, _origin: str, of: Candidates) -> Candidate | None:
    return of[-1] if len(of) > 1 else None


def _next(view: View, _origin: str, of: Candidates) -> Candidate | None:
    """After the last that was used; nothing if none was."""
    used = [number for number, it in enumerate(of) if it.value in view.used]
    return of[used[-1] + 1] if used and used[-1] + 1 < len(of) else None


def _fresh(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return next((it for it in of if it.value not in view.used), None)


def _wanted(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return _best(of, view.asked("words"))


def _echoed(view: View, _origin: str, of: Candidates) -> Candidate | None:
    return _best([it for it in of if it.value not in view.used], view.asked("arguments"))


def _beside(view: View, origin: str, of: Candidates) -> Candidate | None:
    """In the row of a value that was used, where that is not said of every row."""
    rows = _rows_in_hand(view, origin)
    return next(
        (it for it in of if it.value not in view.used and not rows.isdisjoint(it.rows)), None
    )


CHOICES: Final[dict[str, Choice]] = {
    "only": _only,
    "first": _first,
    "second": _second,
    "third": _third,
    "last": _last,
    "next": _next,
    "fresh": _fresh,
    "wanted": _wanted,
    "echoed": _echoed,
    "beside": _beside,
}


def _all(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of


def _all_wanted(view: View, _origin: str, of: Candidates) -> Candidates:
    asked = view.asked("words")
    return [it for it in of if _likeness(it.raw, asked)]


def _all_beside(view: View, origin: str, of: Candidates) -> Candidates:
    rows = _rows_in_hand(view, origin)
    return [it for it in of if it.value not in view.used and not rows.isdisjoint(it.rows)]


def _first_two(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of[:2] if len(of) > 2 else ()


def _first_three(_view: View, _origin: str, of: Candidates) -> Candidates:
    return of[:3] if len(of) > 3 else ()


SEVERAL: Final[dict[str, Callable[[View, str, Candidates], Candidates]]] = {
    "[all]": _all,
    "[wanted]": _all_wanted,
    "[beside]": _all_beside,
    "[two]": _first_two,
    "[three]": _first_three,
}
ONE: Final = {f"[{name}]": how for name, how in CHOICES.items() if f"[{name}]" not in SEVERAL}
LISTS: Final = (*SEVERAL, *ONE)


def chosen(view: View, origin: str, of: Candidates, choice: str) -> JsonValue:
    """One value, or for a choice in brackets a list; None if it chooses nothing."""
    if not of:
        return None
    if choice in SEVERAL:
        several = SEVERAL[choice](view, origin, of)
        return [it.value for it in several] if 0 < len(several) <= _MOST_OF_A_LIST else None
    how = CHOICES.get(choice) or ONE.get(choice)
    found = None if how is None else how(view, origin, of)
    if found is None:
        return None
    return [found.value] if choice in ONE else found.value


def _best(of: Candidates, asked: frozenset[str]) -> Candidate | None:
    """The first of those that share most words with what was asked for."""
    scored = [(_likeness(it.raw, asked), -number) for number, it in enumerate(of)]
    most, place = max(scored, default=(0, 0))
    return of[-place] if most else None


def _likeness(raw: Value, asked: frozenset[str]) -> int:
    if not isinstance(raw, str) or not asked:
        return 0
    return sum(token in asked or token.rstrip("s") in asked for token in set(tokens(raw)))


def _rows_in_hand(view: View, origin: str) -> frozenset[int]:
    if origin not in view.in_hand:
        view.in_hand[origin] = _rows(view, origin)
    return view.in_hand[origin]


def _rows(view: View, origin: str) -> frozenset[int]:
    return frozenset(
        row
        for place, pool in view.seats[origin].places.items()
        if not place.startswith("given")
        for value, row in zip(pool.values, pool.rows, strict=True)
        if value in view.used
    )
