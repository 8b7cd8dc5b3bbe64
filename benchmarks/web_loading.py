"""The runs of `just bench web`: copies of those that were carried out, over two weeks."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final

import psycopg
from psycopg import sql

from benchmarks.web_copies import numbered
from benchmarks.web_families import SHARED, Families, Family
from benchmarks.web_seeds import Seed
from benchmarks.web_sizes import Sizes
from portico.adapters.system.clock import SystemClock
from portico.kernel.ids import uuid7

_SPAN: Final = timedelta(days=14)
_YOUNG: Final = timedelta(hours=6)
"""What waits for a person has not waited for longer."""
_AT_ONCE: Final = 500

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Copy:
    family: int
    age: timedelta


def load_runs(
    admin: psycopg.Connection, seeds: Sequence[Seed], sizes: Sizes, progress: Progress
) -> None:
    chance = Random(11)  # noqa: S311 # the same ones on every run
    admin.execute("SET TimeZone = 'UTC'")
    families = Families(admin)
    found = [families.of(seed.run) for seed in seeds]
    [(there,)] = admin.execute("SELECT count(*) FROM portico.run")
    counts = copies_wanted(seeds, found, sizes, int(there))
    copies = [
        Copy(place, _age(seed, chance))
        for place, (seed, many) in enumerate(zip(seeds, counts, strict=True))
        for _ in range(many)
    ]
    copies.sort(key=lambda copy: copy.age, reverse=True)
    with admin.transaction():
        # What refers to what is right by how it is made.
        admin.execute("SET LOCAL session_replication_role = replica")
        _Writing(admin, families, found, chance).write(copies, progress)


def copies_wanted(
    seeds: Sequence[Seed], families: Sequence[Family], sizes: Sizes, there: int
) -> Sequence[int]:
    """Of each, so that there are as many runs as are wanted, and as many requests and debates."""
    wanted = {"waiting": sizes.waiting, "debate": sizes.debates, "run": 0}
    likes = Counter(seed.like for seed in seeds)
    counts = [wanted[seed.like] // likes[seed.like] for seed in seeds]
    taken = sum(many * family.runs for many, family in zip(counts, families, strict=True))
    shares = sum(seed.share * family.runs for seed, family in zip(seeds, families, strict=True))
    left = max(0, sizes.runs - there - taken)
    return [
        many or round(left * seed.share / shares) for seed, many in zip(seeds, counts, strict=True)
    ]


def _age(seed: Seed, chance: Random) -> timedelta:
    longest = _YOUNG if seed.like == "waiting" else _SPAN
    return longest * float(chance.random() ** 1.5) + timedelta(minutes=5)


class _Writing:
    def __init__(
        self,
        admin: psycopg.Connection,
        families: Families,
        found: Sequence[Family],
        chance: Random,
    ) -> None:
        self._admin = admin
        self._columns = families.columns
        self._found = found
        self._chance = chance
        self._now = SystemClock().now()
        self._next = {topic: self._last(topic) + 1 for topic in SHARED}

    def write(self, copies: Sequence[Copy], progress: Progress) -> None:
        for start in range(0, len(copies), _AT_ONCE):
            progress(f"making {len(copies):,} copies of runs: {start:,}")
            self._some(copies[start : start + _AT_ONCE])
        for topic, following in self._next.items():
            self._admin.execute(
                "UPDATE portico.stream SET last = %s WHERE topic = %s", [following - 1, topic]
            )

    def _some(self, copies: Iterable[Copy]) -> None:
        texts: dict[str, list[str]] = {}
        for copy in copies:
            family = self._found[copy.family]
            began = self._now - copy.age
            ids = [uuid7(began, self._chance.randbytes(8)) for _ in family.ids]
            back = family.began - began
            for table, rows in family.rows.items():
                texts.setdefault(table, []).append(rows.copied(ids, back))
            for topic, rows in family.told.items():
                text, self._next[topic] = numbered(rows.copied(ids, back), self._next[topic])
                texts.setdefault("event", []).append(text)
        for table, copied in texts.items():
            self._copy(table, copied)

    def _copy(self, table: str, rows: Iterable[str]) -> None:
        into = sql.SQL("COPY portico.{} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, self._columns[table]))
        )
        with self._admin.cursor() as cursor, cursor.copy(into) as copy:
            copy.write("".join(rows))

    def _last(self, topic: str) -> int:
        asked = "SELECT last FROM portico.stream WHERE topic = %s"
        row = self._admin.execute(asked, [topic]).fetchone()
        return 0 if row is None else int(row[0])
