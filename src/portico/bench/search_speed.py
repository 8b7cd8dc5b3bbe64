"""What a search costs among ten thousand tools, the vectors of the question included."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from portico.bench.kept_vectors import Embeds
from portico.bench.search_sets import evenly
from portico.bench.tool_sets import FIVE, ToolSet
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.gateway.core.search.index import SearchIndex
from portico.gateway.core.search.index_texts import texts_to_index
from portico.gateway.core.search.lexical import Stem
from portico.gateway.core.search.question import Question, texts_to_embed
from portico.gateway.core.search.text import ToolText

TOOLS: Final = 10_000
_QUESTIONS_A_SET: Final = 40
_PASSES: Final = 3
_FOUND: Final = 40
"""As many as the gateway looks at for one reply."""


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
    tools: Sequence[ToolText], questions: Sequence[str], models: Mapping[str, Embeds], stem: Stem
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
    _answer(index, questions[0], models)
    passes = [[_timed(index, each, models) for each in questions] for _ in range(_PASSES)]
    return np.median(passes, axis=0), built


def _timed(index: SearchIndex, text: str, models: Mapping[str, Embeds]) -> float:
    started = time.process_time()
    _answer(index, text, models)
    return (time.process_time() - started) * 1_000


def _answer(index: SearchIndex, text: str, models: Mapping[str, Embeds]) -> None:
    question = Question.of([text])
    wanted = texts_to_embed(question)
    vectors = {name: model.embed_now(wanted[name]) for name, model in models.items()}
    index.search(question, vectors, _FOUND)
