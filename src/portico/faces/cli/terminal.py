"""How the command line speaks: data on standard output, talk on standard error.

A person at a terminal gets tables; a program gets plain lines, or JSON when it asks for it.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from portico.faces.cli.house import House
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from rich.console import Console

_NOTICEABLE: Final = 0.3
"""Seconds; what takes longer says what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    house: House
    json: bool = False
    quiet: bool = False
    no_input: bool = False
    debug: bool = False

    def data(self, value: JsonValue, text: str) -> None:
        """`value` to a program that asked for JSON, `text` to anybody else."""
        print(_dumped(value) if self.json else text)

    def table(self, columns: Sequence[str], rows: Sequence[JsonObject], value: JsonValue) -> None:
        if self.json:
            print(_dumped(value))
        elif sys.stdout.isatty():
            self._rich_table(columns, rows)
        else:
            for row in rows:
                print("\t".join(_cell(row.get(column)) for column in columns))

    def facts(self, facts: JsonObject) -> None:
        """One thing, a line each."""
        if self.json:
            print(_dumped(facts))
            return
        width = max((len(name) for name in facts), default=0)
        for name, value in facts.items():
            label = name.replace("_", " ").ljust(width)
            print(f"{label}  {_cell(value)}" if sys.stdout.isatty() else f"{name}\t{_cell(value)}")

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr)

    def fail(self, error: PorticoError) -> None:
        if self.json:
            print(_dumped({"error": _described(error)}), file=sys.stderr)
            return
        console = self._console(stderr=True)
        console.print(f"[bold red]✗[/] [bold]{_plain(error.title)}[/] [dim]({error.code})[/]")
        details = [f"{flaw.field}: {flaw.message}" for flaw in error.flaws] or [str(error)]
        for detail in details:
            console.print(f"  {_plain(detail)}", soft_wrap=True)
        if error.fix:
            console.print(f"  [green]fix[/] {_plain(error.fix)}", soft_wrap=True)

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """Says what is being done once it takes noticeably long; gives a way to say what now."""
        if self.quiet or self.json or not sys.stderr.isatty():
            yield lambda _: None
            return
        status = self._console(stderr=True).status(text)
        timer = threading.Timer(_NOTICEABLE, status.start)
        timer.start()
        try:
            yield status.update
        finally:
            timer.cancel()
            status.stop()

    def confirm(self, question: str) -> bool:
        """False where nobody can be asked."""
        if self.no_input or not sys.stdin.isatty():
            return False
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    def _rich_table(self, columns: Sequence[str], rows: Sequence[JsonObject]) -> None:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.replace("_", " "), overflow="fold", no_wrap=column == "id")
        for row in rows:
            table.add_row(*(_plain(_cell(row.get(column))) for column in columns))
        self._console(stderr=False).print(table)

    @staticmethod
    def _console(*, stderr: bool) -> "Console":
        from rich.console import Console

        return Console(stderr=stderr, highlight=False)


PLAIN: Final = Parameter(negative=())
"""A flag is given or left away: no `--no-…` and no `--empty-…`."""

At = Annotated[Terminal, Parameter(parse=False)]
"""The terminal a command runs at; handed in, not typed."""


def _dumped(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cell(value: JsonValue) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return _when(value)
        case int() | float():
            return str(value)
        case Mapping():
            return _dumped(value)
        case Sequence():
            return " ".join(map(str, value)) or "-"


def _when(text: str) -> str:
    """A time as people read it; anything else as it is."""
    if len(text) < 20 or text[4:5] != "-" or "T" not in text:
        return text
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return text


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _described(error: PorticoError) -> JsonObject:
    return {
        "code": error.code,
        "title": error.title,
        "detail": str(error),
        "fix": error.fix,
        "errors": [{"field": flaw.field, "message": flaw.message} for flaw in error.flaws],
    }
