"""`just bench bridge`, on three thousand messages."""

import json
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.bridge_cast import LABELS, drawn_cast
from benchmarks.bridge_child import Sizes, measured
from benchmarks.bridge_corpus import Corpus
from benchmarks.bridge_report import report
from benchmarks.bridge_vocabulary import vocabulary
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import system_entropy
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.ids import SpaceId
from tests.contracts.doors import postgres_doors
from tests.interfaces.cli.house import ScriptedHouse

SPACE = SpaceId(UUID(int=1))
SMALL = Sizes(
    messages=3_000,
    conversations=12,
    agents=10,
    people=2,
    vectors=1_000,
    graph=200,
    rounds=1,
    asked=8,
    sends=1,
    plans=3,
)
FIGURES = (
    "unread_p50_ms",
    "unread_exact",
    "page_ratio",
    "fts_p50_ms",
    "vector_recall_min",
    "send_ratio",
    "push_p50_ms",
)


def _corpus(seed: int = 1) -> Corpus:
    cast = drawn_cast(SPACE, seed, conversations=12, agents=10, people=2)
    return Corpus(cast, vocabulary(), 2_000, seed)


def test_the_same_seed_gives_the_same_corpus_and_another_another() -> None:
    one, again, other = ([*_corpus(seed).lines()] for seed in (1, 1, 2))

    assert one == again
    assert one != other


def test_nobody_says_or_takes_part_in_what_they_may_not_see() -> None:
    corpus = _corpus()
    cast = corpus.cast

    for line in corpus.lines():
        label, talk = LABELS[line.label], cast.talks[line.talk]
        assert label.covers(LABELS[talk.label])
        assert cast.everybody[line.sender].clearance.covers(label)
        assert line.sender in talk.members
    assert {talk.label for talk in cast.talks} == set(range(len(LABELS)))


def test_places_have_no_gaps_and_what_is_counted_is_what_was_said() -> None:
    corpus = _corpus()
    lines = [*corpus.lines()]

    for where in range(len(corpus.cast.talks)):
        said = [line for line in lines if line.talk == where]
        counted = Counter(line.label for line in said if not line.deleted)
        assert [line.seq for line in said] == [*range(1, len(said) + 1)]
        assert [counted[label] for label in range(len(LABELS))] == [
            *corpus.counted(where, len(said))
        ]


@pytest.mark.postgres
@pytest.mark.requirement("bridge:bench:names")
async def test_it_measures_under_the_names_that_are_promised(
    embedded_database: Addresses, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with open_pool(embedded_database.app, 4) as pool:
        buses = [PostgresBus(embedded_database.app, system_entropy) for _ in range(2)]
        root = await postgres_doors(Transactions(pool), *buses).founded("home")
    steps: list[str] = []

    found = await measured(embedded_database, root.space, SMALL, steps.append)
    pushed = {"push_p50_ms": 12.0, "push_p95_ms": 20.0, "pushes_lost": 0}
    report({**found, **pushed}, SMALL).tell(Terminal(services=ScriptedHouse(tmp_path), json=True))

    told = json.loads(capsys.readouterr().out)
    assert all(name in told for name in FIGURES)
    assert told["unread_exact"] is True
    assert told["conditions"]["unread_wrong"] == []
    assert told["conditions"]["unread_median"] > 0
    assert told["vector_recall_min"] > 0.9
    assert told["conditions"]["graphs"] > 0
    assert told["conditions"]["rare_p50_ms"] > 0
    assert told["baseline"]["bare_inserts_per_s"] > 0
    assert told["buffers"]["messages"] == [3_000, 9_000]
    assert all(len(told["buffers"][name]) == 2 for name in ("unread", "page", "send"))
    assert min(told["buffers"]["send"]) > 20, "it was refused before it wrote anything"
    assert steps[0] == "making 3,000 messages: 0"
