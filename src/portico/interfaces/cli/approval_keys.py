"""A request for approval before one's eyes, answered with one key.

Keys never change their meaning, and what was typed before a request could be read counts for
nothing. Lines are only ever added: nothing on the screen is drawn anew.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from portico.interfaces.cli.approval_edit import edited
from portico.interfaces.cli.approval_words import (
    KEYS,
    KEYS_ONCE,
    answered,
    asks_on,
    grants,
    short,
    told,
)
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.keystrokes import Keyboard
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import Terminal

Request = Mapping[str, Any]

SKIP: Final = "s"
_READ_FIRST: Final = 0.4
"""Seconds in which nobody can have read a request: a key that comes then was meant for something
else."""


@dataclass
class ApprovalKeys:
    server: Server
    at: Terminal
    keyboard: Keyboard
    bell: bool = False
    skipped: set[str] = field(default_factory=set)
    mine: set[str] = field(default_factory=set)
    """Those that were answered here."""
    shown_at: float = 0.0

    def show(self, request: Request, *, whole: bool = False, more: int = 0) -> None:
        """`more` wait besides."""
        ring = "\a" if self.bell and not whole else ""
        print(ring, file=sys.stderr, flush=True)
        for line in told(request, whole=whole, more=more, width=self.at.width):
            self.at.line(line.text, loud=line.loud)
        self.keyboard.forget()
        self.shown_at = time.monotonic()
        self.at.line(_keys(request))

    def pressed(self, key: str, request: Request) -> bool:
        """Whether it is over. A key that means nothing does nothing."""
        act = self._acts.get(key)
        if act is None or time.monotonic() - self.shown_at < _READ_FIRST:
            return False
        try:
            return act(request)
        except BadUsage as error:
            self.at.fail(error)
            return False

    @property
    def _acts(self) -> Mapping[str, Callable[[Request], bool]]:
        return {
            "a": self._once,
            "r": self._for_the_run,
            "p": self._always,
            "x": self._reject,
            "e": self._edit,
            "w": self._why,
            SKIP: self._skip,
        }

    def _once(self, request: Request) -> bool:
        return self._answer(request, {"answer": "once"})

    def _for_the_run(self, request: Request) -> bool:
        if why := asks_on(request):
            self.at.say(why)
            return False
        return self._answer(request, {"answer": "run"})

    def _skip(self, request: Request) -> bool:
        self.skipped.add(request["id"])
        self.at.say(f"{short(request['id'])} goes on waiting.")
        return True

    def _answer(self, request: Request, body: dict[str, Any]) -> bool:
        try:
            made = self.server.post(
                path_to("approvals", request["id"], "answer"), {**body, "via": "cli"}
            )
        except Refused as error:
            self.at.fail(error)
            self.skipped.add(request["id"])
            return True
        sign = "✗" if body["answer"] == "reject" else "✓"
        self.mine.add(made["id"])
        self.at.line(f"{sign} {short(request['id'])} {answered(made)}", loud=True)
        return True

    def _always(self, request: Request) -> bool:
        """Two steps: for what, and the whole word."""
        if why := asks_on(request):
            self.at.say(why)
            return False
        tool = request["tool"]
        asked = f"For which tools? Enter for {tool}, or a pattern such as {request['server']}.*: "
        pattern = self.keyboard.sentence(asked)
        if pattern is None:
            return self._nothing(request)
        rule = grants(request, "always", pattern)
        word = self.keyboard.sentence(f"{rule}. Type always to make this rule: ")
        if word != "always":
            return self._nothing(request)
        return self._answer(request, {"answer": "always", "pattern": pattern or None})

    def _reject(self, request: Request) -> bool:
        reason = self.keyboard.sentence("Why not? (Enter: no reason; Ctrl-C: back) ")
        if reason is None:
            return self._nothing(request)
        return self._answer(request, {"answer": "reject", "reason": reason or None})

    def _edit(self, request: Request) -> bool:
        with self.keyboard.lent():
            arguments = edited(self.at, request)
        if self.keyboard.one_key("Approve it once like this? [y/N] ") not in {"y", "Y"}:
            return self._nothing(request)
        return self._answer(request, {"answer": "once", "arguments": arguments})

    def _why(self, request: Request) -> bool:
        self.show(request, whole=True)
        return False

    def _nothing(self, request: Request) -> bool:
        self.at.say(f"Nothing was answered. {_keys(request)}")
        return False


def _keys(request: Request) -> str:
    return KEYS_ONCE if asks_on(request) else KEYS
