"""Whoever started a debate, as they are now: with a key that was revoked nobody is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from portico.engine.execution import patiently
from portico.guard.authentication import AsTheyAre
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


def asker_of(caller: Principal) -> JsonObject:
    """What a debate's run knows its starter again by, and the lists of tools that they had then."""
    return {"key": caller.key, "tools": [[*each] for each in caller.tools]}


@dataclass(slots=True, kw_only=True)
class Starter:
    worker: Principal
    """Who stands in for them in the run, at the debate's own task."""
    asker: JsonObject
    as_they_are: AsTheyAre
    now: Principal = field(init=False)
    """As they were when it was last looked: in this name voices are asked."""

    def __post_init__(self) -> None:
        self.now = self.worker

    async def look(self) -> None:
        """Raises `KeyEnded`, `NotPermitted`."""
        key, worker = self.asker.get("key"), self.worker
        whose = key if isinstance(key, str) else None
        now = await patiently(
            lambda: self.as_they_are.no_more(worker, key=whose, at=worker.context)
        )
        permit(now, Scope.DEBATES_RUN)
        self.now = replace(now, tools=tuple(dict.fromkeys([*now.tools, *_lists(self.asker)])))


def _lists(asker: JsonObject) -> Sequence[tuple[str, ...]]:
    lists = asker.get("tools")
    if not isinstance(lists, list):
        return ()
    return [tuple(map(str, each)) for each in lists if isinstance(each, list)]
