"""What messages of `just bench bridge` are made of: the words of the table that gives them their
vectors, some of them common and most of them rare, as in any language."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

_TOKENS: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_BEGINS: Final = "\u2581"
_SHORTEST: Final = 3
_NAMES: Final = 60_000
"""Besides the words of the table two of them in one, as things are called: without these every word
would be in many messages, and in no language it is so."""
_LENGTH: Final = (2.8, 0.6)
"""Of the logarithm of the number of words: about 20 of them, seldom more than 60."""
_OF_TOPIC: Final = 0.35
"""Of the words of a message are those of what its conversation is about."""
TOPIC: Final = 150


class NoWords(Exception):
    """The package with the table of words is not installed."""


def vocabulary() -> Sequence[str]:
    """The words of the table, the commonest first, and then the names. Raises `NoWords`."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise NoWords("the table of words (wordllama)")
    told = json.loads((Path(spec.origin).parent / _TOKENS).read_text(encoding="utf-8"))
    words = [token[1:] for token in told["model"]["vocab"] if _is_word(token)]
    return [*words, *_names(words)]


def _names(words: Sequence[str]) -> Sequence[str]:
    chance, known = Random(3), frozenset(words)  # noqa: S311 # the same ones on every run
    names: dict[str, None] = {}
    while len(names) < _NAMES:
        name = chance.choice(words) + chance.choice(words)
        if name not in known:
            names[name] = None
    return list(names)


def _is_word(token: str) -> bool:
    word = token[1:]
    plain = word.isascii() and word.isalpha() and word.islower()
    return token.startswith(_BEGINS) and plain and len(word) >= _SHORTEST


class Speech:
    """Texts by lot. How often a word comes is as its rank (Zipf), in all and in each topic."""

    def __init__(self, words: Sequence[str], topics: int, chance: np.random.Generator) -> None:
        self.words = np.array(words, dtype=object)
        self._chance = chance
        self._all = _shares(len(words))
        self._one = _shares(TOPIC)
        self._topics = [
            chance.choice(len(words), TOPIC, replace=False).astype(np.int32) for _ in range(topics)
        ]

    def numbers(self, topic: int) -> NDArray[np.int64]:
        """The places of the words of one text."""
        many = max(1, int(self._chance.lognormal(*_LENGTH)))
        drawn = np.searchsorted(self._all, self._chance.random(many))
        special = self._chance.random(many) < _OF_TOPIC
        its = np.searchsorted(self._one, self._chance.random(int(special.sum())))
        drawn[special] = self._topics[topic][its]
        return drawn

    def text(self, numbers: NDArray[np.int64]) -> str:
        return " ".join(self.words[numbers])


def _shares(many: int) -> NDArray[np.float64]:
    weights = np.cumsum(1 / np.arange(1, many + 1))
    return np.asarray(weights / weights[-1] * (1 - 1e-12))
