"""Teach MiniLM about tools: questions near the tools that answer them, far from those that look so.

python -m training.adapt --model FOLDER --data FOLDER --without ultra --out tools.npz
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from portico.adapters.embeddings.conversion import write_change
from portico.gateway.core.search_text import words
from training.encoder import Encoder
from training.tool_sets import NAMES, ToolSet, read_set

RANK: Final = 8
STEPS: Final = 240
QUESTIONS_A_STEP: Final = 48
RATE: Final = 5e-4
WARM_UP: Final = 20
SHARPNESS: Final = 20.0
MOST_TOKENS: Final = 72
SHARES: Final = {"live": 0.5}
"""How often a set is drawn, if not as often as the others: this one has 94 questions."""
_HARD: Final = 60
_TYPICALLY: Final = 12
_TOO_NEAR: Final = 2
"""The first are left out: they are often right too, and only not marked so."""


@dataclass
class CallObservations:
    """A set's questions in random order, each with a tool that answers it and one that does not."""

    tools: ToolSet
    hard: NDArray[np.int64]
    random: np.random.Generator
    _left: list[int] = field(default_factory=list)

    def next_questions(self) -> list[int]:
        count = min(QUESTIONS_A_STEP, len(self.tools.questions) // 2)
        if len(self._left) < count:
            self._left = list(self.random.permutation(len(self.tools.questions)))
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn

    def right_and_wrong(self, question: int) -> tuple[int, int]:
        needed = self.tools.gold[question]
        places = needed[self.random.integers(len(needed))]
        rank = _TOO_NEAR + min(int(self.random.exponential(_TYPICALLY)), _HARD - _TOO_NEAR - 1)
        right = places[self.random.integers(len(places))]
        return int(right), int(self.hard[question][min(rank, self.hard.shape[1] - 1)])


def adapt(encoder: Encoder, sets: Sequence[ToolSet], *, steps: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    lessons = [CallObservations(each, hard_negatives(encoder, each), random) for each in sets]
    shares = np.array([SHARES.get(each.name, 1.0) for each in sets])
    trained = [*encoder.up.parameters(), *encoder.down.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.0)
    losses: list[float] = []
    for step in range(steps):
        lesson = lessons[random.choice(len(lessons), p=shares / shares.sum())]
        loss = _loss(encoder, lesson)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % 20 == 0:
            print(f"step {step + 1} of {steps}, loss {np.mean(losses[-20:]):.3f}", flush=True)


def _loss(encoder: Encoder, lesson: CallObservations) -> torch.Tensor:
    """Each question's tool against every other tool of the step, save those that are right too."""
    questions, columns, rights = lesson.next_questions(), dict[int, int](), list[int]()
    for question in questions:
        right, wrong = lesson.right_and_wrong(question)
        rights.append(right)
        columns.setdefault(right, len(columns))
        columns.setdefault(wrong, len(columns))
    hidden = torch.zeros(len(questions), len(columns))
    for row, question in enumerate(questions):
        for place in (place for needed in lesson.tools.gold[question] for place in needed):
            if place in columns and place != rights[row]:
                hidden[row, columns[place]] = -1e4
    tools = encoder.embed([lesson.tools.texts[place] for place in columns], MOST_TOKENS)
    asked = encoder.embed([lesson.tools.questions[each] for each in questions], MOST_TOKENS)
    targets = torch.tensor([columns[right] for right in rights])
    return functional.cross_entropy(SHARPNESS * asked @ tools.T + hidden, targets)


def hard_negatives(encoder: Encoder, tools: ToolSet) -> NDArray[np.int64]:
    """For each question the tools that are nearest, by meaning and by words, and not right."""
    encoder.adapting = False
    texts, asked = encoder.vectors(tools.texts, 128), encoder.vectors(tools.questions, 128)
    encoder.adapting = True
    near = asked @ texts.T + _shared_words(tools)
    for row, needed in enumerate(tools.gold):
        for places in needed:
            near[row, list(places)] = -np.inf
    return np.argsort(-near, axis=1)[:, :_HARD]


def _shared_words(tools: ToolSet) -> NDArray[np.float32]:
    """What part of a question's words, the rare ones counting more, a tool's text has."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(tools.texts):
        for word in set(words(text)):
            places[word].append(place)
    rarity = {word: log(1 + len(tools.texts) / len(found)) for word, found in places.items()}
    shared = np.zeros((len(tools.questions), len(tools.texts)), np.float32)
    for row, question in enumerate(tools.questions):
        known = [word for word in Counter(words(question)) if word in places]
        total = sum(rarity[word] for word in known) or 1.0
        for word in known:
            shared[row, places[word]] += rarity[word] / total
    return shared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", type=Path, required=True, help="model.safetensors, tokenizer.json"
    )
    parser.add_argument("--data", type=Path, required=True, help="the five sets, as JSON")
    parser.add_argument("--without", choices=NAMES, nargs="+", required=True, help="sets left out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    encoder = Encoder(given.model, rank=RANK, seed=given.seed)
    sets = [read_set(given.data, name) for name in NAMES if name not in given.without]
    adapt(encoder, sets, steps=given.steps, seed=given.seed)
    write_change(given.out, encoder.changes())


if __name__ == "__main__":
    main()
