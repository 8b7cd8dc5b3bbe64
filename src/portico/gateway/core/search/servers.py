"""What servers say of themselves, as evidence for all of their tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.fusion import standardised
from portico.gateway.core.search.lexical import Document, Lexicon, Stem
from portico.gateway.core.search.text import ToolText, server_text, words

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ServerTexts:
    names: tuple[str, ...]
    of_tool: NDArray[np.int64]
    """Which of the servers each tool is of."""
    lexicon: Lexicon
    vectors: Mapping[str, Floats]
    told: bool
    """Whether any of them says anything of itself."""

    @classmethod
    def of(cls, tools: Sequence[ToolText], vectors: Mapping[str, Floats], stem: Stem) -> Self:
        """`vectors` has a row for each of `server_texts`."""
        first = _first_tools(tools)
        place = {name: number for number, name in enumerate(first)}
        texts = [[stem(word) for word in words(server_text(tool))] for tool in first.values()]
        return cls(
            names=tuple(first),
            of_tool=np.array([place[tool.server] for tool in tools], np.int64),
            lexicon=Lexicon.of([Document.of([stems]) for stems in texts], [1.0]),
            vectors=vectors,
            told=len(first) > 1 and any(tool.about_server.strip() for tool in first.values()),
        )

    def scores(self, stems: Sequence[Sequence[str]], vectors: Mapping[str, Floats]) -> Floats:
        """One row a text, one column a *tool*: how far its server stands out from the others."""
        words = np.stack([self.lexicon.scores(each) for each in stems])
        near = [vectors[name] @ self.vectors[name].T for name in vectors if name in self.vectors]
        mean: Floats = np.mean([standardised(rows) for rows in (words, *near)], axis=0)
        return mean[:, self.of_tool]

    def best(self, probabilities: Floats, limit: int) -> list[str]:
        """By what their tools have together."""
        summed = np.bincount(self.of_tool, probabilities, minlength=len(self.names))
        order = np.argsort(-summed, kind="stable")[:limit]
        return [self.names[number] for number in order if summed[number] > 0]


def server_texts(tools: Sequence[ToolText]) -> list[str]:
    return [server_text(tool) for tool in _first_tools(tools).values()]


def _first_tools(tools: Sequence[ToolText]) -> Mapping[str, ToolText]:
    first: dict[str, ToolText] = {}
    for tool in tools:
        first.setdefault(tool.server, tool)
    return first
