"""One debate while it is carried on: who acts in it, and what is known of it so far."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from portico.debate.core.debate import Debate
from portico.debate.core.note import Note
from portico.debate.core.panel import Panel
from portico.debate.core.persona import Persona
from portico.debate.core.spending import Left
from portico.debate.core.table import Table
from portico.debate.starter import Starter
from portico.debate.stop_watch import StopWatch
from portico.kernel.durable import Durable
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

_LONGEST_STEP: Final = 250


@dataclass(slots=True)
class Secrecy:
    """Of all that was read in a task. An analysis and its parts share one, as they share the
    task: what one of them has read, all of them may tell."""

    label: Label


@dataclass(slots=True, kw_only=True)
class Leg:
    durable: Durable
    starter: Starter
    debate: Debate
    notes: tuple[Note, ...]
    panel: Panel
    personas: Mapping[str, Persona]
    secrecy: Secrecy
    lost: frozenset[str]
    """Names of what was under way when somebody else was cut off, and which stays charged."""
    watch: StopWatch
    tokenizer: Tokenizer
    posted: set[str] = field(default_factory=set)
    wanted_told: bool = False
    """Whether guests were called for, in this leg."""
    waits: Counter[str] = field(default_factory=Counter)
    """How often each topic was waited for, in this leg."""
    _counted: dict[str, int] = field(default_factory=dict)

    @property
    def caller(self) -> Principal:
        """Whoever started it, at the debate's own task."""
        return self.starter.worker

    @property
    def label(self) -> Label:
        return self.secrecy.label

    def risen(self, label: Label) -> None:
        self.secrecy.label = join([self.secrecy.label, label])

    @property
    def shared(self) -> bool:
        """Whether others see it: then its label stays as it is, or it would vanish before them."""
        return not self.debate.private or self.debate.guests > 0

    def step(self, name: str) -> str:
        """Parts of an analysis are carried out in its run."""
        whole = name if self.debate.part_of is None else f"{self.debate.id}/{name}"
        if len(whole) <= _LONGEST_STEP:
            return whole
        return hashlib.sha256(whole.encode()).hexdigest()

    def reservation(self, name: str) -> str:
        """Another one where the first was lost: what nobody knows the cost of stays charged. It is
        numbered in front, where the name of no voice is."""
        number, found = 1, name
        while found in self.lost:
            number += 1
            found = f"{number}~{name}"
        return found

    def count(self, text: str) -> int:
        """Most of what is counted was counted before."""
        if text not in self._counted:
            self._counted[text] = self.tokenizer.count(text)
        return self._counted[text]

    def table(self, left: Left, now: datetime) -> Table:
        return Table(
            debate=replace(self.debate, label=join([self.debate.label, self.label])),
            notes=self.notes,
            panel=self.panel,
            personas=self.personas,
            left=left,
            count=self.count,
            now=now,
            posted=frozenset(self.posted),
        )
