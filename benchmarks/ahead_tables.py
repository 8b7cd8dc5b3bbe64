"""Work on a database, and on what people know of each other."""

# ruff: noqa: S608 # the queries of an agent, to a database of ours

import ast
import json
from random import Random
from typing import Any

from benchmarks.ahead_work import Ask, Task, Template, Work, memory, now_and_then, query
from benchmarks.ahead_world import PEOPLE, PROJECTS, TABLES, World

_LIST = Ask("sqlite", "list_tables")


def _describe(table: str) -> Ask:
    return Ask("sqlite", "describe_table", {"table_name": table})


def _rows(text: str) -> list[dict[str, Any]]:
    """What the server gives is a list as Python writes one."""
    return list(ast.literal_eval(text)) if text.startswith("[") else []


def explore(_world: World, chance: Random) -> Task:
    table = chance.choice(list(TABLES))
    wish = chance.choice(
        [f"How many {table} do we have, and what do they look like?", f"The first rows of {table}"]
    )

    def work() -> Work:
        yield _LIST
        yield _describe(table)
        if chance.random() < 0.5:
            yield query(f"SELECT COUNT(*) FROM {table}")
        yield from now_and_then(
            chance, 0.7, query(f"SELECT * FROM {table} LIMIT {chance.choice([5, 10])}")
        )

    return Task(wish, chance.choice(["describe a table", "query a database"]), work())


def break_down(_world: World, chance: Random) -> Task:
    table = chance.choice(["orders", "tickets", "shipments", "customers", "products"])
    column = chance.choice([c for c in TABLES[table] if c in {"status", "region", "category"}])
    wish = chance.choice(
        [f"Break {table} down by {column}", f"Which {column} do {table} have most?"]
    )
    counted = f"SELECT {column}, COUNT(*) AS n FROM {table} GROUP BY {column} ORDER BY n DESC"

    def work() -> Work:
        yield from now_and_then(chance, 0.5, _LIST)
        yield _describe(table)
        rows = _rows((yield query(counted)))
        top = f"SELECT * FROM {table} WHERE {column} = '{rows[0][column]}' LIMIT 10"
        yield from now_and_then(chance, 0.6, query(top))

    return Task(wish, chance.choice(["group and count rows", "query a database"]), work())


def joined(_world: World, chance: Random) -> Task:
    few, many, key = chance.choice(
        [
            ("customers", "orders", "customer_id"),
            ("customers", "tickets", "customer_id"),
            ("products", "orders", "product_id"),
            ("orders", "payments", "order_id"),
        ]
    )
    wish = chance.choice([f"Which {few} have the most {many}?", f"Rank {few} by their {many}"])

    def work() -> Work:
        yield _LIST
        yield _describe(few)
        yield _describe(many)
        rows = _rows(
            (
                yield query(
                    f"SELECT f.id, COUNT(*) AS n FROM {few} f JOIN {many} m ON m.{key} = f.id "
                    "GROUP BY f.id ORDER BY n DESC LIMIT 5"
                )
            )
        )
        first = f"SELECT * FROM {few} WHERE id = {rows[0]['id']}"
        yield from now_and_then(chance, 0.6, query(first))

    return Task(wish, chance.choice(["join two tables", "query a database"]), work())


def gaps(_world: World, chance: Random) -> Task:
    table = chance.choice(list(TABLES))
    column = chance.choice(list(TABLES[table]))
    wish = chance.choice([f"Is {column} ever empty in {table}?", f"Check {table} for gaps"])

    def work() -> Work:
        yield _describe(table)
        yield query(f"SELECT COUNT(*) FROM {table}")
        yield query(f"SELECT COUNT(*) FROM {table} WHERE {column} IS NULL")

    return Task(wish, chance.choice(["count rows", "query a database"]), work())


def customer_file(_world: World, chance: Random) -> Task:
    number = chance.randint(1, 120)
    wish = chance.choice(
        [f"Everything about customer {number}", f"Open the file of customer {number}"]
    )

    def work() -> Work:
        yield query(f"SELECT * FROM customers WHERE id = {number}")
        orders = _rows((yield query(f"SELECT * FROM orders WHERE customer_id = {number}")))
        if orders:
            yield query(f"SELECT * FROM payments WHERE order_id = {orders[0]['id']}")
        yield from now_and_then(
            chance, 0.6, query(f"SELECT * FROM tickets WHERE customer_id = {number}")
        )

    return Task(wish, chance.choice(["find a record", "query a database"]), work())


def note_insight(_world: World, chance: Random) -> Task:
    table = chance.choice(["orders", "payments"])
    wish = f"Note what {table} bring in on average"

    def work() -> Work:
        yield from now_and_then(chance, 0.5, _describe(table))
        rows = _rows((yield query(f"SELECT AVG(amount) AS mean FROM {table}")))
        said = f"The mean of {table} is {rows[0]['mean']}"
        yield Ask("sqlite", "append_insight", {"insight": said})

    return Task(wish, chance.choice(["keep an insight", "average of a column"]), work())


def enter_visit(_world: World, chance: Random) -> Task:
    number, score = chance.randint(1, 120), chance.randint(1, 10)
    wish = f"Enter a visit of customer {number} with score {score}"
    row = f"({number}, '2026-04-01', {score})"

    def work() -> Work:
        yield from now_and_then(chance, 0.6, _describe("visits"))
        yield query(f"SELECT * FROM customers WHERE id = {number}")
        insert = f"INSERT INTO visits (customer_id, created_at, score) VALUES {row}"
        yield Ask("sqlite", "write_query", {"query": insert})
        seen = f"SELECT * FROM visits WHERE customer_id = {number}"
        yield from now_and_then(chance, 0.8, query(seen))

    return Task(wish, chance.choice(["insert a row", "write to a database"]), work())


def close_ticket(_world: World, chance: Random) -> Task:
    person = chance.choice(PEOPLE)
    wish = chance.choice(
        [f"Close the oldest open ticket of {person}", f"{person} is done: close it"]
    )
    opened = f"SELECT * FROM tickets WHERE owner = '{person}' AND status = 'open' ORDER BY id"

    def work() -> Work:
        rows = _rows((yield query(opened)))
        if not rows:
            yield query(f"SELECT * FROM tickets WHERE owner = '{person}'")
            return
        one = rows[0]["id"]
        yield from now_and_then(
            chance, 0.5, query(f"SELECT * FROM customers WHERE id = {rows[0]['customer_id']}")
        )
        update = f"UPDATE tickets SET status = 'closed' WHERE id = {one}"
        yield Ask("sqlite", "write_query", {"query": update})
        yield from now_and_then(chance, 0.7, query(f"SELECT * FROM tickets WHERE id = {one}"))

    return Task(wish, chance.choice(["update a row", "write to a database"]), work())


def projects_of(world: World, chance: Random) -> Task:
    person = chance.choice(PEOPLE)
    wish = chance.choice([f"What is {person} working on?", f"Tell me about {person}'s projects"])

    def work() -> Work:
        known = json.loads((yield memory("search_nodes", query=person)))
        told = [each["to"] for each in known["relations"] if each["from"] == person]
        names = told or list(world.works_on[person])
        if chance.random() < 0.7:
            yield memory("open_nodes", names=names)
        else:
            for name in names[:2]:
                yield memory("open_nodes", names=[name])

    return Task(wish, chance.choice(["search what is known", "relations of a person"]), work())


def people_of(world: World, chance: Random) -> Task:
    project = chance.choice(PROJECTS)
    wish = chance.choice([f"Who is on {project}?", f"Give me the people of {project}"])

    def work() -> Work:
        yield from now_and_then(chance, 0.5, memory("read_graph"))
        yield memory("search_nodes", query=project)
        people = [name for name, works in world.works_on.items() if project in works]
        if people:
            yield memory("open_nodes", names=people)

    return Task(wish, chance.choice(["search what is known", "people of a project"]), work())


def remember(_world: World, chance: Random) -> Task:
    person = chance.choice(PEOPLE)
    fact = f"away in week {chance.randint(1, 52)}"
    wish = f"Remember that {person} is {fact}"

    def work() -> Work:
        yield memory("search_nodes", query=person)
        added = [{"entityName": person, "contents": [fact]}]
        yield memory("add_observations", observations=added)
        yield from now_and_then(chance, 0.6, memory("open_nodes", names=[person]))

    return Task(wish, chance.choice(["remember a fact", "add to what is known"]), work())


def link(_world: World, chance: Random) -> Task:
    person, project = chance.choice(PEOPLE), chance.choice(PROJECTS)
    wish = chance.choice(
        [f"{person} reviews {project} now", f"Make {person} a reviewer of {project}"]
    )

    def work() -> Work:
        yield memory("open_nodes", names=[person])
        yield from now_and_then(chance, 0.6, memory("open_nodes", names=[project]))
        made = [{"from": person, "to": project, "relationType": "reviews"}]
        yield memory("create_relations", relations=made)
        yield from now_and_then(chance, 0.6, memory("open_nodes", names=[person, project]))

    return Task(wish, chance.choice(["relate two things", "add to what is known"]), work())


TEMPLATES: tuple[Template, ...] = (
    explore,
    break_down,
    joined,
    gaps,
    customer_file,
    note_insight,
    enter_visit,
    close_ticket,
    projects_of,
    people_of,
    remember,
    link,
)
