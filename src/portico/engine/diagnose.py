"""Look the whole house over, and mend what can be mended without asking."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from portico.engine.core.health import Finding
from portico.engine.ports import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnose:
    checks: Sequence[Check]

    async def __call__(self, *, mend: bool) -> AsyncIterator[Finding]:
        """In order: a later check may stand on what an earlier one has found or mended."""
        for check in self.checks:
            found = await check(mend=mend)
            for each in [found] if isinstance(found, Finding) else found:
                yield each
