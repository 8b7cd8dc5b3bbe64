"""What `just bench agents` makes of what the model, the tools and the runs have seen."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

from benchmarks.agents_model import Asked
from benchmarks.agents_scripts import Script
from benchmarks.agents_work import wanted_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One run, by the clock that all processes of a machine share."""

    run: str
    """As its script names it."""
    started: float
    ended: float
    status: str
    answer: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """Seconds that are nobody's but ours."""

    starting: Sequence[float]
    """From when somebody started a run until its model is asked for the first time."""
    turns: Sequence[float]
    """From when the model's answer is out until it is asked again, or the run has ended, less the
    time that the slowest of the turn's tools takes."""


def overheads(script: Script, asked: Sequence[Asked], ended: Sequence[Ended]) -> Overheads:
    tools = [
        max((float(call.arguments["seconds"]) for call in turn.calls), default=0.0)
        for turn in script.turns
    ]
    turns: dict[str, list[Asked]] = defaultdict(list)
    for each in sorted(asked, key=lambda one: one.came):
        turns[each.run].append(each)
    starting, between = [], []
    for run in ended:
        if not (mine := turns[run.run]):
            continue
        starting.append(mine[0].came - run.started)
        between += [
            then.came - (now.over or now.came) - tools[now.turn - 1] for now, then in pairwise(mine)
        ]
        between.append(run.ended - (mine[-1].over or mine[-1].came))
    return Overheads(starting=starting, turns=between)


def lost(script: Script, wanted: Sequence[str], ended: Sequence[Ended]) -> list[str]:
    """Those that did not come to their end, or not to the right one."""
    found = {each.run: each for each in ended}
    return [
        run
        for run in wanted
        if (each := found.get(run)) is None
        or each.status != "completed"
        or each.answer != wanted_answer(script, run)
    ]


def miscounted(script: Script, runs: Sequence[str], asked: Sequence[Asked]) -> dict[str, int]:
    """The turns of runs that the model was not asked for exactly once."""
    counts = Counter((each.run, each.turn) for each in asked)
    return {
        f"{run} {turn}": counts[run, turn]
        for run in runs
        for turn in range(1, len(script.turns) + 1)
        if counts[run, turn] != 1
    }


def miscalled(
    script: Script, runs: Sequence[str], calls: Mapping[tuple[str, str], int]
) -> dict[str, int]:
    """The calls of runs that the tool server did not see exactly once."""
    steps = [str(call.arguments["step"]) for turn in script.turns for call in turn.calls]
    return {
        f"{run} {step}": calls.get((run, step), 0)
        for run in runs
        for step in steps
        if calls.get((run, step), 0) != 1
    }


def p95_ms(seconds: Sequence[float]) -> float:
    return round(quantiles(seconds, n=20)[-1] * 1000, 1) if len(seconds) > 1 else 0.0


def median_ms(seconds: Sequence[float]) -> float:
    return round(median(seconds) * 1000, 2) if seconds else 0.0


def ratio(ours: Sequence[float], direct: Sequence[float]) -> float:
    """The middle one of the pairs: those of one pair were measured one after the other."""
    return round(median(one / other for one, other in zip(ours, direct, strict=True)), 3)
