"""People and agents who say all that they know wherever they write, and an oracle that looks on.

Each text that is written has a word of its own and every word that its writer has read before in
the same task. An agent remembers for as long as its key is in use; one of its runs begins with
nothing; a person has a task for each place that they have open.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from portico.bridge.core.attachment import Digest
from portico.bridge.core.conversation import Conversation
from portico.bridge.core.lease import Lease
from portico.bridge.core.message import Message
from portico.bridge.core.project import Project
from portico.bridge.core.task import Work
from portico.gateway.core.call import ResultId
from portico.guard.core.roles import Role
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.bridge.flow_oracle import WORD, FlowOracle
from tests.storm.bridge_lattice import EVERY_LABEL
from tests.storm.bridge_told import as_text
from tests.storm.walled_house import WalledHouse

WHO = (
    ("high", "restricted+finance+law", PrincipalKind.AGENT, Role.MEMBER),
    ("mid", "confidential", PrincipalKind.AGENT, Role.MEMBER),
    ("lawyer", "team+law", PrincipalKind.AGENT, Role.MEMBER),
    ("low", "team", PrincipalKind.AGENT, Role.MEMBER),
    ("ana", "restricted+finance+law", PrincipalKind.PERSON, Role.OPERATOR),
    ("bob", "team+finance", PrincipalKind.PERSON, Role.MEMBER),
)


@dataclass
class Flows:
    house: WalledHouse
    random: Random
    oracle: FlowOracle = field(default_factory=FlowOracle)
    who: list[Principal] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    talks: list[Conversation] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    keys: list[tuple[Project, str]] = field(default_factory=list)
    files: list[Digest] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    results: list[tuple[Principal, ResultId]] = field(default_factory=list)
    lowered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """By which code."""
    verb: str = ""
    """What is being done."""
    writes: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    tried_down: Counter[str] = field(default_factory=Counter)
    """By verb: what was to be less secret than what its writer had read, and was refused."""

    async def move_in(self) -> None:
        for name, clearance, kind, role in WHO:
            self.who.append(await self.house.enters(name, clearance, kind=kind, roles=[role]))
        for label in ("public", "team", "confidential", "team+law"):
            made = await self.house.talk.create_project(
                self.house.afresh(self.house.root), f"house {label}", "", Label.parse(label)
            )
            self.projects.append(made)
            self.talks.append(
                await self.house.talk.create_conversation(
                    self.house.afresh(self.house.root), made.id, f"talk {label}"
                )
            )

    def task(self, who: Principal, place: object) -> str:
        if who.context is not None:
            return f"run {who.context}"
        return f"{who.name} at {place}" if who.kind is PrincipalKind.PERSON else who.name

    def some_label(self) -> Label | None:
        return self.random.choice([None, *map(Label.parse, EVERY_LABEL)])

    def knows(self, who: Principal, place: object, most: int = 1_000) -> str:
        return self.oracle.text(self.task(who, place), most=most)

    def wrote(self, who: Principal, place: object, text: str, label: Label) -> None:
        self.writes[self.verb] += 1
        self.oracle.wrote(self.task(who, place), text, str(label))

    def has_read(self, who: Principal, place: object, told: object) -> None:
        self.reads[self.verb] += 1
        task, cleared = self.task(who, place), str(who.clearance)
        self.oracle.read(task, cleared, WORD.findall(as_text(told)))

    def showed(self, who: Principal, place: object, label: Label) -> None:
        self.writes[self.verb] += 1
        self.oracle.did(self.task(who, place), str(label))

    def one(self, things: Sequence[Any]) -> Any:
        return self.random.choice(things[-40:]) if things else None
