"""All that past debates teach about voices, learnt once for a team."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from portico.debate.core.calibration import Calibration, calibration_of
from portico.debate.core.guard import trusted
from portico.debate.core.lesson import Lesson, lesson_of
from portico.debate.core.outcome import Known
from portico.debate.core.reliability import Records, records_of
from portico.debate.core.scales import Rule, Scales, scales_of
from portico.debate.core.voters import Kinship, kinship_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    records: Records
    calibration: Calibration
    kinship: Kinship
    rule: Rule = Rule.COLD
    stretches: Mapping[str, float] = field(default_factory=dict)
    lesson: Lesson | None = None

    def scales(self, targets: Sequence[str], topic: str) -> Scales:
        return replace(
            scales_of(self.records, targets, topic),
            rule=self.rule,
            stretches=self.stretches,
            calibration=self.calibration,
            kinship=self.kinship,
        )


def learnt_of(known: Sequence[Known], targets: Sequence[str]) -> Learnt:
    """Oldest first."""
    guarded = trusted(known, targets)
    return Learnt(
        records=records_of(known),
        calibration=calibration_of(known),
        kinship=kinship_of(known),
        rule=Rule.COLD if guarded is None else guarded.rule,
        stretches={} if guarded is None else guarded.stretches,
        lesson=lesson_of(known),
    )
