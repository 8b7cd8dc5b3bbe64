"""What `init` says about servers that it found: which they are, how they started, what is saved."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.config_documents import Described, Problem, Wish
from portico.gateway.core.launch import shown
from portico.gateway.server_files import Listed, NotListed, Place
from portico.gateway.surface import ContextWeight
from portico.interfaces.cli.terminal import shown as visible
from portico.kernel.errors import many
from portico.kernel.json import JsonObject

_WIDTH: Final = 40
_WINDOW: Final = 200_000
"""Tokens that many models can hold."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A server to be taken or not."""

    file: Described
    wish: Wish

    @property
    def place(self) -> Place:
        return self.file.origin, self.wish.where


def offers(found: Sequence[Described]) -> Sequence[Offer]:
    """In the order in which they are numbered; what its file has switched off is none."""
    return [Offer(file, wish) for file in found for wish in file.wishes if wish.enabled]


def found_text(found: Sequence[Described], home: str) -> str:
    numbers = {offer.place: number for number, offer in enumerate(offers(found), 1)}
    lines: list[str] = []
    for file in found:
        place = file.origin.replace(home, "~", 1) if file.origin.startswith(home) else file.origin
        whose = ", in this folder" if file.for_a_project else ""
        lines += ["", f"{file.client}{whose}: {visible(place)}"]
        lines += [_offer(wish, numbers.get((file.origin, wish.where))) for wish in file.wishes]
        lines += [f"       ! {visible(problem_text(each))}" for each in file.problems]
    return "\n".join(lines[1:])


def problem_text(problem: Problem) -> str:
    line = "" if problem.line is None else f" (line {problem.line})"
    return f"{problem.server or 'the file'}: {problem.reason}{line}"


def found_json(found: Sequence[Described]) -> Sequence[JsonObject]:
    return [
        {
            "file": file.origin,
            "client": file.client,
            "for_a_project": file.for_a_project,
            "servers": [
                {"name": wish.name, "command": shown(wish.launch), "enabled": wish.enabled}
                for wish in file.wishes
            ],
            "problems": [problem_text(each) for each in file.problems],
        }
        for file in found
    ]


def picked(text: str, among: Sequence[Offer]) -> AbstractSet[Place] | None:
    """`all` of one's own files, `none`, or numbers such as `1,3-5`; None if it is none of them.

    Where there are none of one's own, who says `all` means the others, who says nothing does not.
    """
    text = text.strip().lower()
    own = {offer.place for offer in among if not offer.file.for_a_project}
    if text in {"", "a", "all"}:
        return own or {offer.place for offer in among if text}
    if text in {"n", "no", "none"}:
        return set()
    try:
        numbers = {number for part in text.replace(",", " ").split() for number in _range(part)}
    except ValueError:
        return None
    if not numbers <= set(range(1, len(among) + 1)):
        return None
    return {among[number - 1].place for number in numbers}


def take_question(among: Sequence[Offer]) -> str:
    if all(offer.file.for_a_project for offer in among):
        return "Take which? all, none, or numbers such as 1,3-5 [none]"
    return "Take which? all of your own files, none, or numbers such as 1,3-5 [all]"


def left_text(file: Described) -> str:
    """Of a file that `--yes` does not speak for."""
    return (
        f"{visible(file.origin)} is not taken unasked: it is not yours but this folder's. "
        f"To take it: portico init --yes --from {visible(shlex.quote(file.origin))}"
    )


def listed_text(each: Listed, width: int) -> str:
    kinds = [(each.reads, "read"), (each.writes, "write"), (each.others, "may destroy")]
    told = ", ".join(f"{count} {word}" for count, word in kinds if count)
    name, tools = each.server.ljust(width), many(each.tools, "tool").rjust(10)
    return f"✓ {name}  {tools}  {each.tokens:>7,} tokens  {told}".rstrip()


def not_listed_text(each: NotListed, width: int) -> str:
    found = _fix(each)
    fix = f"\n  {' ' * width}  fix {visible(found)}" if found else ""
    return f"✗ {each.server.ljust(width)}  {visible(each.reason)}{fix}"


def servers_json(outcomes: Collection[Listed | NotListed]) -> Sequence[JsonObject]:
    return [_server_json(each) for each in sorted(outcomes, key=lambda it: it.server)]


def weight_text(weight: ContextWeight) -> str:
    """Two bars, to scale."""
    whose = f"{many(weight.tools, 'tool')} of {many(weight.servers, 'server')}"
    head = f"{whose}, in tokens of {weight.tokenizer}:"
    window = f"of a window of {_WINDOW:,}"
    before = f"{weight.before:,} tokens, {weight.before / _WINDOW:.1%} {window}"
    after = f"{weight.after:,} tokens, {weight.after / _WINDOW:.1%}"
    whole = max(weight.before, weight.after)
    return (
        f"{head}\n"
        f"  before  {_bar(weight.before, whole)}  {before}\n"
        f"  after   {_bar(weight.after, whole)}  {after}"
    )


def weight_json(weight: ContextWeight) -> JsonObject:
    return {
        "servers": weight.servers,
        "tools": weight.tools,
        "tokens_before": weight.before,
        "tokens_after": weight.after,
        "tokenizer": weight.tokenizer,
    }


def _offer(wish: Wish, number: int | None) -> str:
    count = "  off" if number is None else f"{number:>5}"
    return f"{count}  {wish.name}: {shown(wish.launch)}"


def _range(part: str) -> Iterator[int]:
    """Raises `ValueError`."""
    first, dash, last = part.partition("-")
    numbers = range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise ValueError(part)
    yield from numbers


def _fix(each: NotListed) -> str | None:
    """While `init` runs there is nobody yet who could be asked for logs."""
    logs = "portico servers logs"
    return each.fix and each.fix.replace(logs, f"portico up, then {logs}")


def _server_json(each: Listed | NotListed) -> JsonObject:
    if isinstance(each, NotListed):
        return {"name": each.server, "listed": False, "reason": each.reason, "fix": _fix(each)}
    return {
        "name": each.server,
        "listed": True,
        "tools": each.tools,
        "tokens": each.tokens,
        "proposed": {"reads": each.reads, "writes": each.writes, "others": each.others},
    }


def _bar(value: float, whole: float) -> str:
    filled = round(_WIDTH * value / whole)
    return ("█" * filled or "▏").ljust(_WIDTH)
