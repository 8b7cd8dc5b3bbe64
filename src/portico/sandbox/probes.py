"""Try every probe, and report which of them the sandbox stops."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.core.probes import TRIALS, Report, Situation, to_hold
from portico.sandbox.requests import Attempts, Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    attempts: Attempts
    situation: Situation

    async def __call__(self, boxes: Iterable[Sandbox], *, quick: bool = True) -> Sequence[Report]:
        """In the order of `boxes`; the first whose report says so is the one that is offered."""
        return [await self._tried(box, quick=quick) for box in boxes]

    async def _tried(self, box: Sandbox, *, quick: bool) -> Report:
        report = box.report
        if report.missing is not None:
            return report
        trials = to_hold(TRIALS, report.backend, self.situation, quick=quick)
        try:
            probes = await self.attempts.make(box, trials)
        except (SandboxUnavailable, InvalidProfile) as error:
            return replace(report, missing=error.reason, fix=error.fix)
        return replace(report, probes=probes)
