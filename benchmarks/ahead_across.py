"""Work that crosses servers."""

# ruff: noqa: S608 # the queries of an agent, to a database of ours

import ast
import json
import re
from pathlib import Path
from random import Random

from benchmarks.ahead_work import (
    Ask,
    Task,
    Template,
    Work,
    files,
    git,
    memory,
    now_and_then,
    query,
    time_in,
)
from benchmarks.ahead_world import PEOPLE, PROJECTS, ZONES, World

_HOURS = ("09:00", "09:00", "12:30", "17:00")


def _convert(source: str, target: str, hour: str) -> Ask:
    zones = {"source_timezone": source, "time": hour, "target_timezone": target}
    return Ask("time", "convert_time", zones)


def _settings(world: World, chance: Random) -> str:
    found = [
        f"{folder}/{name}"
        for folder, names in world.folders.items()
        for name in names
        if name.endswith(".json")
    ]
    return chance.choice(found)


def _observed(text: str, begin: str) -> str:
    """What an observation of the first entity says after these words."""
    told = json.loads(text)["entities"][0]["observations"]
    return str(next(each for each in told if each.startswith(begin))).removeprefix(begin).strip()


def owner_time(world: World, chance: Random) -> Task:
    path, zone = _settings(world, chance), chance.choice(ZONES)
    converting = chance.random() < 0.5
    wish = (
        f"Open {path} and convert 09:00 of its time zone to {zone}"
        if converting
        else f"What time is it for the owner of {path}?"
    )

    def work() -> Work:
        told = json.loads((yield files("read_text_file", path)))
        if converting:
            yield _convert(told["timezone"], zone, "09:00")
        else:
            yield time_in(told["timezone"])
        yield from now_and_then(chance, 0.4, memory("search_nodes", query=told["owner"]))

    return Task(wish, chance.choice(["current time in a time zone", "convert a time"]), work())


def call_now(_world: World, chance: Random) -> Task:
    person = chance.choice(PEOPLE)
    wish = chance.choice([f"Can I call {person} now?", f"What is the local time for {person}?"])

    def work() -> Work:
        zone = _observed((yield memory("open_nodes", names=[person])), "timezone")
        yield time_in(zone)
        yield from now_and_then(
            chance, 0.3, _convert(zone, chance.choice(ZONES), chance.choice(_HOURS))
        )

    return Task(
        wish, chance.choice(["current time in a time zone", "search what is known"]), work()
    )


def meeting(_world: World, chance: Random) -> Task:
    one, other = chance.sample(PEOPLE, 2)
    hour = chance.choice(_HOURS)
    wish = f"When is {hour} of {one} for {other}?"

    def work() -> Work:
        first = _observed((yield memory("open_nodes", names=[one])), "timezone")
        second = _observed((yield memory("open_nodes", names=[other])), "timezone")
        yield _convert(first, second, hour)
        yield from now_and_then(chance, 0.3, time_in(second))

    return Task(wish, chance.choice(["convert a time", "search what is known"]), work())


def ticket_owner(_world: World, chance: Random) -> Task:
    number = chance.randint(1, 120)
    wish = chance.choice(
        [f"Who has ticket {number}, and are they up?", f"Reach out on ticket {number}"]
    )

    def work() -> Work:
        rows = ast.literal_eval((yield query(f"SELECT * FROM tickets WHERE id = {number}")))
        owner = rows[0]["owner"]
        zone = _observed((yield memory("open_nodes", names=[owner])), "timezone")
        yield time_in(zone)
        customer = f"SELECT * FROM customers WHERE id = {rows[0]['customer_id']}"
        yield from now_and_then(chance, 0.5, query(customer))

    return Task(wish, chance.choice(["find a record", "current time in a time zone"]), work())


def brief(_world: World, chance: Random) -> Task:
    project = chance.choice(PROJECTS)
    wish = chance.choice([f"Brief me on {project}", f"Where does {project} stand?"])

    def work() -> Work:
        text = yield memory("open_nodes", names=[project])
        folder, path = _observed(text, "documents in"), _observed(text, "repository")
        found = yield files("list_directory", folder)
        names = re.findall(r"^\[FILE\] (\S+\.(?:md|txt))$", found, re.MULTILINE)
        if names:
            yield files("read_text_file", f"{folder}/{names[0]}")
        yield git("git_log", path, max_count=5)
        yield from now_and_then(chance, 0.5, git("git_status", path))

    return Task(wish, chance.choice(["search what is known", "state of a project"]), work())


def morning(world: World, chance: Random) -> Task:
    path, person = world.repositories[0].path, PEOPLE[0]
    wish = chance.choice(["My morning round, please", "What is new this morning?"])

    def work() -> Work:
        yield time_in("Europe/Paris")
        yield git("git_status", path)
        yield query("SELECT COUNT(*) FROM tickets WHERE status = 'open'")
        yield from now_and_then(chance, 0.7, memory("open_nodes", names=[person]))
        yield from now_and_then(chance, 0.5, git("git_log", path, max_count=5))

    return Task(wish, chance.choice(["current time", "morning round"]), work())


def settings_to_table(world: World, chance: Random) -> Task:
    path = _settings(world, chance)
    wish = chance.choice([f"Show the rows that {path} asks for", f"Apply {path} to the database"])

    def work() -> Work:
        told = json.loads((yield files("read_text_file", path)))
        yield from now_and_then(
            chance, 0.7, Ask("sqlite", "describe_table", {"table_name": told["table"]})
        )
        yield query(f"SELECT * FROM {told['table']} LIMIT {told['limit']}")
        yield from now_and_then(chance, 0.4, files("read_text_file", told["source"]))

    return Task(wish, chance.choice(["query a database", "read settings"]), work())


def handed_over(world: World, chance: Random) -> Task:
    folder = chance.choice(list(world.folders))
    person = chance.choice(PEOPLE)
    wish = f"Hand {folder} over to {person}"

    def work() -> Work:
        found = yield files("list_directory", folder)
        names = re.findall(r"^\[FILE\] (\S+)$", found, re.MULTILINE)
        yield memory("open_nodes", names=[person])
        words = f"{Path(folder).name}: {len(names)} documents, from now on with {person}."
        yield Ask("filesystem", "write_file", {"path": f"{folder}/OWNER.md", "content": words})
        kept = [{"entityName": person, "contents": [f"keeps {folder}"]}]
        yield memory("add_observations", observations=kept)
        yield from now_and_then(chance, 0.5, files("read_text_file", f"{folder}/OWNER.md"))

    return Task(wish, chance.choice(["write a file", "add to what is known"]), work())


TEMPLATES: tuple[Template, ...] = (
    owner_time,
    call_now,
    meeting,
    ticket_owner,
    brief,
    morning,
    settings_to_table,
    handed_over,
)
