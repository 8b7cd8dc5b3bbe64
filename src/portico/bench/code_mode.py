"""One question, answered by calls and by a program, on two real servers: what a model pays.

Forty invoices are files, and what a currency is worth is in a database: how much has each customer
spent? By calls a model lists the folder, reads all files at once, asks the database, and then has
everything before it; by a program it has the five lines that the program prints.
"""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx2

from portico.bench.clients import McpClient, asked, let_in

FILES: Final = "mcp-server-filesystem"
TABLES: Final = "mcp-server-sqlite"
PROGRAMS: Final = (FILES, TABLES)
_MORE: Final = re.compile(r'\[page 1 of (\d+);.*read_result\(result="(res_[^"]+)"')
_INVOICES: Final = 40
_CUSTOMERS: Final = ("Heron", "Reed", "Otter", "Kingfisher", "Marsh")
_RATES: Final = {"EUR": 1.0, "USD": 0.9, "GBP": 1.2, "JPY": 0.006}
_QUERY: Final = "SELECT currency, rate FROM rates"
_CODE: Final = """\
import asyncio, json
names = (await files__list_directory(path=folder))["content"].split("\\n")
paths = [folder + "/" + name.replace("[FILE] ", "") for name in names if ".json" in name]
rates, *found = await asyncio.gather(
    tables__read_query(query="SELECT currency, rate FROM rates"),
    *[files__read_text_file(path=path) for path in paths],
)
rates = {row["currency"]: row["rate"] for row in json.loads(str(rates).replace("'", '"'))}
total = {}
for text in found:
    invoice = json.loads(text["content"])
    worth = sum([line["amount"] for line in invoice["lines"]]) * rates[invoice["currency"]]
    total[invoice["customer"]] = total.get(invoice["customer"], 0) + worth
for customer in sorted(total):
    print(customer, round(total[customer], 2))
"""


@dataclass(frozen=True, slots=True)
class Way:
    """What one way of answering puts before the model: what it writes, and what it is given."""

    written: int
    given: int
    turns: int

    @property
    def tokens(self) -> int:
        return self.written + self.given

    def told(self) -> dict[str, int]:
        return {
            "tokens": self.tokens,
            "written": self.written,
            "given": self.given,
            "turns": self.turns,
        }


def found_programs(places: str | None) -> Mapping[str, str] | None:
    """Where each of the servers is, and node, which runs one of them; None unless all are."""
    found = {name: shutil.which(name, path=places) for name in PROGRAMS}
    found["node"] = shutil.which("node", path=places) or shutil.which("node")
    there = {name: path for name, path in found.items() if path is not None}
    return there if len(there) == len(found) else None


def code_mode_example(
    client: httpx2.Client,
    model: McpClient,
    count: Callable[[str], int],
    programs: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    """`client` lets the servers in; `model` is shown what a model would be."""
    invoices = folder / "invoices"
    expected = _write_down(invoices, folder / "rates.sqlite")
    files = [programs[FILES], str(invoices)]
    let_in(client, "files", _launch(programs["node"], files))
    tables = ["--db-path", str(folder / "rates.sqlite")]
    let_in(client, "tables", _launch(programs[TABLES], tables))
    # what nobody knows of this tool, its operator does
    asked(client, "PUT", "/effects", {"tools": "tables.read_query", "effect": "local_read"})
    by_calls = _by_calls(model, count, invoices)
    by_program, said = _by_program(model, count, invoices)
    if not all(line in said for line in expected):
        raise AssertionError(f"the program gave another answer: {said[:2000]}")
    return {
        "question": "how much has each of 5 customers spent, by 40 invoices and a table of rates",
        "servers": [FILES, TABLES],
        "by_calls": by_calls.told(),
        "by_program": by_program.told(),
        "reduction": round(1 - by_program.tokens / by_calls.tokens, 4),
    }


def _launch(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": command, "arguments": [*arguments]}


def _by_calls(model: McpClient, count: Callable[[str], int], invoices: Path) -> Way:
    """Each time as few calls as there can be: all files are read by one."""
    paths = [str(path) for path in sorted(invoices.iterdir())]
    turns = (
        ("files.list_directory", {"path": str(invoices)}),
        ("files.read_multiple_files", {"paths": paths}),
        ("tables.read_query", {"query": _QUERY}),
    )
    written = given = 0
    for tool, arguments in turns:
        sent = {"tool": tool, "arguments": arguments}
        found, more = _whole(model, model.called("call_read", sent), count)
        written += count(_compact({"name": "call_read", "arguments": sent})) + more
        given += found
    return Way(written, given, len(turns))


def _whole(
    model: McpClient, result: Mapping[str, Any], count: Callable[[str], int]
) -> tuple[int, int]:
    """Tokens of what it says, all pages of it, and of asking for the pages after the first."""
    text = _text(result)
    tokens, turning = count(text), 0
    if (more := _MORE.search(text)) is None:
        return tokens, turning
    for page in range(2, int(more[1]) + 1):
        sent = {"result": more[2], "page": page}
        turning += count(_compact({"name": "read_result", "arguments": sent}))
        tokens += count(_text(model.called("read_result", sent)))
    return tokens, turning


def _by_program(model: McpClient, count: Callable[[str], int], invoices: Path) -> tuple[Way, str]:
    sent = {"code": _CODE, "inputs": {"folder": str(invoices)}}
    said = _text(model.called("run_program", sent))
    written = count(_compact({"name": "run_program", "arguments": sent}))
    return Way(written, count(said), 1), said


def _text(result: Mapping[str, Any]) -> str:
    text = "\n".join(block.get("text", "") for block in result["content"])
    if result.get("isError"):
        raise AssertionError(f"a call of the example failed: {text[:2000]}")
    return text


def _write_down(invoices: Path, table: Path) -> list[str]:
    """The invoices and the rates; and what has to come out."""
    chance = Random(7)  # noqa: S311 # a fixed example, no secret
    invoices.mkdir()
    total = dict.fromkeys(_CUSTOMERS, 0.0)
    for number in range(_INVOICES):
        invoice = _invoice(number, chance)
        worth = sum(line["amount"] for line in invoice["lines"])
        total[invoice["customer"]] += worth * _RATES[invoice["currency"]]
        text = json.dumps(invoice, indent=1)
        (invoices / f"invoice-{number:03}.json").write_text(text, encoding="utf-8")
    with sqlite3.connect(table) as rates:
        rates.execute("CREATE TABLE rates (currency TEXT, rate REAL)")
        rates.executemany("INSERT INTO rates VALUES (?, ?)", _RATES.items())
    rates.close()
    return [f"{customer} {round(worth, 2)}" for customer, worth in total.items()]


def _invoice(number: int, chance: Random) -> dict[str, Any]:
    lines = [
        {"article": f"A-{chance.randrange(900)}", "amount": chance.randrange(100, 9_999) / 100}
        for _ in range(chance.randint(2, 8))
    ]
    return {
        "number": number,
        "customer": chance.choice(_CUSTOMERS),
        "currency": chance.choice(list(_RATES)),
        "lines": lines,
    }


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
