"""A call that every gate lets through, to be spoilt in one way at a time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.access_request import AccessRequest, ActionTarget, Allowed, TaintContext
from portico.guard.core.policy import NO_TASK
from portico.kernel.effect import Effect
from portico.learning.core.observed_calls import Origin, ReadRequest, Source
from portico.learning.core.prefetch_gates import Arrival, Attempt, PrefetchLimits, PrefetchMode, Use
from portico.testing.guard import a_person

ANA: Final = a_person("ana")
WORDS: Final = Source(Origin.WORDS)
AIM: Final = ActionTarget(tool="files.read", server="files", effect=Effect.LOCAL_READ, pin="p1")
WANTED: Final = ReadRequest(
    ref=ToolRef("files", "read"),
    pin="p1",
    arguments={"path": "a"},
    sources={"path": {WORDS}},
    proven=True,
)
GOOD: Final = Attempt(
    wanted=WANTED,
    access_request=AccessRequest(caller=ANA, target=AIM, arguments={"path": "a"}),
    stands=True,
    mode=PrefetchMode.LIVE,
    external=False,
    workflows=False,
    task=TaintContext(id=NO_TASK),
    trusted=frozenset(),
    field_errors=0,
    decision=Allowed("default:reads", "it reads"),
    usual=timedelta(milliseconds=50),
    settled=True,
    awake=True,
    busy=0,
    alone=True,
    use=Use(),
    price=0.0,
    terms=PrefetchLimits(),
)
ARRIVED: Final = Arrival(
    access_request=GOOD.access_request,
    target=AIM,
    on=True,
    overtaken=False,
    failed=False,
    asked=False,
    orders=False,
    size=10,
    room=10,
)


def aimed(**its: object) -> Attempt:
    aim = replace(AIM, **its)  # type: ignore[arg-type] # any field
    return replace(GOOD, access_request=replace(GOOD.access_request, target=aim))


def taken_from(sources: Mapping[str, set[Source]], **its: object) -> Attempt:
    """One whose answer comes from elsewhere, which an operator allows."""
    wanted = replace(WANTED, sources=sources)
    attempt = replace(aimed(effect=Effect.EXTERNAL_READ), external=True, wanted=wanted)
    return replace(attempt, **its)  # type: ignore[arg-type] # any field
