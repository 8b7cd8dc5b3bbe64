"""The terminal: text, tables, facts, questions, times, progress, files written."""

import json
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from portico.interfaces.cli.errors import FileInTheWay, InvalidUsage
from portico.interfaces.cli.services import CliServices
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STANDARD_INPUT: Final = "/dev/stdin"


def _check(_type: object, text: object) -> None:
    """Raises `InvalidLabel`."""
    if isinstance(text, str):
        Label.parse(text)


LabelOption = Annotated[str | None, Parameter(validator=_check)]

_AGO: Final = re.compile(r"([0-9]{1,6})([mhd])")
_LONG: Final = re.compile(r"([0-9]{1,6})([smhd]?)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def moment(option: str, text: str | None) -> str | None:
    """As the server takes it; without a zone it is of where we are. Raises `InvalidUsage`."""
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return _at(time.time() - int(ago[1]) * _SECONDS[ago[2]])
    return _written(option, text, "so long ago")


def deadline(option: str, text: str | None) -> str | None:
    """The same of what is to come. Raises `InvalidUsage`."""
    if text is None:
        return None
    if ahead := _AGO.fullmatch(text):
        return _at(time.time() + int(ahead[1]) * _SECONDS[ahead[2]])
    return _written(option, text, "so long from now on")


def lasting(option: str, text: str) -> int:
    """Seconds. Raises `InvalidUsage`."""
    if long := _LONG.fullmatch(text):
        return int(long[1]) * _SECONDS[long[2] or "s"]
    raise InvalidUsage(f"{option}: {text!r} is not how long.", fix="Such as 30s, 90m, 2h, 1d.")


def _written(option: str, text: str, short: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise InvalidUsage(
            f"{option}: {text!r} is no time.",
            fix=f"Such as 2026-05-01, 2026-05-01T14:30, or {short}: 90m, 2h, 3d.",
        ) from error


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


_LONG_WORK: Final = 2.0
"""Seconds; whoever waits for longer is told how long it was."""


class Underway:
    """Counts by itself: whoever works may hear nothing for a while, and so say nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        self._text = text

    def __rich__(self) -> "Text":
        from rich.text import Text

        passed = time.monotonic() - self._began
        return Text.assemble(
            self._text, (f"  {passed:.0f} s" if passed >= _LONG_WORK else "", "dim")
        )


# Tables for people: no word is broken, and nothing is cut off.

_NARROWEST: Final = 16
"""Letters of a column of sentences; narrower it would not be read but deciphered."""


def laid_out(
    cells: Sequence[Sequence[str]], *, width: int, right: Collection[int], fold: Collection[int]
) -> Sequence[str]:
    """The lines of a table, without blanks at their ends.

    One that is too wide moves together. If that is not enough, the columns to `fold` go on below,
    between two words; and if that is not enough either, it runs over as it is.
    """
    natural = [max(map(_size, column)) for column in zip(*cells, strict=True)]
    gaps = len(natural) - 1
    gap = 2 if sum(natural) + 2 * gaps <= width else 1
    widths = _narrowed(natural, width - gap * gaps, fold)
    return [line for row in cells for line in _lines(row, widths, right, " " * gap)]


def _narrowed(natural: Sequence[int], room: int, fold: Collection[int]) -> Sequence[int]:
    """What one of the columns to fold does not need is for the others."""
    widths = [*natural]
    left = room - sum(size for place, size in enumerate(natural) if place not in fold)
    narrow_first = sorted(fold, key=lambda place: natural[place])
    for done, place in enumerate(narrow_first):
        share = left // (len(narrow_first) - done)
        widths[place] = min(natural[place], max(share, _NARROWEST))
        left -= widths[place]
    return widths if left >= 0 else natural


def _lines(
    row: Sequence[str], widths: Sequence[int], right: Collection[int], gap: str
) -> Iterator[str]:
    folded = [_folded(text, width) for text, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*folded, fillvalue=""):
        yield gap.join(
            _padded(text, widths[place], right=place in right) for place, text in enumerate(parts)
        ).rstrip()


def _folded(text: str, width: int) -> Sequence[str]:
    if _size(text) <= width:
        return [text]
    lines: list[str] = []
    for word in text.split():
        if lines and _size(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _padded(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - _size(text))
    return blanks + text if right else text + blanks


def _size(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


# Data goes to standard output, talk to standard error. A person at a terminal gets tables; a
# program gets plain lines, or JSON with --json.

_NOTICEABLE: Final = 0.3
"""Seconds; what takes longer says what it does."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What could move a terminal's cursor or change its title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    services: CliServices
    json: bool = False
    quiet: bool = False
    no_input: bool = False
    debug: bool = False

    @property
    def for_a_person(self) -> bool:
        return not self.json and sys.stdout.isatty()

    @property
    def width(self) -> int | None:
        """Columns of a person's screen; a program's lines have no end."""
        return shutil.get_terminal_size().columns if self.for_a_person else None

    def data(self, value: JsonValue, text: str) -> None:
        """`value` to a program that asked for JSON, `text` to anybody else."""
        print(_dumped(value) if self.json else text)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[JsonObject],
        value: JsonValue,
        *,
        right: Sequence[str] = (),
        fold: Sequence[str] = (),
        red: Sequence[str] = (),
    ) -> None:
        """`right` names the columns of figures; what holds only numbers is one unasked. `fold`
        names those of sentences, which may take several lines; the last one if none is named.
        `red` are words that nobody should overlook."""
        if self.json:
            print(_dumped(value))
        elif self.for_a_person:
            if rows:  # headings of nothing say nothing
                self._rich_table(columns, rows, right, fold, red)
        else:
            for row in rows:
                print("\t".join(shown(row.get(column)) for column in columns))

    def details(self, facts: JsonObject) -> None:
        """One thing, a line each."""
        if self.json:
            print(_dumped(facts))
            return
        width = max((len(name) for name in facts), default=0)
        for name, value in facts.items():
            label = name.replace("_", " ").ljust(width)
            print(f"{label}  {shown(value)}" if self.for_a_person else f"{name}\t{shown(value)}")

    def line(self, text: str, *, loud: bool = False) -> None:
        """One line of what was asked for; `loud` so that it is seen first."""
        if self.for_a_person and loud:
            from rich.text import Text

            self._console(stderr=False).print(Text(text, style="bold"), soft_wrap=True)
        else:
            print(text, flush=True)

    def say(self, text: str) -> None:
        """To a person: a program that asked for JSON gets nothing else."""
        if not self.quiet and not self.json:
            print(text, file=sys.stderr)

    def alarm(self, text: str) -> None:
        """To a person, in red."""
        if not self.quiet and not self.json:
            self._console(stderr=True).print(f"[bold red]{_plain(text)}[/]", soft_wrap=True)

    def fail(self, error: PorticoError) -> None:
        if self.json:
            print(_dumped({"error": _described(error)}), file=sys.stderr)
            return
        console = self._console(stderr=True)
        head = f"[bold red]✗[/] [bold]{_plain(error.title)}[/] [dim]({_plain(error.code)})[/]"
        console.print(head, soft_wrap=True)
        details = [f"{flaw.field}: {flaw.message}" for flaw in error.field_errors] or [str(error)]
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
        underway = Underway(text)
        status = self._console(stderr=True).status(underway)
        timer = threading.Timer(_NOTICEABLE, status.start)
        timer.start()
        try:
            yield underway.say
        finally:
            timer.cancel()
            status.stop()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What the parts of Portico write in the server's log does not come between the lines of a
        command; with --debug it does."""
        import logging

        nobody = logging.NullHandler()
        if not self.debug:
            logging.getLogger().addHandler(nobody)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(nobody)

    def confirm(self, question: str) -> bool:
        """False where nobody can be asked."""
        return (self.ask(f"{question} [y/N]") or "").lower() in {"y", "yes"}

    def ask(self, question: str) -> str | None:
        """None where nobody can be asked, or nobody answers."""
        if self.no_input or not sys.stdin.isatty():
            return None
        print(f"{question} ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        return answer.strip() if answer else None

    def _rich_table(
        self,
        columns: Sequence[str],
        rows: Sequence[JsonObject],
        right: Sequence[str],
        fold: Sequence[str],
        red: Sequence[str],
    ) -> None:
        from rich.text import Text

        figures = [
            place
            for place, column in enumerate(columns)
            if column in right or _all_numbers(row.get(column) for row in rows)
        ]
        console = self._console(stderr=False)
        head = [column.replace("_", " ") for column in columns]
        cells = [[_one_line(shown(row.get(column))) for column in columns] for row in rows]
        folded = [columns.index(column) for column in fold or columns[-1:]]
        lines = laid_out([head, *cells], width=console.width, right=figures, fold=folded)
        for number, line in enumerate(lines):
            text = Text(line, style="" if number else "bold")
            if red:  # no word at all is found between any two letters
                text.highlight_words(red, "bold red")
            console.print(text, soft_wrap=True)

    @staticmethod
    def _console(*, stderr: bool) -> "Console":
        from rich.console import Console

        return Console(stderr=stderr, highlight=False)


PLAIN: Final = Parameter(negative=(), show_default=lambda value: value or None)
"""A flag is given or left away: no `--no-…`, no `--empty-…`, and it need not be said that it is
left away if it is not given."""

At = Annotated[Terminal, Parameter(parse=False)]
"""The terminal a command runs at; handed in, not typed."""


def _dumped(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def shown(value: JsonValue) -> str:
    """A value in words."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return _CONTROL.sub("�", _when(value))
        case int() | float():
            return str(value)
        case Mapping():
            return _dumped(value)
        case Sequence():
            return ", ".join(map(shown, value)) or "-"


def day(text: str | None) -> str | None:
    """The date of a time."""
    return None if text is None else _when(text)[:10]


def human_size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _all_numbers(values: Iterable[JsonValue]) -> bool:
    """Whether there are any, and nothing else."""
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _when(text: str) -> str:
    """A time as people read it; anything else as it is."""
    if len(text) < 20 or text[4:5] != "-" or "T" not in text:
        return text
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return text


def _one_line(text: str) -> str:
    return text.replace("\n", " ↵ ").replace("\t", " ")


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(_CONTROL.sub("�", text))


def _described(error: PorticoError) -> JsonObject:
    return {
        "code": error.code,
        "title": error.title,
        "detail": str(error),
        "fix": error.fix,
        "errors": [{"field": flaw.field, "message": flaw.message} for flaw in error.field_errors],
    }


def check_free(target: Path | None, *, replace: bool) -> None:
    """Before anything is asked for. Raises `FileInTheWay`."""
    if target is not None and target.exists() and not replace:
        raise FileInTheWay(target)


def write_lines(at: Terminal, lines: Iterable[str], target: Path | None, what: str) -> None:
    """`what` the lines are, as in "12 entries"."""
    if target is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    count = 0
    with at.working("exporting"), target.open("w", encoding="utf-8") as stream:
        target.chmod(0o600)
        for line in lines:
            stream.write(f"{line}\n")
            count += 1
    at.data({"file": str(target), what: count}, f"{target} ({count:,} {what})")
