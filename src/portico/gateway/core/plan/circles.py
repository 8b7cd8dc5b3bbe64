"""Steps that wait for one another, so that none of them can ever begin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.plan.graph import topological

_MOST: Final = 20
"""That are named; who has more begins with these."""


def circles(before: Mapping[str, Sequence[str]]) -> Iterator[Sequence[str]]:
    """Each as the steps on it, the first one again at its end; each waits for the next."""
    left = {name: list(each) for name, each in before.items()}
    for _ in range(_MOST):
        ordered = set(topological(left))
        stuck = next((name for name in left if name not in ordered), None)
        if stuck is None:
            return
        found = _circle_from(stuck, left, ordered)
        yield found
        left[found[0]].remove(found[1])


def _circle_from(
    name: str, before: Mapping[str, Sequence[str]], ordered: set[str]
) -> Sequence[str]:
    """Whoever cannot begin waits for another that cannot: following them, one comes back."""
    seen: dict[str, int] = {}
    path: list[str] = []
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = next(other for other in before[name] if other not in ordered)
    return [*path[seen[name] :], name]
