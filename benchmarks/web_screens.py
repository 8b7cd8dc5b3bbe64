"""Which screens of the console are asked for in `just bench web`: every one that needs no id, by
the routes themselves, and one of each that does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.interfaces.console.app import SCREENS

_LEFT_OUT: Final = frozenset({"/bridge/next", "/tools/result", "/audit/export", "/figures/csv"})
"""It leads elsewhere; it needs a result; two are files."""
_ASKED: Final = {
    "/tools/group": "/tools/group?server={server}",
}
"""What is nothing without a question."""
_NAMED: Final = {
    "runs, those that failed": "/runs?status=failed",
    "run of 13 steps": "/runs/{run}",
    "run of 13 steps, a step": "/runs/{run}/steps/s5",
    "run of 13 steps, its plan": "/runs/{run}/plan",
    "run of 13 steps, its timeline": "/runs/{run}/timeline",
    "run of 13 steps, its parts": "/runs/{run}/parts?steps=s4,s5",
    "run of 13 steps, its events": "/runs/{run}/log",
    "long run": "/runs/{long}",
    "long run, a step": "/runs/{long}/steps/s500",
    "long run, its plan": "/runs/{long}/plan",
    "long run, its timeline": "/runs/{long}/timeline",
    "long run, its parts": "/runs/{long}/parts?steps=s499,s500",
    "long run, its events": "/runs/{long}/log",
    "chat": "/chat/{chat}",
    "chat, its trace": "/chat/{chat}/trace",
    "chat, its side": "/chat/{chat}/side",
    "request": "/inbox/{approval}",
    "request, its part": "/inbox/{approval}/part",
    "request, why": "/inbox/{approval}/why",
    "project": "/bridge/{project}",
    "project, around": "/bridge/{project}/around",
    "project, its list": "/bridge/{project}/list",
    "project, its memory": "/bridge/{project}/memory",
    "project, its work": "/bridge/{project}/work",
    "project, a new conversation": "/bridge/{project}/new",
    "conversation": "/bridge/{project}/{talk}",
    "conversation, its audience": "/bridge/{project}/{talk}/audience",
    "long conversation": "/bridge/{long_project}/{long_talk}",
    "long conversation, its audience": "/bridge/{long_project}/{long_talk}/audience",
    "search of messages": "/bridge/search?q={word}",
    "debate": "/debates/{debate}",
    "debate, its board": "/debates/{debate}/board",
    "debate, its log": "/debates/{debate}/log",
    "debate, replayed": "/debates/{debate}/replay",
    "server": "/servers/{server}",
    "server, its vitals": "/servers/{server}/vitals",
    "server, its review": "/servers/{server}/review",
    "tool": "/tools/{tool}",
    "search of tools": "/tools?q=open+invoices+of+a+customer",
    "agent": "/agents/{agent}",
    "agent, its versions": "/agents/{agent}/versions",
    "graph, a tool": "/graph/chosen?tool={tool}",
    "palette": "/palette",
    "palette, a search": "/palette?q=invoices",
    "number that waits": "/waiting",
}


WORK: Final = frozenset({"debate, replayed"})
"""What is worked out because somebody pressed a button: told apart from the screens."""


@dataclass(frozen=True, slots=True)
class Screen:
    name: str
    path: str


def every_screen(places: Mapping[str, str]) -> Sequence[Screen]:
    """`places`: what stands for each name in braces."""
    plain = [Screen(path, path) for path in _plain() if path not in _LEFT_OUT | _ASKED.keys()]
    named = [Screen(name, path.format_map(places)) for name, path in {**_ASKED, **_NAMED}.items()]
    return [*plain, *named]


def _plain() -> Iterator[str]:
    for route in SCREENS:
        if "GET" in (route.methods or ()) and "{" not in route.path:
            yield route.path
