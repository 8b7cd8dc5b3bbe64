"""Agents, their runs and the events of these as text."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from portico.agents.core.conversations import Spoken
from portico.agents.core.events import TextAdded
from portico.interfaces.cli.run_text import SHORT, duration, took
from portico.interfaces.cli.server import RESET
from portico.interfaces.cli.server import Told as ServerTold
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.json import JsonObject

Told = Mapping[str, Any]

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_OVER: Final = re.compile(r"apr_\w+ is ([a-z]+)\b")
_OVER_WORDS: Final = {"expired": "not answered"}
_SHORT_ARGUMENTS: Final = 90
_SHORT_RESULT: Final = 120
_SHORT_QUESTION: Final = 60


def plain(text: str) -> str:
    """A stranger's text: nothing in it moves the cursor, or turns what stands beside it around."""
    return _CONTROL.sub("�", text)


def brief(text: str, longest: int) -> str:
    """On one line."""
    line = " ".join(plain(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def arguments_line(arguments: Told, longest: int = _SHORT_ARGUMENTS) -> str:
    """`path notes.md · limit 20`"""
    parts = [f"{name} {_value(value)}" for name, value in arguments.items()]
    return brief(" · ".join(parts), longest)


def result_line(text: str, longest: int = _SHORT_RESULT) -> str:
    return brief(text, longest)


def agent_row(agent: Told) -> JsonObject:
    return {
        "name": agent["name"],
        "model": agent["model"],
        "tools": ", ".join(agent["tools"]) or None,
        "tags": ", ".join(agent["tags"]) or None,
        "version": agent["version"],
        "description": agent["description"],
    }


def warning_lines(agent: Told) -> Sequence[str]:
    """What may not be meant, of one that was made all the same."""
    return [f"! {it['field']}: {plain(it['message'])}." for it in agent.get("warnings", ())]


def limits_line(limits: Told) -> str:
    """`20 turns · 400,000 tokens · $1.00 · 10 min 0 s · 100 calls`"""
    parts = [
        f"{limits['turns']} turns",
        f"{limits['tokens']:,} tokens",
        money(limits["money"]),
        duration(limits["seconds"]),
        f"{limits['calls']} calls",
    ]
    return " · ".join(parts)


def run_row(run: Told) -> JsonObject:
    return {
        "run": f"…{run['run'][-SHORT:]}",
        "agent": run["agent_name"],
        "status": run["status"],
        "started": run["started_at"],
        "took": took(run["started_at"], run["ended_at"]),
        "turns": run["turns"],
        "tools": run["tool_uses"],
        "tokens": tokens_of(run["usage"]),
        "money": money(run["money"]),
        "error": run["error_code"],
        "asked": brief(run.get("asked") or "", _SHORT_QUESTION),
    }


def tokens_of(usage: Told) -> int:
    return int(usage["input"]) + int(usage["output"])


def money(amount: str | float) -> str:
    """`$0.0042`: small sums are the rule."""
    value = Decimal(str(amount))
    return f"${value:.2f}" if value >= 1 or not value else f"${value:.4f}"


def spent(usage: Told, amount: str | float) -> str:
    return f"{usage['input']:,} tokens read, {usage['output']:,} written, {money(amount)}"


def trace_lines(trace: Told) -> Sequence[str]:
    """As a tree: what was said, each turn, and each use of a tool in it."""
    run = trace["run"]
    lines = [f"{run['run']}  {run['agent_name']} v{run['agent_version']}  {run['status']}"]
    if run.get("continues"):
        lines.append(f"├─ continues  {run['continues']}")
    lines += [f"├─ said  {brief(said['text'], _SHORT_RESULT)}" for said in trace["said"]]
    for turn in trace["turns"]:
        lines += _turn_lines(turn, [use for use in trace["uses"] if use["turn"] == turn["number"]])
    end = f"{run['error_code']}: {run['error']}" if run["error_code"] else run["answer"]
    lines.append(f"└─ {run['status']}  {brief(str(end), _SHORT_RESULT)}")
    return lines


def _turn_lines(turn: Told, uses: Sequence[Told]) -> Sequence[str]:
    speed = turn.get("tokens_a_second")
    facts = [
        plain(turn["model"]),
        duration(turn["took"]),
        f"{turn['usage']['input']:,} → {turn['usage']['output']:,} tokens",
        *([f"{speed:.0f} tokens/s"] if speed else []),
        *([money(turn["money"])] if Decimal(str(turn["money"])) else []),
        *([f"{turn['attempts']} tries"] if turn["attempts"] > 1 else []),
    ]
    lines = [f"├─ turn {turn['number']}  {' · '.join(facts)}"]
    lines += [f"│    ! {plain(note)}" for note in turn["notes"]]
    if turn["text"].strip():
        lines.append(f"│    “{brief(turn['text'], _SHORT_RESULT)}”")
    for use in uses:
        lines += _use_lines(use)
    return lines


def _use_lines(use: Told) -> Sequence[str]:
    sign = "✗" if use["failed"] else "✓"
    early = ", begun early" if use["early"] else ""
    asked = f", {_answered(use)}" if use["approval"] else ""
    how = f"{duration(use['took'])}{early}{asked}"
    return [
        f"│  ├─ {sign} {plain(use['tool'])}  {how}",
        f"│  │    {arguments_line(use['arguments']) or 'without arguments'}",
        f"│  │    → {result_line(use['text'])}",
    ]


def _answered(use: Told) -> str:
    """What became of the request for it."""
    match use.get("code"):
        case "approval_rejected":
            return "rejected"
        case "approval_over":
            found = _OVER.search(use["text"])
            return _OVER_WORDS.get(found[1], found[1]) if found else "not approved"
        case _:
            return "approved"


def _value(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


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


def _piece(facts: Facts) -> TextAdded:
    return TextAdded(
        turn=facts["turn"], attempt=facts["attempt"], offset=facts["offset"], text=facts["text"]
    )
