"""Past plans and suggestions of a space on their way out of memory, by the database's names."""

from collections.abc import Iterator

from portico.kernel.json import JsonObject
from portico.kernel.label import Label, may_read
from portico.kernel.principal import Principal
from portico.testing.world import MemoryWorld


def past_plan_rows(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
    """The caller's own: the words of others are not theirs to take along."""
    for (space, id_), plan in world.past_plans.items():
        mine = (space, plan.principal) == (caller.space, caller.id)
        if mine and may_read(caller.clearance, plan.label):
            yield {
                "plan_id": str(id_.value),
                "principal_id": str(plan.principal.value),
                **_labelled(plan.label),
                "intent": plan.intent,
                "vector": f"\\x{plan.vector.hex()}",
                "steps": plan.steps,
                "runs": plan.runs,
                "accepted": plan.accepted,
                "rejected": plan.rejected,
                "modified": plan.modified,
                "last_at": plan.last_at.isoformat(),
            }


def suggestion_rows(world: MemoryWorld, caller: Principal) -> Iterator[JsonObject]:
    for (space, id_), kept in world.suggestions.items():
        mine = (space, kept.principal) == (caller.space, caller.id)
        if mine and may_read(caller.clearance, kept.label):
            yield {
                "suggestion_id": str(id_.value),
                "principal_id": str(kept.principal.value),
                **_labelled(kept.label),
                "mode": kept.mode.value,
                "raw": kept.raw,
                "backing": kept.backing,
                "confidence": kept.confidence,
                "past": [str(plan.value) for plan in kept.past],
                "result_id": str(kept.plan.value),
                "made_at": kept.made_at.isoformat(),
                "expires_at": kept.expires_at.isoformat(),
                "run_id": None if kept.run is None else str(kept.run.value),
                "outcome": None if kept.outcome is None else kept.outcome.value,
            }


def _labelled(label: Label) -> JsonObject:
    return {"level": int(label.level), "compartments": sorted(label.compartments)}
