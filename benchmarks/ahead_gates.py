"""The lane's own gates, asked of every call that a session would have had made ahead of time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from benchmarks.ahead_foretold import Foretold
from benchmarks.ahead_truth import LetIn
from portico.adapters.json_schema import JsonSchemaCheck
from portico.guard.core.access_request import AccessRequest, ActionTarget, Allowed, TaintContext
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind
from portico.learning.core.observed_calls import ReadRequest
from portico.learning.core.prefetch_gates import (
    GATES,
    Attempt,
    PrefetchLimits,
    PrefetchMode,
    Use,
    closed,
)

TERMS: Final = PrefetchLimits()
"""As they are if nobody has set them."""
_CALLER: Final = Principal(
    id=PrincipalId.of_digest(b"bench"),
    space=SpaceId.of_digest(b"bench"),
    kind=PrincipalKind.AGENT,
    name="bench",
)
_TASK: Final = TaintContext(id=ContextId.of_digest(b"bench"), untrusted=True)
_ALLOWED: Final = Allowed("default:reads", "it only reads")


@dataclass(frozen=True, slots=True)
class Lane:
    tools: Mapping[str, LetIn]
    schemas: JsonSchemaCheck = field(default_factory=JsonSchemaCheck)

    def act(self, name: str, wanted: ReadRequest) -> AccessRequest:
        tool = self.tools[name]
        aim = ActionTarget(tool=name, server=tool.ref.server, effect=tool.effect, pin=tool.pin)
        return AccessRequest(caller=_CALLER, target=aim, arguments=wanted.arguments)

    def closed(self, foretold: Foretold, usual: float, use: Use) -> str | None:
        """The first gate that would not let it through. The caller waits for nothing just then,
        and the server is at nothing else."""
        schema = self.tools[foretold.name].definition.input_schema
        attempt = Attempt(
            wanted=foretold.wanted,
            access_request=self.act(foretold.name, foretold.wanted),
            stands=True,
            mode=PrefetchMode.LIVE,
            external=False,
            workflows=False,
            task=_TASK,
            trusted=frozenset(),
            field_errors=len(self.schemas.field_errors(schema, foretold.wanted.arguments)),
            decision=_ALLOWED,
            usual=timedelta(seconds=usual),
            settled=True,
            awake=True,
            busy=0,
            alone=True,
            use=use,
            price=TERMS.price_of(foretold.name),
            terms=TERMS,
        )
        return closed(attempt, GATES)
