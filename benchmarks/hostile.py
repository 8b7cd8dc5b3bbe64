"""What fixed rules see of published attacks, and what they cannot: said plainly, both."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

from cyclopts import Parameter

from benchmarks.hostile_samples import (
    DISGUISES,
    NAME_DISGUISES,
    Sample,
    Way,
    agentdojo,
    mcpsecbench,
    msb,
    real_tools,
)
from portico.bench.report import Report, skipped
from portico.gateway.core.discovery import read_tools
from portico.gateway.core.untrusted_text import text_flaw
from portico.guard.core.access_request import (
    AccessRequest,
    Action,
    ActionTarget,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.policy import decide
from portico.guard.core.principals import Role, scopes_of
from portico.interfaces.cli.terminal import At
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NEIGHBOURS: Final = ("read_file", "move_file")


@dataclass(frozen=True, slots=True)
class _Talked:
    """An agent, member of a space, that has read a stranger's words and believes them."""

    caller: Principal
    context: TaintContext

    @classmethod
    def into_it(cls) -> "_Talked":
        caller = Principal(
            id=PrincipalId(UUID(int=1)),
            space=SpaceId(UUID(int=1)),
            kind=PrincipalKind.AGENT,
            name="agent",
            roles=frozenset({Role.MEMBER}),
            scopes=scopes_of([Role.MEMBER]),
            clearance=Label(Level.TEAM),
        )
        return cls(caller, TaintContext(id=ContextId(UUID(int=1)), untrusted=True))

    def asks(self, effect: Effect) -> bool:
        """Whether a person is asked before it does something of this effect, by the defaults."""
        clearance = Label(Level.TEAM)
        aim = ActionTarget(
            tool="files.x", server="files", effect=effect, pin="0", clearance=clearance
        )
        act = AccessRequest(caller=self.caller, action=Action.CALL, target=aim)
        return isinstance(decide(act, self.context, [], _NOW), NeedsApproval)


def hostile(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    at: At,
) -> int:
    """Attacks as they reach a gateway: which are seen when read, which are held when acted on."""
    folder = data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))
    corpora, catalogue = folder / "hostile", folder / "mcp-catalogue"
    if not corpora.is_dir() or not catalogue.is_dir():
        return skipped(at, "hostile", f"no hostile and mcp-catalogue in {str(folder)!r}")
    samples = [*msb(corpora), *mcpsecbench(corpora), *agentdojo(corpora)]
    tools = list(real_tools(catalogue))
    hidden = [
        (name, wear(each.text)) for each in _told(samples) for name, wear in DISGUISES.items()
    ]
    names = {name: _refused([*_NEIGHBOURS, worn]) for name, worn in NAME_DISGUISES.items()}
    goals = [each.goal for each in samples if each.goal is not None]
    talked = _Talked.into_it()
    return Report(
        benchmark="hostile",
        corpus=f"{len(samples)} samples: {_counted(each.corpus for each in samples)}; "
        f"{len(DISGUISES)} disguises of each description; {len(tools)} real tools",
        figures={
            "samples": len(samples),
            "samples_nobody_reads": sum(each.way in {Way.RESULT, Way.PROMPT} for each in samples),
            "seen_in_plain_words": sum(_seen(each) for each in samples),
            "disguised": len(hidden),
            "disguised_seen": sum(_unfit(text) for _, text in hidden),
            "disguised_names": len(names),
            "disguised_names_seen": sum(names.values()),
            "real_tools": len(tools),
            "real_tools_flagged": _flagged(tools),
            "goals": len(goals),
            "goals_asked_as_unknown": len(goals) if talked.asks(Effect.UNKNOWN) else 0,
            "goals_asked_as_accepted": sum(map(talked.asks, goals)),
        },
        baseline={
            "seen_by_kind": dict(Counter(each.kind for each in samples if _seen(each))),
            "names_seen": dict(names),
        },
    ).tell(at)


def _told(samples: Iterable[Sample]) -> Sequence[Sample]:
    return [each for each in samples if each.way is Way.DESCRIPTION]


def _seen(sample: Sample) -> bool:
    """What comes as a result or from a user is anybody's words, and no rule reads those."""
    carried = sample.way in {Way.DESCRIPTION, Way.NAME}
    return carried and bool(read_tools([sample.definition]).unreadable)


def _unfit(text: str) -> bool:
    return text_flaw(text) is not None


def _refused(names: Sequence[str]) -> bool:
    """Whether a server that offers these has one of them refused."""
    offered: list[JsonObject] = [
        {"name": name, "inputSchema": {"type": "object"}} for name in names
    ]
    return bool(read_tools(offered).unreadable)


def _flagged(tools: Sequence[JsonObject]) -> int:
    return sum(bool(read_tools([tool]).unreadable) for tool in tools)


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in Counter(names).items())
