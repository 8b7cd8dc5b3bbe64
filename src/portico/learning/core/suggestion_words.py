"""A suggestion in words, for a model: what to do with it, and what of it is sure."""

import json
from collections.abc import Iterator
from typing import Final

from portico.gateway.core.surface import DESCRIBE, RUN_WORKFLOW, SEARCH
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.suggestion import Suggestion

_MOST: Final = 5
"""Of paths and alternatives that are told."""


def words(suggestion: Suggestion) -> str:
    return "\n".join(_lines(suggestion))


def _lines(it: Suggestion) -> Iterator[str]:
    told = it.suggested
    if it.mode is Mode.EXPLICIT_REQUIRED or it.plan is None:
        yield f"No plan is sure enough to be suggested ({told.confidence:.2f}). {told.rationale}"
        yield (
            f"Find the tools with {SEARCH}, and call them or write a plan yourself: "
            f'{DESCRIBE}(["{RUN_WORKFLOW}"]) shows how.'
        )
        return
    yield f"Suggested ({told.confidence:.2f} sure). {told.rationale} Nothing was changed."
    yield json.dumps(it.plan, ensure_ascii=False, separators=(",", ":"))
    if it.ahead:
        yield f"Being read already: {', '.join(it.ahead)}."
    if it.staged:
        yield f"Done only once you run it: {', '.join(it.staged)}."
    for name, could_give in it.needs.items():
        by = f"; {', '.join(could_give)} could give it" if could_give else ""
        yield f"Missing: {name}, to be given by `inputs`{by}."
    yield from (f"Because: {path}" for path in told.paths[:_MOST])
    yield from (
        f"Instead of {each.step}: {each.tool} ({each.why})." for each in told.alternatives[:_MOST]
    )
    yield _how(it)


def _how(it: Suggestion) -> str:
    changed = f"changed, {RUN_WORKFLOW}(plan={{…}})"
    if it.id is None:
        return f"To run it, {changed.removeprefix('changed, ')}."
    needs = ", inputs={…}" if it.needs else ""
    return f'To run it as it is: {RUN_WORKFLOW}(suggestion="{it.id}"{needs}); {changed}.'
