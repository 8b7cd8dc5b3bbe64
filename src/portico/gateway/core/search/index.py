"""All that is known of a catalogue's tools, ready to be searched. Immutable: a change of the
catalogue makes a new one, from what the old one has in common with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.abstain import Calibration, confidence
from portico.gateway.core.search.coverage import NameCoverage
from portico.gateway.core.search.evidence import Evidence
from portico.gateway.core.search.fusion import (
    LEXICAL,
    NAMES,
    STATIC,
    logits,
    scored,
)
from portico.gateway.core.search.index_texts import BACKGROUND, IndexTexts, Parts
from portico.gateway.core.search.learnt import SHIPPED, Learning
from portico.gateway.core.search.lexical import (
    FIELD_WEIGHTS,
    Document,
    Lexicon,
    Stem,
    tool_document,
)
from portico.gateway.core.search.question import Question
from portico.gateway.core.search.ranking import Hit, Ranking
from portico.gateway.core.search.reasons import Reasons
from portico.gateway.core.search.servers import ServerTexts
from portico.gateway.core.search.text import ToolText

Floats = NDArray[np.float32]
Allowed = Callable[[str], bool] | NDArray[np.bool_]
"""Which tools a caller may know of: by their ref, or a mark for each in order."""

NOTHING: Final = Ranking((), fits=False, confidence=0.0, servers=())
_SERVERS: Final = 3
_USUAL_SPREAD: Final = 0.065
"""The standard deviation of MiniLM's cosines between the background and tools: the same to a
twentieth in all five sets, and the static table's too."""
_MOST_STRETCH: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchIndex:
    tools: tuple[ToolText, ...]
    lexicon: Lexicon
    vectors: Mapping[str, Floats]
    """By model, one *column* a tool: a few rows times this is twice as fast as the other way."""
    stretch: Mapping[str, float]
    """By model: what makes its cosines as far apart as those that the weights were learnt with."""
    names: NameCoverage | None
    servers: ServerTexts
    calibrations: Mapping[frozenset[str], Calibration]
    learning: Learning
    stem: Stem

    @classmethod
    def build(
        cls,
        tools: Sequence[ToolText],
        vectors: Mapping[str, Floats],
        *,
        stem: Stem,
        learning: Learning = SHIPPED,
        reuse: "SearchIndex | None" = None,
    ) -> Self:
        """`vectors` has, for each kind of model at hand, a row for each of `texts_to_index`."""
        texts = IndexTexts.of(tools)
        parts = {model: texts.apart(model, given) for model, given in vectors.items()}
        lexicon = Lexicon.of(_documents(tools, stem, reuse), FIELD_WEIGHTS)
        bare = cls(
            tools=tuple(tools),
            lexicon=lexicon,
            vectors={m: np.ascontiguousarray(each.tools.T) for m, each in parts.items()},
            stretch={model: _stretch(each) for model, each in parts.items()},
            names=_coverage(texts, parts.get(STATIC), lexicon, stem),
            servers=ServerTexts.of(tools, {m: each.servers for m, each in parts.items()}, stem),
            calibrations={},
            learning=learning,
            stem=stem,
        )
        return replace(bare, calibrations=bare.calibrate(parts) if tools else {})

    def calibrate(self, parts: Mapping[str, Parts]) -> Mapping[frozenset[str], Calibration]:
        """For every choice of models: one of them may fail to answer when a question comes."""
        background = {model: each.background for model, each in parts.items()}
        evidence = self.evidence(BACKGROUND, background)
        choices = [models for models in self.learning if models <= evidence.models]
        return {models: self._calibration(evidence.of_models(models)) for models in choices}

    def evidence(self, question: Question, vectors: Mapping[str, Floats]) -> Evidence:
        """`vectors` has, for each kind of model, a row for each of `texts_to_embed`. What is not
        of the same model as the tools' own vectors is left aside."""
        stems = [[self.stem(word) for word in told] for told in question.told]
        near = {
            model: np.nan_to_num(rows)
            for model, rows in vectors.items()
            if model in self.vectors and rows.shape[1] == len(self.vectors[model])
        }
        count = len(question.texts)
        of_texts = {model: rows[:count] for model, rows in near.items()}
        found: dict[str, Floats] = {
            model: rows @ self.vectors[model] * np.float32(self.stretch[model])
            for model, rows in of_texts.items()
        }
        found[LEXICAL] = np.stack([self.lexicon.scores(each) for each in stems])
        if self.names is not None and STATIC in near:
            found[NAMES] = self.names.scores(near[STATIC][count:], question.groups)
        return Evidence(
            rows=found,
            server=self.servers.scores(stems, of_texts) if self.servers.told else None,
            wanted=np.array([self._rarity(each) for each in stems], np.float32),
            stretch={model: self.stretch[model] for model in near},
        )

    def search(
        self,
        question: Question,
        vectors: Mapping[str, Floats],
        limit: int,
        *,
        allowed: Allowed | None = None,
    ) -> Ranking:
        """Tools that are not allowed do not exist: they change no score of the others."""
        columns = self._columns(allowed)
        if not question.texts or not len(columns):
            return NOTHING
        evidence = self.evidence(question, vectors)
        if len(columns) < len(self.tools):
            evidence = evidence.among(columns)
        return self._ranked(question, evidence, columns, limit)

    def _ranked(
        self, question: Question, evidence: Evidence, columns: NDArray[np.int64], limit: int
    ) -> Ranking:
        weights = self.learning[evidence.models].weights
        log_odds = logits(evidence.rows, evidence.server, weights)
        scores = scored(log_odds, steps=question.steps)
        reasons = Reasons.of(question, evidence, weights, log_odds, self.stem)
        order = _best(scores, limit)
        hits = tuple(
            Hit(
                ref=self.tools[columns[place]].ref,
                score=float(scores[place]),
                probability=float(np.exp(scores[place])),
                why=reasons.why(int(place), self.lexicon.documents[columns[place]]),
            )
            for place in order
        )
        verdict = self._verdict(question, evidence, log_odds)
        everywhere = np.zeros(len(self.tools), np.float32)
        everywhere[columns] = np.exp(scores)
        return Ranking(
            hits,
            fits=verdict >= 0,
            confidence=confidence(verdict),
            servers=tuple(self.servers.best(everywhere, _SERVERS)),
        )

    def _verdict(self, question: Question, evidence: Evidence, log_odds: Floats) -> float:
        """Of the whole question, or of the step that is served best."""
        scores = self.calibrations[evidence.models].scores(evidence.signs(log_odds))
        return float(scores[1:].max() if question.steps else scores[0])

    def _calibration(self, evidence: Evidence) -> Calibration:
        learnt = self.learning[evidence.models]
        log_odds = logits(evidence.rows, evidence.server, learnt.weights)
        return Calibration.of(evidence.signs(log_odds), learnt.judgement)

    def _rarity(self, stems: Sequence[str]) -> float:
        return sum(self.lexicon.rarity_of(stem) for stem in dict.fromkeys(stems))

    def _columns(self, allowed: Allowed | None) -> NDArray[np.int64]:
        if allowed is None:
            return np.arange(len(self.tools))
        if isinstance(allowed, np.ndarray):
            return np.flatnonzero(allowed)
        refs = (tool.ref for tool in self.tools)
        return np.flatnonzero(np.fromiter(map(allowed, refs), np.bool_, len(self.tools)))


def _best(scores: Floats, limit: int) -> NDArray[np.int64]:
    """Ties in the order of the tools."""
    if 0 < limit < len(scores):
        edge = np.partition(scores, -limit)[-limit]
        among = np.flatnonzero(scores >= edge)
    else:
        among = np.arange(len(scores))
    return among[np.argsort(-scores[among], kind="stable")][: max(limit, 0)]


def _stretch(parts: Parts) -> float:
    """By what strangers' requests are to it: some models put everything close together."""
    apart = float((parts.background @ parts.tools.T).std()) if len(parts.tools) else 0.0
    return min(max(_USUAL_SPREAD / max(apart, 1e-6), 1 / _MOST_STRETCH), _MOST_STRETCH)


def _documents(tools: Sequence[ToolText], stem: Stem, reuse: SearchIndex | None) -> list[Document]:
    known = {} if reuse is None else dict(zip(reuse.tools, reuse.lexicon.documents, strict=True))
    return [known.get(tool) or tool_document(tool, stem) for tool in tools]


def _coverage(
    texts: IndexTexts, static: Parts | None, lexicon: Lexicon, stem: Stem
) -> NameCoverage | None:
    if static is None:
        return None
    rarity = [lexicon.rarity_of(stem(word)) for word in texts.vocabulary]
    return NameCoverage.of(texts.names, texts.vocabulary, static.vocabulary, rarity)
