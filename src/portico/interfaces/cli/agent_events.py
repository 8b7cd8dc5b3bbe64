"""Events of a run of an agent, printed as they come."""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from portico.agents.core.conversations import Spoken
from portico.agents.core.events import TextDelta
from portico.interfaces.cli.agent_text import arguments_line, brief, plain, result_line, spent
from portico.interfaces.cli.run_text import duration
from portico.interfaces.cli.server import RESET
from portico.interfaces.cli.server import ReceivedEvent as ServerTold
from portico.interfaces.cli.terminal import Terminal

Facts = Mapping[str, Any]

ENDED: Final = "run.ended"
WAITS: Final = "tool.waits"
MOVED: Final = frozenset({"tool.ended", "turn.began", "turn.ended", ENDED})
"""What only happens once a run waits for nobody any more, or for one less."""


@dataclass
class Talked:
    """How far a run is told to one who listens. Words go to standard output, cards to standard
    error: whoever keeps the one in a file still sees the other."""

    at: Terminal
    thoughts: bool = False
    spoken: Spoken = field(default_factory=Spoken)
    thought: Spoken = field(default_factory=Spoken)
    ended: Facts | None = None
    waits: dict[str, str] = field(default_factory=dict)
    """Requests for approval that are not answered yet, by the call that waits."""
    tools: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Uses of tools, each with what was said of it."""
    notes: list[str] = field(default_factory=list)
    _in_line: bool = False

    def take(self, told: ServerTold) -> None:
        act = self._acts.get(told.type)
        if act is not None:
            act(told.data)

    @property
    def _acts(self) -> Mapping[str, Callable[[Facts], None]]:
        return {
            "text.added": self._speak,
            "thought.added": self._think,
            "tool.began": self._begins,
            WAITS: self._wait,
            "tool.ended": self._ends,
            "message.heard": self._hear,
            "noted": self._note,
            ENDED: self._over,
            RESET: self._missed,
        }

    def close_line(self) -> None:
        """Whatever is said next begins a line."""
        if self._in_line and not self.at.json:
            print(flush=True)
        self._in_line = False

    def _speak(self, facts: Facts) -> None:
        self.spoken = self.spoken.after(_piece(facts))
        if self.spoken.anew:
            self._card("it was broken off, and begins anew:", "dim")
        if self.spoken.fresh and not self.at.json:
            text = plain(self.spoken.fresh)
            print(text, end="", flush=True)
            self._in_line = not text.endswith("\n")

    def _think(self, facts: Facts) -> None:
        self.thought = self.thought.after(_piece(facts))
        if self.thoughts and not self.at.json and not self.at.quiet:
            _styled(plain(self.thought.fresh), "dim italic", end="")

    def _wait(self, facts: Facts) -> None:
        self.waits[facts["call"]] = facts["approval"]
        self._card(f"… {plain(facts['tool'])} waits for approval", "yellow")

    def _hear(self, facts: Facts) -> None:
        self._card(f"« {result_line(facts['text'])}", "dim")

    def _note(self, facts: Facts) -> None:
        self.notes.append(facts["message"])
        self._card(f"! {plain(facts['message'])}", "yellow")

    def _missed(self, _facts: Facts) -> None:
        self._card("Some of what happened is not kept any more.", "dim")

    def _begins(self, facts: Facts) -> None:
        self.tools.append(facts["tool"])
        line = arguments_line(facts["arguments"])
        self._card(f"┌ {plain(facts['tool'])}  {line}".rstrip(), "cyan")

    def _ends(self, facts: Facts) -> None:
        self.waits.pop(facts["call"], None)
        if facts["failed"]:
            self.failed.append((facts["tool"], result_line(facts["text"])))
        sign, style = ("✗", "red") if facts["failed"] else ("✓", "green")
        head = f"└ {sign} {plain(facts['tool'])}  {duration(facts['seconds'])}"
        self._card(f"{head}  {result_line(facts['text'])}".rstrip(), style)

    def _over(self, facts: Facts) -> None:
        self.ended = facts
        self.waits.clear()
        if not self.spoken.length and facts["answer"] and not self.at.json:
            print(plain(facts["answer"]), end="", flush=True)
            self._in_line = not facts["answer"].endswith("\n")
        self.close_line()
        self._card(f"{facts['status']} · {spent(facts['usage'], facts['money'])}", "dim")

    def _card(self, text: str, style: str) -> None:
        self.close_line()
        if not self.at.json and not self.at.quiet:
            _styled(_fitted(text), style)


def _fitted(text: str) -> str:
    """A card is one line of the screen it is on, if it is on one."""
    return brief(text, shutil.get_terminal_size().columns - 1) if sys.stderr.isatty() else text


def _styled(text: str, style: str, end: str = "\n") -> None:
    if not sys.stderr.isatty():
        print(text, end=end, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    console.print(Text(text, style=style), end=end, soft_wrap=True)


def _piece(facts: Facts) -> TextDelta:
    return TextDelta(
        turn=facts["turn"], attempt=facts["attempt"], offset=facts["offset"], text=facts["text"]
    )
