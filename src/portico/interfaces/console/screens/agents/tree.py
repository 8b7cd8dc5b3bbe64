"""The tools that an agent may be given: by server, each with what it adds to a prompt."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.catalog import ToolLook
from portico.gateway.core.catalog_snapshot import Standing, Tool
from portico.guard.core.rules import fits
from portico.kernel.effect import Effect

INLINE: Final = 120
"""Tools that are drawn at once; of more, a server's are drawn when it is opened."""
MOST: Final = 150
"""Of one server that are drawn: beyond that they are looked for."""
_SUMMARY: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    ref: str
    name: str
    summary: str
    tokens: int
    ticked: bool
    chosen: bool
    """By being ticked, or by a pattern."""
    effect: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    server: str
    size: int
    tokens: int
    whole: bool
    chosen: int
    leaves: tuple[Leaf, ...]
    left_out: int
    """Tools that are not drawn."""
    cut: bool
    """They are too many to be drawn at all."""
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    branches: tuple[Branch, ...]
    size: int
    chosen: int
    tokens: int
    """Of all that are chosen."""


def live(looks: Iterable[ToolLook]) -> Sequence[Tool]:
    return [look.tool for look in looks if look.standing is Standing.LIVE]


def tree_of(
    tools: Sequence[Tool],
    ticked: Collection[str],
    patterns: Sequence[str],
    *,
    find: str = "",
    opened: Collection[str] = (),
) -> Tree:
    by_server: dict[str, list[Tool]] = {}
    for tool in tools:
        by_server.setdefault(tool.ref.server, []).append(tool)
    chosen = {str(each.ref) for each in tools if fits(str(each.ref), patterns)}
    few = len(tools) <= INLINE
    branches = [
        _branch(server, its, ticked, chosen, find=find, opened=few or server in opened)
        for server, its in by_server.items()
    ]
    return Tree(
        branches=tuple(branches),
        size=len(tools),
        chosen=len(chosen),
        tokens=sum(each.tokens for each in tools if str(each.ref) in chosen),
    )


def _branch(
    server: str,
    tools: Sequence[Tool],
    ticked: Collection[str],
    chosen: Collection[str],
    *,
    find: str,
    opened: bool,
) -> Branch:
    wanted = find.casefold()
    shown = [
        each
        for each in tools
        if str(each.ref) in ticked or (_found(each, wanted) if wanted else opened)
    ]
    cut = len(shown) > MOST
    if cut:
        shown = [each for at, each in enumerate(shown) if at < MOST or str(each.ref) in ticked]
    its = sum(str(each.ref) in chosen for each in tools)
    return Branch(
        server=server,
        size=len(tools),
        tokens=sum(each.tokens for each in tools),
        whole=f"{server}.*" in ticked,
        chosen=its,
        leaves=tuple(_leaf(each, ticked, chosen) for each in shown),
        left_out=len(tools) - len(shown),
        cut=cut,
        opened=bool(wanted and shown) or (its > 0 and bool(shown)),
    )


def _found(tool: Tool, wanted: str) -> bool:
    return wanted in str(tool.ref).casefold() or wanted in tool.definition.description.casefold()


def _leaf(tool: Tool, ticked: Collection[str], chosen: Collection[str]) -> Leaf:
    ref = str(tool.ref)
    effect, tone = effect_word(tool.effect)
    return Leaf(
        ref=ref,
        name=tool.ref.name,
        summary=" ".join(tool.definition.description.split())[:_SUMMARY],
        tokens=tool.tokens,
        ticked=ref in ticked,
        chosen=ref in chosen,
        effect=effect,
        tone=tone,
    )


def effect_word(effect: Effect) -> tuple[str, str]:
    """What it can do at most, and its tone."""
    if effect.reads_only:
        return "reads", ""
    return ("cannot be undone", "bad") if effect.destroys else ("writes", "warn")
