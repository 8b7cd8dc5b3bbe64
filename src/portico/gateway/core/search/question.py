"""What is asked, and which of its texts need a vector before it can be answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from portico.gateway.core.search.clauses import clauses, whole
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.gateway.core.search.text import words

MOST_QUERIES: Final = 16
_MOST_WORDS: Final = 48
"""Whose nearness to names is looked at: what a search costs grows with them."""
_FEWEST_WORDS: Final = 8
"""Of each step."""


@dataclass(frozen=True, slots=True)
class Question:
    texts: tuple[str, ...]
    """The whole, and then its parts, if it has several."""
    told: tuple[tuple[str, ...], ...]
    """The words of each text, each once."""
    words: tuple[str, ...]
    """Of all texts, those whose nearness to names is looked at."""
    steps: bool = False
    """Whether the parts were told apart by whoever asks, or found by us."""

    @classmethod
    def of(cls, queries: Sequence[str]) -> Self:
        """One query is cut into its clauses; several are taken as the steps that they are."""
        asked = [text for text in map(whole, queries[:MOST_QUERIES]) if text]
        if len(asked) > 1:
            return cls._of([whole(" ".join(asked))], asked, looked_at=asked, steps=True)
        parts = clauses(asked[0]) if asked else []
        return cls._of(asked, parts if len(parts) > 1 else [], looked_at=asked)

    @classmethod
    def _of(
        cls,
        asked: Sequence[str],
        parts: Sequence[str],
        *,
        looked_at: Sequence[str],
        steps: bool = False,
    ) -> Self:
        """An equal share of the words of what is looked at, the first ones."""
        share = max(_MOST_WORDS // max(len(looked_at), 1), _FEWEST_WORDS)
        some = (word for text in looked_at for word in _each_once(text)[:share])
        texts = (*asked, *parts)
        return cls(texts, tuple(map(_each_once, texts)), tuple(dict.fromkeys(some)), steps)

    @classmethod
    def unrelated(cls, texts: Sequence[str]) -> Self:
        """Several at once that have nothing to do with one another, for their evidence only."""
        told = tuple(map(_each_once, texts))
        return cls(tuple(texts), told, tuple(dict.fromkeys(word for each in told for word in each)))

    @property
    def as_a_whole(self) -> "Question":
        """Without its parts."""
        return replace(self, texts=self.texts[:1], told=self.told[:1], steps=False)

    @property
    def groups(self) -> list[list[int]]:
        """Which of its words each of its texts has."""
        place = {word: number for number, word in enumerate(self.words)}
        return [[place[word] for word in each if word in place] for each in self.told]


def texts_to_embed(question: Question) -> Mapping[str, Sequence[str]]:
    """By the kind of model that they are for. The static table also looks up single words, which
    costs it nothing."""
    return {STATIC: [*question.texts, *question.words], ENCODER: question.texts}


def _each_once(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words(text)))
