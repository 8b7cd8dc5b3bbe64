"""Who may make or end a key of whom: nobody speaks for somebody above them."""

from collections.abc import Set as AbstractSet
from datetime import datetime

from portico.guard.core.errors import Overreach
from portico.guard.core.identity import Identity
from portico.guard.core.roles import check_reach
from portico.guard.core.wildcard import within
from portico.kernel.label import Label
from portico.kernel.principal import Principal


def check_holder(
    caller: Principal, holder: Identity, scopes: AbstractSet[str], clearance: Label
) -> None:
    """For a key with these scopes and this clearance. Raises `Overreach`.

    Of somebody else, however narrow the key: it would still speak in their name. Of oneself, at
    most what one came in with: a narrow key does not make itself a wider one.
    """
    check_reach(caller, scopes, clearance)
    if holder.id != caller.id:
        check_reach(caller, holder.scopes, holder.clearance)
    elif not caller.clearance.covers(clearance):
        raise Overreach(f"the clearance {clearance}")


def check_tools(caller: Principal, *lists: tuple[str, ...] | None) -> None:
    """Nobody whose tools are listed gives others that they do not have: to whoever all of `lists`
    are set for. Raises `Overreach`."""
    for own in caller.tools:
        if not any(each is not None and within(each, own) for each in lists):
            raise Overreach(f"tools that are not among {', '.join(own) or 'none'}")


def handed_on(caller: Principal, holder: Identity) -> tuple[str, ...] | None:
    """The list of the key that the caller came with, for one that they make themselves."""
    others = [each for each in caller.tools if each != holder.tools] or caller.tools[1:]
    return next(iter(others), None)


def earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """The first of two ends; None is never."""
    ends = [end for end in (one, other) if end is not None]
    return min(ends, default=None)
