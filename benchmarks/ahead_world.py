"""A small company's files, repositories, tables and notes, the same for the same seed.

Made before any predictor was, and for the benchmark alone: what the agents of `bench ahead` work
on is real to the servers that they ask, and invented by us.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final


def _words(text: str) -> list[str]:
    return text.split()


NOUNS: Final = _words(
    "report budget invoice ledger roadmap summary minutes contract survey forecast inventory "
    "schedule policy manual release audit backlog incident metrics review payroll onboarding "
    "training campaign pricing shipment warranty catalogue proposal analysis"
)
ADJECTIVES: Final = _words(
    "north south draft final annual weekly internal legacy spring autumn retail mobile core edge "
    "alpha beta global local rapid quiet"
)
PEOPLE: Final = _words(
    "Ada Boris Chen Dalia Emil Farah Goran Hana Ivo Jana Kofi Lena Milo Nadia Omar Petra Quinn "
    "Rosa Sven Tara Uma Viktor Wanda Xenia Yusuf Zoe"
)
PROJECTS: Final = _words(
    "Aurora Basalt Cobalt Drift Ember Fjord Garnet Harbor Indigo Juniper Krill Lotus Marble "
    "Nimbus Onyx Pelican"
)
ZONES: Final = _words(
    "Europe/Paris Asia/Tokyo America/New_York Europe/Warsaw Australia/Sydney America/Sao_Paulo "
    "Asia/Kolkata Africa/Nairobi"
)
ENDINGS: Final = ("md", "txt", "csv", "json", "py", "yaml")
TABLES: Final = {
    "customers": ("name", "city", "region", "owner"),
    "orders": ("customer_id", "product_id", "status", "amount", "created_at"),
    "products": ("name", "category", "price"),
    "shipments": ("order_id", "region", "status"),
    "tickets": ("customer_id", "owner", "status", "created_at"),
    "employees": ("name", "city", "category"),
    "payments": ("order_id", "amount", "status"),
    "visits": ("customer_id", "created_at", "score"),
}
_STATES: Final = ("open", "closed", "waiting", "lost")
_FOLDERS: Final = 8
_REPOSITORIES: Final = 6
_BEGAN: Final = 1_767_225_600
"""The first of January 2026: commits have the same hashes each time."""


@dataclass(frozen=True, slots=True)
class Repository:
    path: str
    files: Sequence[str]
    messages: Sequence[str]
    branches: Sequence[str]

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True, slots=True)
class World:
    root: str
    folders: Mapping[str, Sequence[str]]
    """By path, the names in it as they are at the beginning; work adds some."""
    repositories: Sequence[Repository]
    works_on: Mapping[str, Sequence[str]]
    """By person, the projects."""

    @property
    def database(self) -> str:
        return f"{self.root}/company.sqlite"

    @property
    def memory(self) -> str:
        return f"{self.root}/memory.jsonl"


def make_world(root: Path, seed: int) -> World:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    chance = Random(f"world {seed}")  # noqa: S311 # content, not secrets
    folders = _folders(root, chance)
    repositories = [
        _repository(root / "repositories" / PROJECTS[_FOLDERS + number].lower(), chance)
        for number in range(_REPOSITORIES)
    ]
    world = World(str(root), folders, repositories, _works_on(chance))
    _tables(Path(world.database), chance)
    _memory(Path(world.memory), world, chance)
    return world


def _works_on(chance: Random) -> Mapping[str, Sequence[str]]:
    return {person: chance.sample(PROJECTS, chance.randint(1, 3)) for person in PEOPLE}


def _folders(root: Path, chance: Random) -> Mapping[str, Sequence[str]]:
    made: dict[str, Sequence[str]] = {}
    for project in PROJECTS[:_FOLDERS]:
        above = root / f"{chance.choice(ADJECTIVES)}-{project.lower()}"
        for subject in chance.sample(NOUNS, chance.randint(3, 5)):
            folder = above / subject
            folder.mkdir(parents=True)
            made[str(folder)] = _documents(folder, chance)
    return made


def _documents(folder: Path, chance: Random) -> Sequence[str]:
    names = sorted(
        {
            f"{chance.choice(ADJECTIVES)}_{chance.choice(NOUNS)}{chance.randint(1, 99)}."
            f"{chance.choice(ENDINGS)}"
            for _ in range(chance.randint(4, 11))
        }
    )
    for name in names:
        other = f"{folder}/{chance.choice(names)}"
        (folder / name).write_text(_content(name, other, chance), encoding="utf-8")
    return names


def _content(name: str, other: str, chance: Random) -> str:
    if name.endswith(".json"):
        settings = {
            "owner": chance.choice(PEOPLE),
            "timezone": chance.choice(ZONES),
            "table": chance.choice(list(TABLES)),
            "limit": chance.randint(3, 40),
            "source": other,
        }
        return json.dumps(settings, indent=1)
    if name.endswith(".py"):
        return "".join(
            f"def {chance.choice(NOUNS)}_{number}(x):\n    return x * {chance.randint(2, 9)}\n\n\n"
            for number in range(chance.randint(1, 4))
        )
    if name.endswith(".csv"):
        rows = [f"{chance.choice(NOUNS)},{chance.randint(1, 500)}" for _ in range(20)]
        return "\n".join(["item,amount", *rows, ""])
    lines = [
        " ".join(chance.choices([*NOUNS, *ADJECTIVES], k=9)).capitalize() + "."
        for _ in range(chance.randint(3, 40))
    ]
    keeper = f"Kept by {chance.choice(PEOPLE)} for {chance.choice(PROJECTS)}."
    return "\n".join([*lines, keeper, f"The figures behind this are in {other}, as agreed.", ""])


def _repository(path: Path, chance: Random) -> Repository:
    path.mkdir(parents=True)
    _git(path, 0, "init", "-q", "-b", "main")
    files: list[str] = ["src/settings.py"]
    messages: list[str] = []
    for number in range(chance.randint(12, 25)):
        known = not messages or chance.random() < 0.6
        fresh = f"src/{chance.choice(NOUNS)}_{chance.choice(ADJECTIVES)}.py"
        name = chance.choice(files) if known else fresh
        files += [] if name in files else [name]
        (path / name).parent.mkdir(exist_ok=True)
        _append(path / name, f"{chance.choice(NOUNS)} = {chance.randint(1, 999)}\n")
        verb = chance.choice(["fix", "add", "drop", "tune", "rename"])
        messages.append(f"{verb} {chance.choice(ADJECTIVES)} {chance.choice(NOUNS)}")
        _git(path, number, "add", "-A")
        _git(path, number, "commit", "-qm", messages[-1])
        if number in {5, 9}:
            kind = chance.choice(["feature", "hotfix"])
            _git(path, number, "branch", f"{kind}/{chance.choice(NOUNS)}-{chance.randint(1, 99)}")
    there = [name for name in files if (path / name).exists()]
    _append(path / chance.choice(there), "unsaved = 1\n")
    told = _git(path, 0, "branch", "--format=%(refname:short)").split()
    return Repository(str(path), there, messages, [name for name in told if name != "main"])


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(line)


def _git(path: Path, hours: int, *arguments: str) -> str:
    when = f"{_BEGAN + hours * 3600} +0000"
    who = {
        "GIT_AUTHOR_NAME": "bench",
        "GIT_AUTHOR_EMAIL": "bench@example.org",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": "bench",
        "GIT_COMMITTER_EMAIL": "bench@example.org",
        "GIT_COMMITTER_DATE": when,
    }
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        env={**os.environ, **who},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _tables(path: Path, chance: Random) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for table, columns in TABLES.items():
            named = ", ".join(f"{column} {_type(column)}" for column in columns)
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {named})")
            places = ", ".join("?" * len(columns))
            database.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})",  # noqa: S608 # our own names
                [[_cell(column, chance) for column in columns] for _ in range(120)],
            )


def _type(column: str) -> str:
    return "INTEGER" if column.endswith("_id") or column in {"amount", "price", "score"} else "TEXT"


def _cell(column: str, chance: Random) -> str | int:
    if _type(column) == "INTEGER":
        return chance.randint(1, 120)
    words = {
        "status": _STATES,
        "owner": PEOPLE,
        "city": ("Oslo", "Lima", "Porto", "Quito", "Split", "Turin"),
        "region": ADJECTIVES[:6],
        "category": NOUNS[:6],
        "created_at": [f"2026-{month:02}-{day:02}" for month in (1, 2, 3) for day in (4, 11, 19)],
    }
    return chance.choice(words.get(column, [f"{a} {n}" for a in ADJECTIVES for n in NOUNS[:9]]))


def _memory(path: Path, world: World, chance: Random) -> None:
    homes = {Path(folder).parent.name.split("-")[-1]: folder for folder in world.folders}
    lines = [_entity("person", person, _of_person(chance)) for person in PEOPLE]
    for number, project in enumerate(PROJECTS):
        repository = world.repositories[number % len(world.repositories)].path
        home = homes.get(project.lower(), chance.choice(list(world.folders)))
        lines.append(
            _entity("project", project, [f"documents in {home}", f"repository {repository}"])
        )
    for person, projects in world.works_on.items():
        lines += [
            {"type": "relation", "from": person, "to": each, "relationType": "works_on"}
            for each in projects
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _of_person(chance: Random) -> list[str]:
    return [f"works in the {chance.choice(ADJECTIVES)} team", f"timezone {chance.choice(ZONES)}"]


def _entity(kind: str, name: str, observations: list[str]) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": observations}
