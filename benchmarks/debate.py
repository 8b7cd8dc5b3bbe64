"""How well debates decide: recorded ones held again, and simulated teams of voters."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from cyclopts import Parameter

from benchmarks.debate_figures import Frontier, ece, gain, selective, together
from benchmarks.debate_fixed import Ran, fixed_rules
from benchmarks.debate_liars import flipped
from benchmarks.debate_plot import plot
from benchmarks.debate_replay import POINTS, replay
from benchmarks.debate_rows import FILE, Row, file_in, merged, read_rows
from benchmarks.debate_teams import TEAMS, simulated
from portico.bench.report import Report, skipped
from portico.debate.core.questions import Preset
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

Progress = Callable[[str], None]

_PROTOCOL: Final = (
    "rows with more than one round in random order, as the recorded one knows who was picked; "
    "row after row in a random order, with what earlier rows taught alone (their answers, asked or "
    "not, and what was right); the same matching of answers for every rule; the level of the data "
    "set is not used but where it is said. A point of n calls is the most thorough vote that costs "
    "no more; gains are row by row over a toss between the two fixed rules that cost a little less "
    "and a little more (best_mix: over the best toss of any two), with the interval of 2000 draws "
    "of rows. One model answered everything, and never said how sure it was"
)
_LEVELLED: Final = (0.1, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    rows: int | None
    seeds: int
    histories: int
    questions: int


def debate(
    *,
    data: Annotated[Path | None, Parameter(help="Folder or file of recorded debates.")] = None,
    seeds: Annotated[int, Parameter(help="Orders in which they are held again.")] = 5,
    rounds: Annotated[int, Parameter(help="Histories of each simulated team.")] = 24,
    rows: Annotated[int | None, Parameter(help="Only so many of the recorded ones.")] = None,
    draw: Annotated[
        Path | None, Parameter(name="--plot", help="Where to draw the frontier.")
    ] = None,
    at: At,
) -> int:
    """Are debates decided better than by a vote, for fewer calls, and do they know when not to?"""
    file = file_in(data or Path(os.environ.get("PORTICO_BENCH_DATA", "")))
    if not file.is_file():
        return skipped(at, "debate", f"no {FILE} in {str(data)!r}")
    size = _Size(rows=rows, seeds=max(seeds, 1), histories=max(rounds, 1), questions=500)
    with at.working("reading") as status:
        progress = status if sys.stderr.isatty() and not at.json else _tell
        recorded = read_rows(file)[: size.rows]
        rules = fixed_rules(recorded)
        frontier = together(
            [replay(recorded, seed, lambda row: row.topic, progress) for seed in range(size.seeds)]
        )
        levelled = _with_level(recorded, rules, min(size.seeds, 2), progress)
        teams = {}
        for team in TEAMS:
            progress(f"team: {team.name}")
            teams[team.name] = simulated(team, 7, size.questions, size.histories)
        liars = flipped(7, 100)
    if draw is not None:
        _draw(draw, frontier, rules)
    return Report(
        benchmark="debate",
        corpus=f"{FILE}: {len(recorded)} recorded debates; {len(TEAMS)} simulated teams",
        figures={
            **_headline(frontier, rules),
            "worst_gap_to_best_single": round(
                max(each["best_single"] - each["ours"] for each in teams.values()), 2
            ),
            "liars_flip": liars["ours"],
            "frontier": [dict(each) for each in frontier.told()],
            "with_level": levelled,
            "matching": _matching(recorded, file),
        },
        baseline={
            "recorded": {name: dict(each.told()) for name, each in rules.items()},
            "teams": {name: _rounded(each) for name, each in teams.items()},
            "liars": dict(liars),
        },
        conditions={"protocol": _PROTOCOL, "seeds": size.seeds, "histories": size.histories},
    ).tell(at)


def _tell(what: str) -> None:
    """A line at a time, where nothing else shows that it goes on."""
    print(what, file=sys.stderr, flush=True)


def _headline(frontier: Frontier, rules: Mapping[str, Ran]) -> JsonObject:
    thorough, quick = frontier.within(3.3), frontier.within(2.6)
    over, over_best = gain(frontier, rules, 2.6), gain(frontier, rules, 2.6, best=True)
    held = None if thorough is None else frontier.points[thorough]
    kept = {} if held is None else selective(held)
    return {
        "accuracy_at_3_3": None if thorough is None else frontier.mean(thorough).told()["accuracy"],
        "accuracy_at_2_6": None if quick is None else frontier.mean(quick).told()["accuracy"],
        "calls_at_3_3": None if thorough is None else frontier.mean(thorough).told()["calls"],
        "calls_at_2_6": None if quick is None else frontier.mean(quick).told()["calls"],
        "paired_gain_at_2_6": over["gain"],
        "paired_gain_low_at_2_6": over["low"],
        "paired_gain_high_at_2_6": over["high"],
        "best_mix_gain_at_2_6": dict(over_best),
        "selective_accuracy_30": kept.get("30%"),
        "selective_accuracy": dict(kept),
        "ece": None if held is None else ece(held),
    }


def _with_level(
    rows: Sequence[Row], rules: Mapping[str, Ran], seeds: int, progress: Progress
) -> JsonObject:
    """If the level were known: nobody has it in production."""
    points = [point for point in POINTS if point[0] is Preset.VOTE and point[1] in _LEVELLED]
    frontier = together(
        [
            replay(rows, seed, lambda row: f"{row.topic} {row.level}", progress, points)
            for seed in range(seeds)
        ]
    )
    quick = frontier.within(2.6)
    return {
        "accuracy_at_2_6": None if quick is None else frontier.mean(quick).told()["accuracy"],
        "paired_gain_at_2_6": gain(frontier, rules, 2.6)["gain"],
    }


def _matching(rows: Sequence[Row], file: Path) -> JsonObject:
    """One answer alone, by the letter and by ours; and what was taken for the same."""
    strict = [each for row in rows for each in row.strict]
    ours = [key == row.right for row in rows for key in row.first]
    lost = sum(
        by_letter and key != row.right
        for row in rows
        for by_letter, key in zip(row.strict, row.first, strict=True)
    )
    return {
        "answers": len(strict),
        "single_strict": round(float(100 * np.mean(strict)), 2),
        "single_ours": round(float(100 * np.mean(ours)), 2),
        "right_by_the_letter_and_lost": int(lost),
        "merged_pairs": dict(merged(file)),
    }


def _rounded(figures: Mapping[str, float]) -> JsonObject:
    return {name: round(each, 2) for name, each in figures.items()}


def _draw(file: Path, frontier: Frontier, rules: Mapping[str, Ran]) -> None:
    learnt = [
        (str(point[0]), frontier.mean(point).mean_calls, frontier.mean(point).accuracy)
        for point in frontier.points
    ]
    fixed = {
        name.replace("_", " "): (each.mean_calls, each.accuracy)
        for name, each in rules.items()
        if name != "confidence_weighted"
    }
    file.write_text(plot(learnt, fixed), encoding="utf-8")
