"""What a plan would do, before anything of it is done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from portico.interfaces.cli.terminal import Terminal, shown
from portico.interfaces.cli.workflow_view.tree import laid_out, ordered
from portico.workflows.core.plan import BadPlan, PlanFault

Told = Mapping[str, Any]


def show_dry(checked: Told, at: Terminal) -> None:
    """Raises `BadPlan`."""
    if not checked["ok"]:
        raise refused(checked["flaws"])
    rows = dry_rows(checked["steps"], drawn=at.for_a_person)
    at.table(["step", "tool", "effect", "asks"], rows, dict(checked), fold=["asks"])
    if at.for_a_person:
        print()
    if not at.json:
        for line in summary(checked):
            at.say(line)


def dry_rows(steps: Sequence[Told], *, drawn: bool) -> Sequence[dict[str, Any]]:
    """In the order of the tree, and in its form if it is `drawn`."""
    by_id = {step["id"]: step for step in steps}
    tree = laid_out({step["id"]: step["needs"] for step in steps})
    return [
        {
            "step": ("".join(branch.guides) if drawn else "") + branch.step,
            "tool": by_id[branch.step]["tool"],
            "effect": by_id[branch.step]["effect"],
            "asks": _asks(by_id[branch.step]["approval"]),
        }
        for branch in tree
    ]


def summary(checked: Told) -> Sequence[str]:
    steps = checked["steps"]
    asking = [step["id"] for step in steps if step["approval"]]
    widest = max(Counter(_levels(steps).values()).values(), default=0)
    path = " → ".join(checked["critical_path"])
    return [
        f"{len(steps)} steps, up to {widest} at once; nothing was done.",
        f"One after the other at least: {shown(path)}",
        f"At worst: {checked['effect']}",
        f"Would ask somebody: {', '.join(asking) or 'none'}",
    ]


def refused(flaws: Sequence[Told]) -> BadPlan:
    return BadPlan(
        PlanFault(flaw["place"], flaw["what"], flaw["fix"], flaw.get("line"), flaw.get("column"))
        for flaw in flaws
    )


def _asks(approval: Told | None) -> str:
    return f"{approval['reason']} ({approval['rule']})" if approval else "-"


def _levels(steps: Sequence[Told]) -> Mapping[str, int]:
    """How many steps must be over before each, at least."""
    needs = {step["id"]: step["needs"] for step in steps}
    levels: dict[str, int] = {}
    for step in ordered(needs):
        levels[step] = 1 + max((levels[each] for each in needs[step] if each in levels), default=-1)
    return levels
