"""Finding by meaning in `just bench bridge`: as the product does it, label by label, beside
comparing with every vector that somebody may see."""

import time
from collections import Counter
from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
from psycopg import sql

from benchmarks.bridge_cast import LABELS
from benchmarks.bridge_corpus import Corpus, Line
from portico.adapters.cross_domain.embeddings import MessageMeaning
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.postgres.bridge.search import (
    MessageGraphs,
    PostgresMessageSearch,
    vector_text,
)
from portico.adapters.postgres.transaction import Transactions
from portico.kernel.principal import Principal

_NEAREST: Final = 10
_SAME: Final = 1e-6
_COLUMNS: Final[LiteralString] = (
    "space_id, message_id, conversation_id, level, compartments, label, closed, model, embedding"
)
_REACHED: Final[LiteralString] = """
    INSERT INTO portico.embedding_progress (space_id, conversation_id, model, seq)
    SELECT space_id, conversation_id, %(model)s, last_seq FROM portico.conversation
"""
_EXACT: Final[LiteralString] = """
    SELECT (v.embedding::public.halfvec(256)) OPERATOR(public.<=>) %(vector)s::public.halfvec AS far
      FROM portico.message_vector v
     WHERE v.space_id = %(space)s AND v.level <= %(level)s
       AND v.compartments <@ %(compartments)s::text[] AND v.embedding IS NOT NULL
       AND (NOT v.closed OR EXISTS (
            SELECT FROM portico.participant t WHERE t.space_id = v.space_id
               AND t.conversation_id = v.conversation_id AND t.principal_id = %(principal)s))
     ORDER BY far LIMIT %(limit)s
"""

_ASKED: Final[LiteralString] = """
    SELECT FROM pg_stat_user_indexes WHERE indexrelname LIKE 'message\\_near\\_%' AND idx_scan > 0
"""

Figures = dict[str, Any]


class Meanings:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._meaning = MessageMeaning(StaticTable())

    async def load(
        self, admin: psycopg.Connection, owner: str, lines: Sequence[Line], many: int
    ) -> Figures:
        """The vectors of these, and a graph for each label that has `many`, made by the product."""
        model = self._meaning.model
        began = time.perf_counter()
        vectors = await self._meaning([line.body for line in lines])
        embedded = time.perf_counter()
        into = sql.SQL("COPY portico.message_vector ({}) FROM STDIN").format(sql.SQL(_COLUMNS))
        with admin.transaction(), admin.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            with cursor.copy(into) as copy:
                for line, vector in zip(lines, vectors, strict=True):
                    copy.write("\t".join(self._row(line, vector, model)) + "\n")
            cursor.execute(_REACHED, {"model": model})
        copied = time.perf_counter()
        made = await MessageGraphs(owner, many=many).arrange(model)
        admin.execute("ANALYZE portico.message_vector")
        return {
            "vectors": len(lines),
            "graphs": made,
            "of_labels": _of_labels(self._corpus, lines, many),
            "embedded_per_s": len(lines) / (embedded - began),
            "graphs_s": time.perf_counter() - copied,
        }

    def _row(self, line: Line, vector: Sequence[float], model: str) -> Sequence[str]:
        talk, label = self._corpus.cast.talks[line.talk], LABELS[line.label]
        return (
            str(self._corpus.cast.space.value),
            str(line.id),
            str(talk.id),
            str(int(label.level)),
            "{" + ",".join(sorted(label.compartments)) + "}",
            str(line.label + 1),
            "t" if talk.closed else "f",
            model,
            vector_text(vector) if any(vector) else "\\N",
        )

    async def recall(
        self, transactions: Transactions, admin: psycopg.Connection, queries: int
    ) -> Figures:
        """Of the nearest ten, at each clearance by itself."""
        speech, chance = self._corpus.speech, Random(11)  # noqa: S311 # the same ones
        topics = [chance.randrange(len(self._corpus.cast.talks)) for _ in range(queries)]
        texts = [speech.text(speech.numbers(topic)) for topic in topics]
        vectors = [list(map(float, each)) for each in np.asarray(await self._meaning(texts))]
        search = PostgresMessageSearch(transactions, lambda: self._meaning.model)
        recalls, taken, exact = {}, [], []
        for clearance, who in self._corpus.cast.by_clearance.items():
            found = []
            for vector in vectors:
                began = time.perf_counter()
                hits = await search.by_meaning(
                    who, vector, project=None, conversation=None, max_label=None, limit=_NEAREST
                )
                between = time.perf_counter()
                truth = _nearest(admin, who, vector)
                exact.append(time.perf_counter() - between)
                taken.append(between - began)
                found.append(_recall([1 - hit.score for hit in hits], truth))
            recalls[str(clearance)] = sum(found) / len(found)
        return {
            "vector_recall_min": min(recalls.values()),
            "vector_recall": {name: round(each, 4) for name, each in recalls.items()},
            "vector_p50_ms": median(taken) * 1_000,
            "vector_exact_p50_ms": median(exact) * 1_000,
            "graphs_asked": len(admin.execute(_ASKED).fetchall()),
        }


def _of_labels(corpus: Corpus, lines: Sequence[Line], many: int) -> str:
    """Which have a graph, and which have not enough for one; of closed conversations none has."""
    counts = Counter(line.label for line in lines if not corpus.cast.talks[line.talk].closed)
    told = {
        enough: ", ".join(
            f"{LABELS[label]} {count:,}"
            for label, count in sorted(counts.items())
            if (count >= many) is enough
        )
        for enough in (True, False)
    }
    return f"with a graph: {told[True] or 'none'}, without: {told[False] or 'none'}"


def _nearest(admin: psycopg.Connection, who: Principal, vector: Sequence[float]) -> list[float]:
    asked = {
        "vector": vector_text(vector),
        "space": who.space.value,
        "principal": who.id.value,
        "level": int(who.clearance.level),
        "compartments": sorted(who.clearance.compartments),
        "limit": _NEAREST,
    }
    with admin.transaction():
        admin.execute("SET LOCAL enable_indexscan = off")
        return [far for (far,) in admin.execute(_EXACT, asked)]


def _recall(found: Sequence[float], truth: Sequence[float]) -> float:
    """Those as near as the last of the nearest are as good as it."""
    if not truth:
        return 1.0
    return sum(far <= truth[-1] + _SAME for far in found) / len(truth)
