"""Arguments that are filled in without asking, held against those that somebody wrote."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.suggest_figures import each_asked
from benchmarks.suggest_search import Fold
from benchmarks.suggest_sets import Wanted
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow_fields import Parameter
from portico.learning.core.intents import Offered
from portico.learning.core.likely_tools import Filled, From, fill
from portico.learning.core.past_plans import PastStep
from portico.workflows.core.plan import Reference


def argument_figures(folds: Sequence[Fold]) -> JsonObject:
    """The tools of each plan are told, and which parameters were given something; what they were
    given is to be found in the intent, or in what the other plans handed on."""
    counted: Counter[str] = Counter()
    for fold, place in each_asked(folds):
        plan = fold.ready.of.plans[place]
        steps = [PastStep(step.id, step.tool) for step in plan.steps]
        offered = _offered(plan, fold.ready.of.offered)
        parts = fold.asked(place).part_texts(plan.tools)
        filled = fill(steps, plan.intent, fold.learnt, offered, parts)
        for number, each in enumerate(filled):
            counted["wanted"] += len(plan.told[number])
            counted.update(_judged(each, plan.steps[number], plan.told[number]))
    return {
        "wanted": counted["wanted"],
        "from_the_intent": counted["intent"],
        "from_the_intent_right": counted["intent right"],
        "handed_on": counted["step"],
        "handed_on_right": counted["step right"],
    }


def _offered(plan: Wanted, tools: Mapping[str, Offered]) -> Mapping[str, Offered]:
    """As if a tool had to be told just what it is told in this plan."""
    found: dict[str, Offered] = {}
    for step, told in zip(plan.steps, plan.told, strict=True):
        tool = tools[step.tool]
        known = [tool.parameter(name) or Parameter(name=name) for name in told]
        found[step.tool] = replace(
            tool, parameters=[replace(each, required=True) for each in known]
        )
    return found


def _judged(filled: Filled, gold: PastStep, told: Mapping[str, str]) -> Iterator[str]:
    for name, given in filled.arguments.items():
        kind = filled.origins[name].kind
        yield str(kind)
        handed = gold.arguments.get(name)
        if kind is From.STEP:
            right = (
                isinstance(given, Reference)
                and isinstance(handed, Reference)
                and given.step == handed.step
            )
        else:
            right = handed is None and f"{given}".casefold() == told.get(name, "").casefold()
        if right:
            yield f"{kind} right"
