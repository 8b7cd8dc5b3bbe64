"""Which output feeds which argument: four sets of plans, each judged by what the others taught."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from benchmarks.edge_ranking import Catalogue, Ranking, read_catalogue
from benchmarks.edge_run import EdgeRun, baseline_figures
from benchmarks.edge_sets import PlanSet, missing_files, read_plans
from benchmarks.kept_vectors import KeptVectors
from benchmarks.search_models import PLAIN, Tables
from portico.adapters.embeddings.encoders import EncoderFolder, EncoderNotFound
from portico.adapters.embeddings.sentence_encoders import OnnxEncoder
from portico.adapters.embeddings.static_table import StaticTable
from portico.bench.report import Report, skipped
from portico.gateway.core.errors import EmbedderUnavailable
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

_SETS: Final = "tool-search"
_PROTOCOL: Final = (
    "each call's arguments by name, whether they were values or references is not told; only an "
    "earlier call feeds a later one; weights and floor learnt from the three other sets; a table "
    "of words without learnt token weights, so that no part of it has seen any of the sets"
)

_SPLITS: Final = (
    "ToolLinkOS: twenty times half of the tools that need something teach flows and weights, the "
    "other half is asked, any tool of the catalogue may be the answer"
)


def edges(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    at: At,
) -> int:
    """Which output feeds which argument, by name, type, meaning and what was seen before?"""
    folder = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / _SETS
    if missing := missing_files(folder):
        return skipped(at, "edges", f"no {', '.join(missing)} in {str(folder)!r}")
    ours = at.services.encoders().folder.parent / "bench"
    with at.working("reading") as progress, tempfile.TemporaryDirectory() as scratch:
        sets, catalogue = read_plans(folder), read_catalogue(folder)
        progress("proposing edges")
        run = EdgeRun(sets, Tables(Path(scratch)).plain.embed_now)
        figures = run.figures()
        progress("ranking producers")
        hits = Ranking.of(catalogue, run.embed).measure()
        progress("learning what ships")
        shipped = _shipped(sets, catalogue)
        progress("asking the encoder")
        encoded = _encoded(sets, catalogue, ours)
    return Report(
        benchmark="edges",
        corpus=_corpus(sets, catalogue),
        figures={
            "toollinkos_hit10": hits["with_prior"].at(10),
            **figures,
            "without_vectors_f1": EdgeRun(sets, _nowhere).f1(),
            "toollinkos": {name: each.told() for name, each in hits.items()},
            "encoder": encoded,
        },
        baseline={"rules": baseline_figures(sets), "toollinkos": hits["without_prior"].told()},
        conditions={"protocol": _PROTOCOL, "splits": _SPLITS, "learnt_on_all": shipped},
    ).tell(at)


def _shipped(sets: Mapping[str, PlanSet], catalogue: Catalogue) -> JsonObject:
    """As it stands in `learning/core/dataflow.py`, with the table that ships."""
    table = StaticTable()
    weights = EdgeRun(sets, table.embed_now).of_all.weights
    ranking, bare = Ranking.of(catalogue, table.embed_now).learnt()
    return {
        "weights": {sign: round(weight, 4) for sign, weight in weights.of.items()},
        "start": round(weights.start, 4),
        "ranking": [round(each, 4) for each in ranking],
        "ranking_without_flows": [round(each, 4) for each in bare],
    }


def _encoded(sets: Mapping[str, PlanSet], catalogue: Catalogue, ours: Path) -> JsonObject:
    """The same with a sentence encoder in the table's place, if one was made."""
    try:
        encoder = OnnxEncoder(EncoderFolder(ours / "encoders").find(f"minilm-{PLAIN}"))
        embed = partial(KeptVectors(ours / "vectors").of, encoder)
        hits = Ranking.of(catalogue, embed).measure()
        return {
            "f1": EdgeRun(sets, embed).f1(),
            "toollinkos": {name: each.told() for name, each in hits.items()},
        }
    except (EncoderNotFound, EmbedderUnavailable) as error:
        return {"skipped": f"{error} `just bench search --encoder minilm` makes it."}


def _nowhere(texts: Sequence[str]) -> NDArray[np.float32]:
    """As if no text were near another."""
    return np.zeros((len(texts), 1), np.float32)


def _corpus(sets: Mapping[str, PlanSet], catalogue: Catalogue) -> str:
    told = [f"{name} {each.tools}/{len(each.plans)}/{each.edges}" for name, each in sets.items()]
    ranked = f"toollinkos {len(catalogue.sources.of)} tools, {len(catalogue.needs)} parameters"
    return f"tools/plans/edges: {', '.join(told)}; {ranked}"
