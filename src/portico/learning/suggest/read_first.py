"""Make the first reads of a suggested plan ahead of time, through all the gates of that lane."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.principal import Principal
from portico.learning.core.suggest.first_reads import FirstReads, KnownRead
from portico.learning.core.suggest.suggested import Suggested
from portico.learning.suggest.these import These
from portico.workflows.core.plan import Expressions, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFirst:
    these: These
    expressions: Expressions

    async def __call__(
        self, caller: Principal, shelf: Shelf, found: Suggested, plan: Plan
    ) -> Sequence[str]:
        """The steps that are under way."""

        def reads(ref: ToolRef) -> KnownRead | None:
            tool = shelf.tools.get(ref)
            if tool is None or not tool.effect.reads_only:
                return None
            return KnownRead(ToolPlace(shelf.servers[ref.server].id, ref.name), tool.pin)

        said = {
            step.id: {name for name, origin in step.arguments.items() if origin.kind == "intent"}
            for step in found.steps
        }
        first = FirstReads(plan=plan, reads=reads, said=said, expressions=self.expressions)()
        begun = await self.these(caller, [*first.values()])
        return [name for name, wanted in first.items() if wanted in begun]
