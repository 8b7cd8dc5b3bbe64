"""Whether the right plan is suggested: published plans, each asked for with what others taught."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from benchmarks.kept_vectors import KeptVectors
from benchmarks.search_folds import DEFAULT
from benchmarks.search_models import Tables
from benchmarks.search_run import Sets as SearchSets
from benchmarks.search_sets import prepare
from benchmarks.suggest_run import BY_PLAN, SuggestRun
from benchmarks.suggest_search import Ready
from benchmarks.suggest_sets import LINK, ULTRA, SuggestSet, missing_files, read_wanted
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.stemming import stem
from portico.bench.report import Report, skipped
from portico.bench.tool_sets import LINK as LINK_SEARCHED
from portico.bench.tool_sets import missing_files as missing_search_files
from portico.bench.tool_sets import read_sets
from portico.gateway.core.search_scoring import SHIPPED, STATIC
from portico.interfaces.cli.terminal import At

_SETS: Final = "tool-search"
_PROTOCOL: Final = (
    "five folds: the plans of four were seen, those of the fifth are asked for. ToolLinkOS by the "
    "tool that a request is about, so that no plan with it was seen (by_plan: by request). What a "
    "sign counts is learnt from the other sets, and never from UltraTool. ToolLinkOS is searched "
    "with what the other sets of `bench search` taught. The ece is the worst of the three: "
    "UltraTool, ToolLinkOS by tool and by plan, each fold with the outcomes of the others as its "
    "history"
)


def suggest(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    at: At,
) -> int:
    """Are the right tools suggested, is the next one foreseen, and is it as sure as it says?"""
    folder = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / _SETS
    if missing := sorted({*missing_files(folder), *missing_search_files(folder)}):
        return skipped(at, "suggest", f"no {', '.join(missing)} in {str(folder)!r}")
    with at.working("reading") as progress, tempfile.TemporaryDirectory() as scratch:
        sets = read_wanted(folder)
        progress("searching")
        run = SuggestRun(_ready(sets, folder, Path(scratch)))
        progress("asking for tools")
        tools, without = run.tools(), run.tools_without()
        progress("asking for the next one")
        then, then_without = run.next_tool(), run.next_without()
        progress("asking how sure")
        sure, arguments, new = run.sure(), run.arguments(), run.without_past()
        learnt, cost = run.learnt(), run.cpu_ms()
    return Report(
        benchmark="suggest",
        corpus=_corpus(sets),
        figures={
            "toollinkos_r10": _in(tools, "by_tool")["r10"],
            "plain_search_r10": _in(without, "search")["by_tool"],
            **then,
            "first_order_top1": _in(then_without, "first_order")["top1"],
            "first_order_top3": _in(then_without, "first_order")["top3"],
            "ece": max(_in(sure, name)["ece"] for name in (ULTRA, LINK, BY_PLAN)),
            "toollinkos": tools,
            "confidence": sure,
            "arguments": arguments,
            "without_past": new,
            "suggest_cpu_ms": cost,
        },
        baseline={"toollinkos_r10": without, "next_tool": then_without},
        conditions={"protocol": _PROTOCOL, "learnt_without_ultra": learnt},
    ).tell(at)


def _ready(sets: Mapping[str, SuggestSet], folder: Path, scratch: Path) -> Mapping[str, Ready]:
    """What ships was taught by ToolLinkOS's questions among others: that one is searched with what
    is taught without it."""
    table = StaticTable()
    found = {name: Ready(each, table, SHIPPED) for name, each in sets.items()}
    tables = Tables(scratch)
    searched = SearchSets(prepare(read_sets(folder), stem), None, KeptVectors(scratch), tables)
    fold = searched.fold(LINK_SEARCHED)
    weighted = tables.weighted(LINK_SEARCHED, fold.tokens)
    learning = {frozenset({STATIC}): fold.learnt[DEFAULT]}
    return {**found, LINK: Ready(sets[LINK], weighted, learning)}


def _in(told: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 # figures of figures
    return told[name]


def _corpus(sets: Mapping[str, SuggestSet]) -> str:
    told = [f"{name} {len(each.tools)}/{len(each.plans)}" for name, each in sets.items()]
    return f"tools/plans: {', '.join(told)}"
