"""From an intent to a plan: which tools, in which order, with which arguments, how surely."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.learning.core.suggest.asked import Asked
from portico.learning.core.suggest.calibration import SHIPPED, Calibration
from portico.learning.core.suggest.choose import Choice, choose
from portico.learning.core.suggest.fill import Filled, fill
from portico.learning.core.suggest.likely import Likely, Tools, likely
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.paths import paths
from portico.learning.core.suggest.rationale import rationale, reasons
from portico.learning.core.suggest.skeleton import Kept, PastStep, Unknown
from portico.learning.core.suggest.suggested import Alternative, Suggested, SuggestedStep
from portico.workflows.core.plan import Plan, Reference, Step

NOTHING: Final = Suggested(plan=None, confidence=0.0, raw=-30.0)
_ALTERNATIVES: Final = 3
"""Of each step."""
_LEAST: Final = 0.02
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]+")


def suggest(
    asked: Asked,
    learnt: Learnt,
    offered: Tools,
    *,
    communities: Mapping[str, int] | None = None,
    calibration: Calibration = SHIPPED,
) -> Suggested:
    tools = likely(asked, learnt, offered)
    choice = choose(asked, tools, learnt, offered)
    if choice is None:
        return NOTHING
    parts = asked.part_texts(choice.tools)
    filled = fill(_steps(choice), asked.intent, learnt, offered, parts)
    sure = {each.tool: each.probability for each in tools}
    whys = reasons(choice, asked, learnt)
    steps = [
        SuggestedStep(
            id=each.id,
            tool=each.tool,
            effect=offered[each.tool].effect,
            confidence=sure.get(each.tool, 0.0),
            why=whys[each.tool],
            arguments=each.origins,
            missing=[one.parameter for one in each.missing],
        )
        for each in filled
    ]
    return Suggested(
        plan=Plan(steps=tuple(_planned(filled, offered))),
        confidence=calibration.confidence(choice.raw, choice.backing),
        raw=choice.raw,
        backing=choice.backing,
        steps=steps,
        paths=paths(choice.tools, learnt),
        alternatives=[*_alternatives(steps, tools, asked, communities or {}, offered)],
        missing=[one for each in filled for one in each.missing],
        rationale=rationale(choice, asked),
        past=[each.plan.id for each in asked.near],
    )


def _steps(choice: Choice) -> Sequence[PastStep]:
    """Called after their tools: what a past plan called them was somebody's."""
    if choice.like is None:
        return [PastStep(name, tool) for name, tool in _named(choice.tools)]
    names = {
        step.id: name
        for step, (name, _) in zip(choice.like.steps, _named(choice.tools), strict=True)
    }
    return [
        PastStep(
            names[step.id],
            step.tool,
            {name: _renamed(kept, names) for name, kept in step.arguments.items()},
            tuple(names[other] for other in step.after if other in names),
        )
        for step in choice.like.steps
    ]


def _renamed(kept: Kept, names: Mapping[str, str]) -> Kept:
    if not isinstance(kept, Reference):
        return kept
    return Reference(names[kept.step], kept.path) if kept.step in names else Unknown()


def _named(tools: Sequence[str]) -> Iterator[tuple[str, str]]:
    times: dict[str, int] = {}
    for tool in tools:
        name = f"{_NO_ID.sub('_', tool.rpartition('.')[2])[:50]}"
        name = name if name[:1].isalpha() else f"s_{name}"
        times[name] = times.get(name, 0) + 1
        yield (name if times[name] == 1 else f"{name}-{times[name]}"), tool


def _planned(filled: Sequence[Filled], offered: Tools) -> Iterator[Step]:
    """What may change something waits for all before it, and what comes after waits for that."""
    before: list[str] = []
    last_write: str | None = None
    for each in filled:
        reads = offered[each.tool].effect.reads_only
        waits = ([last_write] if last_write else []) if reads else before
        after = tuple(dict.fromkeys((*each.after, *waits)))
        yield Step(id=each.id, tool=ToolRef.parse(each.tool), arguments=each.arguments, after=after)
        before = [*before, each.id]
        last_write = last_write if reads else each.id


def _alternatives(
    steps: Sequence[SuggestedStep],
    tools: Sequence[Likely],
    asked: Asked,
    communities: Mapping[str, int],
    offered: Tools,
) -> Iterator[Alternative]:
    """What answers the same part of the intent, or belongs to the same tools that are used
    together; where it is known what belongs together, both. No read does what a write does."""
    there = {step.tool for step in steps}
    for step in steps:
        part, group = asked.part_of(step.tool), communities.get(step.tool)
        beside = [
            each
            for each in tools
            if each.tool not in there
            and offered[each.tool].effect.reads_only == step.effect.reads_only
            and each.probability >= _LEAST
            and (group is None or communities.get(each.tool) == group)
            and (part is None or asked.part_of(each.tool) == part)
        ]
        for each in beside[:_ALTERNATIVES] if part is not None or group is not None else ():
            yield Alternative(step.id, each.tool, f"for the same ({each.probability:.2f})")
