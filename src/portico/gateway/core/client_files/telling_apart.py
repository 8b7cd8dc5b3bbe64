"""Several files may want the same server, or several servers of one name."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from portico.gateway.core.client_files.wish import Described, Problem, Wish
from portico.gateway.core.names import slug
from portico.gateway.core.server import Foreign, FromFile, Http


def told_apart(all_described: Sequence[Described]) -> Sequence[Described]:
    """The same, each server once and each under a name of its own; what comes first keeps its
    name."""
    taken: dict[str, tuple[object, ...]] = {}
    return [_apart(each, taken) for each in all_described]


def _apart(one: Described, taken: dict[str, tuple[object, ...]]) -> Described:
    wishes: list[Wish] = []
    problems = list(one.problems)
    for wish in one.wishes:
        same = essence(wish.launch)
        if taken.get(wish.name) == same:
            reason = f"is described elsewhere too, and taken once, as {wish.name}"
            problems.append(Problem(reason=reason, server=wish.called, left_out=False))
            continue
        name = _free_name(wish, taken)
        taken[name] = same
        wishes.append(replace(wish, name=name))
    return replace(one, wishes=wishes, problems=problems)


def _free_name(wish: Wish, taken: Collection[str]) -> str:
    plain = slug(wish.name, taken)
    if plain == wish.name or not wish.otherwise:
        return plain
    return slug(f"{wish.name}-{wish.otherwise}", taken)


def essence(launch: Foreign) -> tuple[object, ...]:
    """What two descriptions of the same server have in common, whichever file they are from."""
    if isinstance(launch, Http):
        return launch.url, frozenset(launch.headers)
    given = tuple(None if isinstance(each, FromFile) else each for each in launch.arguments)
    return launch.command, given, frozenset(launch.environment), launch.folder
