"""Whether the right tools are found by what ships, in five published sets, and what it costs."""

import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Final, Protocol

import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from portico.adapters.embeddings.encoders import EncoderFolder, EncoderNotFound
from portico.adapters.embeddings.sentence_encoders import OnnxEncoder
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.stemming import stem
from portico.bench.ranking_figures import Values, area_under_curve, interval, ndcg, recall
from portico.bench.report import Report, skipped
from portico.bench.tool_sets import (
    FIVE,
    LIVE,
    ULTRA,
    Gold,
    ToolSet,
    evenly,
    missing_files,
    read_sets,
)
from portico.gateway.core import search_text
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search import (
    Question,
    Ranking,
    SearchIndex,
    texts_to_embed,
    texts_to_index,
)
from portico.gateway.core.search_scoring import (
    ENCODER,
    LEXICAL,
    SHIPPED,
    STATIC,
    Judgement,
    LearnedWeights,
    Learning,
    Weights,
)
from portico.gateway.core.search_text import EmbeddingModel, Stem, ToolText
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonObject

SETS: Final = "tool-search"
LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers", "wordllama", "PyStemmer")
TOOLS: Final = 10_000
_DEPTH: Final = 10
_TO_JUDGE_BY: Final = 300
_STRANGERS: Final = 75
"""Questions of each other set, none of which is meant for this one's tools."""
_QUESTIONS_A_SET: Final = 40
_PASSES: Final = 3
_FOUND: Final = 40
"""As many as the gateway looks at for one reply."""
_BM25: Final[Learning] = {
    frozenset(): LearnedWeights(Weights({LEXICAL: 1.0}, server=0.0), Judgement(1.0, 1.0, 1.0))
}


class Embeds(Protocol):
    @property
    def model(self) -> EmbeddingModel: ...

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


Models = Mapping[str, Embeds]
"""By their kind."""


def search(
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    encoder: Annotated[
        str | None,
        Parameter(help="An encoder that was pulled; else the one of the settings, if any."),
    ] = None,
    tools: Annotated[int, Parameter(help="How many tools the cost is measured among.")] = TOOLS,
    at: At,
) -> int:
    """Are the right tools found, is it said when nothing fits, and what does a search cost?"""
    folder = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / SETS
    if missing := missing_files(folder):
        return skipped(at, "search", f"no {', '.join(missing)} in {str(folder)!r}")
    chosen = _encoder(at, encoder)
    with at.working("reading") as progress:
        sets = read_sets(folder)
        ways: dict[str, Models] = {"default": {STATIC: StaticTable()}}
        if not isinstance(chosen, str):
            ways["onnx"] = {**ways["default"], ENCODER: chosen}
        strangers = {name: _strangers(sets, name) for name in FIVE}
        found = {}
        for way, models in ways.items():
            progress(f"searching five sets, {way}")
            found[way] = {name: _searched(sets[name], strangers[name], models) for name in FIVE}
        bare = {name: _searched(sets[name], (), {}, _BM25) for name in FIVE}
        progress(f"searching {tools} tools")
        speed = speed_figures(sets, ways["default"], ways.get("onnx"), tools)
    return Report(
        benchmark="search",
        corpus=f"{corpus(sets)}; each searched with what ships, which was learnt from all of them "
        f"but {ULTRA}",
        figures={**_ranked({**found, "bm25": bare}), **_told_apart(found), **speed},
        baseline={"bm25_ndcg10": _mean([each.quality for each in bare.values()])},
        conditions={
            "search_versions": {name: version_of(name) for name in LIBRARIES},
            "encoder": chosen if isinstance(chosen, str) else chosen.model.name,
        },
    ).tell(at)


def _encoder(at: At, named: str | None) -> Embeds | str:
    """Or why there is none."""
    settings = {each.path: each.value for each in at.services.settings()}
    wanted = named or str(settings.get("embeddings.encoder", search_text.STATIC))
    if wanted in {search_text.STATIC, search_text.REMOTE}:
        return f"{wanted}: no encoder of this machine; `--encoder` names one that was pulled"
    try:
        found = OnnxEncoder(EncoderFolder(at.services.encoders().folder).find(wanted))
        found.embed_now(["Search the web for pages about gardens."])
    except (EncoderNotFound, EmbedderUnavailable) as error:
        return str(error)
    return found


@dataclass(frozen=True, slots=True)
class _Searched:
    """A set, searched in one way."""

    questions: Sequence[Sequence[int]]
    """Where the right tools of each were found; ten for any place after the tenth."""
    steps: Sequence[Sequence[int]]
    own: Sequence[Ranking]
    """For some of its own questions."""
    strange: Sequence[Ranking]

    @property
    def quality(self) -> Values:
        return np.array([ndcg(places) for places in self.questions])

    @property
    def area(self) -> float:
        own, strange = (
            np.array([each.confidence for each in some]) for some in (self.own, self.strange)
        )
        return area_under_curve(own, strange)

    @property
    def abstention(self) -> JsonObject:
        missed = float(np.mean([not each.fits for each in self.own]))
        seen = float(np.mean([not each.fits for each in self.strange]))
        precise = seen / (seen + missed) if seen + missed else 0.0
        return {
            "auc": round(self.area, 4),
            "false_abstention": round(missed, 4),
            "recall": round(seen, 4),
            "precision": round(precise, 4),
            "held": precise >= 0.9 and missed <= 0.05,
        }


Ways = Mapping[str, Mapping[str, _Searched]]
"""By the way in which they were searched, each set."""


def _searched(
    tool_set: ToolSet, strangers: Sequence[str], models: Models, learning: Learning = SHIPPED
) -> _Searched:
    wanted = texts_to_index(tool_set.tools)
    vectors = {kind: model.embed_now(wanted[kind]) for kind, model in models.items()}
    index = SearchIndex.build(tool_set.tools, vectors, stem=stem, learning=learning)
    whole = learning is not SHIPPED

    def answer(queries: Sequence[str]) -> Ranking:
        question = Question.of(queries)
        return _answer(index, question.as_a_whole if whole else question, models, _DEPTH)

    def places(answers: Sequence[Ranking]) -> Sequence[Sequence[int]]:
        return [
            _places(index, each, gold) for each, gold in zip(answers, tool_set.gold, strict=False)
        ]

    asked = [answer([text]) for text in tool_set.questions]
    return _Searched(
        questions=places(asked),
        steps=places([answer(steps or ("none",)) for steps in tool_set.steps]),
        own=[asked[place] for place in evenly(len(asked), _TO_JUDGE_BY)],
        strange=[answer([text]) for text in strangers],
    )


def _places(index: SearchIndex, found: Ranking, gold: Gold) -> list[int]:
    order = {hit.ref: place for place, hit in enumerate(found.hits)}
    return [
        min(order.get(index.tools[tool].ref, _DEPTH) for tool in tools_that_do)
        for tools_that_do in gold
    ]


def _strangers(sets: Mapping[str, ToolSet], name: str) -> list[str]:
    others = [sets[each].questions for each in FIVE if each != name]
    return [some[place] for some in others for place in evenly(len(some), _STRANGERS)]


def _ranked(found: Ways) -> JsonObject:
    """Without an encoder, its figures are null."""
    default = _figures(found["default"])
    best = _figures(found["onnx"]) if "onnx" in found else dict.fromkeys(default)
    return {
        **{f"default_{name}": figure for name, figure in default.items()},
        "onnx_ndcg10": best.pop("ndcg10"),
        "onnx_unseen_ndcg10": best.pop("unseen_ndcg10"),
        **best,
        "sets": {
            name: {way: _mean([each[name].quality]) for way, each in found.items()} for name in FIVE
        },
        "intervals": {
            f"{way}_ndcg10": list(interval([each.quality for each in found[way].values()]))
            for way in found
        },
    }


def _figures(sets: Mapping[str, _Searched]) -> dict[str, float | None]:
    live = sets[LIVE]
    five, ten = (np.array([recall(each, deep) for each in live.questions]) for deep in (5, 10))
    return {
        "ndcg10": _mean([each.quality for each in sets.values()]),
        "unseen_ndcg10": _mean([sets[ULTRA].quality]),
        "live_question_r5": _mean([five]),
        "live_question_r10": _mean([ten]),
        "live_steps_r10": _mean([np.array([recall(each, 10) for each in live.steps])]),
    }


def _told_apart(found: Ways) -> JsonObject:
    """Own questions from those of other sets: with the encoder, where there is one."""
    default, best = found["default"], found.get("onnx")
    shown = best or default
    return {
        "offtopic_auc": _area(best) if best else None,
        "abstain_sets_held": _held(shown),
        "default_offtopic_auc": _area(default),
        "default_abstain_sets_held": _held(default),
        "abstention": {name: each.abstention for name, each in shown.items()},
        "default_abstention": {name: each.abstention for name, each in default.items()},
    }


def _area(sets: Mapping[str, _Searched]) -> float:
    return _average([each.area for each in sets.values()])


def _held(sets: Mapping[str, _Searched]) -> int:
    """Of how many sets nine in ten abstentions were right, and at most one in twenty questions
    was turned away."""
    return sum(bool(each.abstention["held"]) for each in sets.values())


def _mean(groups: Sequence[Values]) -> float:
    return _average([float(group.mean()) for group in groups])


def _average(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def speed_figures(
    sets: Mapping[str, ToolSet], default: Models, onnx: Models | None, count: int
) -> JsonObject:
    """What a search costs among so many tools, the vectors of the question included."""
    tools, questions = many_tools(sets, count), mixed_questions(sets)
    plain, built = cpu_by_question(tools, questions, default, stem)
    found: dict[str, float | None] = {
        "default_p95_cpu_ms_10k": _p95(plain),
        "onnx_p95_cpu_ms_10k": None,
        "default_mean_cpu_ms_10k": round(float(plain.mean()), 2),
        "index_cpu_s_10k": round(built, 2),
    }
    if onnx is not None:
        encoded, _ = cpu_by_question(tools, questions, onnx, stem)
        found["onnx_p95_cpu_ms_10k"] = _p95(encoded)
        found["onnx_mean_cpu_ms_10k"] = round(float(encoded.mean()), 2)
    return dict(found)


def _p95(milliseconds: NDArray[np.float64]) -> float:
    return round(float(np.quantile(milliseconds, 0.95)), 2)


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def corpus(sets: Mapping[str, ToolSet]) -> str:
    told = [f"{name} {len(sets[name].tools)}/{len(sets[name].questions)}" for name in FIVE]
    return f"tools/questions: {', '.join(told)}"


def many_tools(sets: Mapping[str, ToolSet], count: int) -> list[ToolText]:
    """Those of the five sets, and then pairs of them made into one."""
    real = [tool for name in FIVE for tool in sets[name].tools]
    draw = random.Random(0)  # noqa: S311 # the same ones on every run
    made = [
        replace(
            (one := draw.choice(real)),
            ref=f"made.{number}",
            name=f"{one.name}_{(other := draw.choice(real)).name}",
            description=f"{one.description} {other.description[:80]}",
        )
        for number in range(count - len(real))
    ]
    return [*real, *made][:count]


def mixed_questions(sets: Mapping[str, ToolSet]) -> list[str]:
    return [
        sets[name].questions[place]
        for name in FIVE
        for place in evenly(len(sets[name].questions), _QUESTIONS_A_SET)
    ]


def cpu_by_question(
    tools: Sequence[ToolText], questions: Sequence[str], models: Models, stem: Stem
) -> tuple[NDArray[np.float64], float]:
    """Milliseconds a question, the median of a few passes over all of them, because what else
    the machine does is felt in CPU time too; and seconds to make the index.

    An encoder's vectors of the tools are drawn by lot: they take long to make, and a search takes
    as long with them as with real ones."""
    wanted = texts_to_index(tools)
    draw = np.random.default_rng(0)
    vectors = {STATIC: models[STATIC].embed_now(wanted[STATIC])}
    if ENCODER in models:
        size = (len(wanted[ENCODER]), models[ENCODER].model.dimensions)
        drawn = draw.standard_normal(size, np.float32)
        vectors[ENCODER] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    started = time.process_time()
    index = SearchIndex.build(tools, vectors, stem=stem)
    built = time.process_time() - started
    _answer(index, Question.of(questions[:1]), models, _FOUND)
    passes = [[_timed(index, each, models) for each in questions] for _ in range(_PASSES)]
    return np.median(passes, axis=0), built


def _timed(index: SearchIndex, text: str, models: Models) -> float:
    started = time.process_time()
    _answer(index, Question.of([text]), models, _FOUND)
    return (time.process_time() - started) * 1_000


def _answer(index: SearchIndex, question: Question, models: Models, limit: int) -> Ranking:
    wanted = texts_to_embed(question)
    vectors = {kind: model.embed_now(wanted[kind]) for kind, model in models.items()}
    return index.search(question, vectors, limit)
