"""The figures of `just bench bridge`, and what they were measured beside."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.bridge_cast import CLEARANCES, LABELS
from benchmarks.bridge_child import Sizes
from benchmarks.bridge_sending import WRITERS
from portico.bench.report import Report
from portico.kernel.json import JsonValue

_FIGURES: Final = (
    "unread_p50_ms",
    "unread_exact",
    "page_ratio",
    "fts_p50_ms",
    "vector_recall_min",
    "send_ratio",
    "push_p50_ms",
)
_BASELINE: Final = (
    "unread_counted_one_by_one_p50_ms",
    "bare_page_p50_ms",
    "bare_inserts_per_s",
    "vector_exact_p50_ms",
)
_BESIDE: Final = (
    "postgresql",
    "pgvector",
    "unread_of_each_p50_ms",
    "unread_in_database_p50_ms",
    "inbox_p50_ms",
    "unread_median",
    "unread_wrong",
    "page_p50_ms",
    "page_in_database_p50_ms",
    "rare_p50_ms",
    "common_p50_ms",
    "between_p50_ms",
    "both_p50_ms",
    "rare_in_database_p50_ms",
    "common_in_database_p50_ms",
    "between_in_database_p50_ms",
    "both_in_database_p50_ms",
    "fts_p95_ms",
    "rare_found",
    "common_found",
    "vector_recall",
    "vector_p50_ms",
    "graphs",
    "graphs_asked",
    "graphs_s",
    "embedded_per_s",
    "sends_per_s",
    "send_store_ratio",
    "store_sends_per_s",
    "push_p95_ms",
    "pushes_lost",
)

Measured = Mapping[str, Any]


def report(found: Measured, sizes: Sizes) -> Report:
    figures = _some(found, _FIGURES)
    if "buffers" in found:
        figures["buffers"] = found["buffers"]
    return Report(
        benchmark="bridge",
        corpus=_corpus(found, sizes),
        figures=figures,
        baseline=_some(found, _BASELINE),
        conditions={
            "rounds": sizes.rounds,
            **_some(found, _BESIDE),
            "unread_is": "the total of each agent in turn, over all that it takes part in, by the "
            "store; "
            "beside it by conversation, in the database, and the whole inbox, with titles and what "
            "is overdue",
            "page_is": "the 50 before somewhere in a conversation, for somebody who takes part, as "
            "messages; without: the same statement as the administrator, without walls and filters",
            "sends_are": f"{WRITERS} writers in one process, each to conversations of its own, "
            "with a key; without: one INSERT of the same columns into the same table; by the "
            "store: without what the use case asks first",
            "push_is": "from when a send has returned until a follower of another process has its "
            "wake-up over server-sent events",
        },
    )


def _corpus(found: Measured, sizes: Sizes) -> str:
    labels = ", ".join(map(str, LABELS))
    return (
        f"{sizes.messages:,} messages in {found['conversations']} conversations "
        f"({found['closed']} of them closed, of {found['shortest']:,} to {found['longest']:,} "
        f"messages), {sizes.agents} agents and {found['people']} people who take part in "
        f"{found['takes_part_in']:.0f} each; labels: {labels}; {len(CLEARANCES)} clearances; texts "
        f"of about 20 words out of {found['vocabulary']:,}, as often as their rank says (Zipf); "
        f"searches: half for one of {found['rare_words']:,} words that are in 50 messages at "
        f"most, half for one of {found['common_words']} that are in every twentieth at least; "
        f"{found['vectors']:,} vectors of 256 numbers by the table of words, {found['of_labels']}; "
        "drawn by lot, on embedded PostgreSQL"
    )


def _some(found: Measured, names: tuple[str, ...]) -> dict[str, JsonValue]:
    return {name: _short(found[name]) for name in names}


def _short(value: Any) -> JsonValue:  # noqa: ANN401 # JSON
    short: JsonValue = round(value, 3) if isinstance(value, float) else value
    return short
