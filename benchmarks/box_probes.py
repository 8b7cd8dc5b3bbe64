"""How many attempts to get out end as the published table says, here and now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.boxes import Boxes
from portico.adapters.sandbox.probes.attempts import CanaryAttempts, situation
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import TRIALS, Backend, Probe, Situation, Verdict


@dataclass(frozen=True, slots=True)
class Probed:
    made: int
    wrong: Sequence[str]

    @property
    def as_declared(self) -> int:
        return self.made - len(self.wrong)


async def measure_probes(boxes: Boxes) -> Mapping[Backend, Probed]:
    """Of the boxes that there are."""
    attempts, found = CanaryAttempts(boxes.folder, run_as=boxes.run_as), {}
    for backend, box in boxes.by_name.items():
        try:
            probes = await attempts.make(box, TRIALS)
        except SandboxUnavailable:
            continue
        found[backend] = compared(probes, backend, situation())
    return found


def compared(probes: Sequence[Probe], backend: Backend, where: Situation) -> Probed:
    declared = {trial.name: trial.declared(backend, where) for trial in TRIALS}
    wrong = [
        f"{probe.name}: {probe.detail}"
        for probe in probes
        if probe.held is not (declared[probe.name] is Verdict.HELD)
    ]
    return Probed(len(probes), wrong)
