"""Every screen of the console, asked for again and again: how long it takes, and what it costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.web_figures import percentile
from benchmarks.web_screens import Screen
from benchmarks.web_visitor import Answer, Visitor
from portico.kernel.json import JsonObject

_ROUNDS: Final = 4
"""Whatever else the machine does meets all of them."""
_WARM: Final = 3

Cpu = Callable[[], float]
Progress = Callable[[str], None]


@dataclass(slots=True)
class Timed:
    bytes: int
    whole: bool
    took: list[float] = field(default_factory=list)
    """Seconds."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds of all of them, by whose."""

    @property
    def p50(self) -> float:
        return round(percentile(self.took, 0.5) * 1_000, 1)

    @property
    def p95(self) -> float:
        return round(percentile(self.took, 0.95) * 1_000, 1)

    def as_json(self) -> JsonObject:
        many = max(1, len(self.took))
        cpu = {f"{whose}_cpu_ms": round(used / many * 1_000, 1) for whose, used in self.cpu.items()}
        kb = round(self.bytes / 1_000, 1)
        return {"html_kb": kb, "p50_ms": self.p50, "p95_ms": self.p95, **cpu}


@dataclass(slots=True)
class Pages:
    visitor: Visitor
    cpu: Mapping[str, Cpu]
    """Whose processor time is told."""
    drawn: dict[str, Timed] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """What was not drawn, and the status that it was answered with."""

    def measure(self, screens: Sequence[Screen], requests: int, progress: Progress) -> None:
        for screen in screens:
            progress(f"warming up: {screen.name}")
            self._warm(screen)
        known = [screen for screen in screens if screen.name in self.drawn]
        for number in range(_ROUNDS):
            for screen in known:
                progress(f"asking for pages, round {number + 1} of {_ROUNDS}: {screen.name}")
                self._ask(screen, -(-requests // _ROUNDS))

    def _warm(self, screen: Screen) -> None:
        for _ in range(_WARM):
            answer = self.visitor.get(screen.path)
            if not _is_drawn(answer):
                self.refused[screen.name] = answer.status
                return
            self.drawn.setdefault(screen.name, Timed(len(answer.body), answer.whole))

    def _ask(self, screen: Screen, times: int) -> None:
        timed = self.drawn[screen.name]
        before = {whose: read() for whose, read in self.cpu.items()}
        for _ in range(times):
            answer = self.visitor.get(screen.path)
            timed.took.append(answer.seconds)
            timed.bytes = max(timed.bytes, len(answer.body))
        for whose, read in self.cpu.items():
            timed.cpu[whose] = timed.cpu.get(whose, 0.0) + read() - before[whose]

    def some(self, *, whole: bool) -> Mapping[str, Timed]:
        """Pages, or parts of pages; the slowest first."""
        chosen = [(name, each) for name, each in self.drawn.items() if each.whole is whole]
        return dict(sorted(chosen, key=lambda item: item[1].p95, reverse=True))


def _is_drawn(answer: Answer) -> bool:
    return answer.status == 200 and bool(answer.body)
