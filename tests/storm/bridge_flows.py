"""People and agents who say all that they know wherever they write, and an oracle that looks on.

Each text that is written has a word of its own and every word that its writer has read before in
the same task. An agent remembers for as long as its key is in use; one of its runs begins with
nothing; a person has a task for each place that they have open."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from psycopg.errors import InsufficientPrivilege

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import WriteDown
from portico.bridge.core.leases import Lease, LeaseSpec
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import Message, NewMessage
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import NewWorkItem, WorkEnded, WorkItem
from portico.gateway.core.calls import ResultId, ToolResult
from portico.gateway.results import ReadResult, StoreResult
from portico.guard.core.contexts import OpenedContext
from portico.guard.core.principals import Role
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.bridge.flow_oracle import WORD, FlowOracle
from tests.storm.deck import name_of
from tests.storm.leak_oracle import EVERY_LABEL, as_text
from tests.storm.walled_house import TOP, WalledHouse

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
    works: list[WorkItem] = field(default_factory=list)
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


async def begin(flows: Flows, who: Principal) -> None:
    if flows.random.random() < 0.3:
        text = flows.knows(who, "a new project", 90)
        made = await flows.house.talk.create_project(who, text, text, flows.some_label())
        flows.wrote(who, "a new project", text, made.label)
        flows.projects.append(made)
        return
    project = flows.one(flows.projects)
    title = flows.knows(who, project.id, 190)
    talk = await flows.house.talk.create_conversation(
        who,
        project.id,
        title,
        label=flows.some_label(),
        closed=flows.random.random() < 0.2,
        participants=[flows.random.choice(flows.who).id],
    )
    flows.wrote(who, project.id, title, talk.label)
    flows.talks.append(talk)


async def say(flows: Flows, who: Principal, to: Message | None = None) -> None:
    talk = to.conversation if to is not None else flows.one(flows.talks).id
    body = flows.knows(who, talk)
    files = (flows.one(flows.files),) if flows.files and flows.random.random() < 0.1 else ()
    sent = await flows.house.talk.send_message(
        who,
        NewMessage(
            conversation=talk,
            body=body,
            label=flows.some_label(),
            reply_to=None if to is None else to.id,
            attachments=files,
        ),
    )
    flows.wrote(who, talk, body, sent.message.label)
    flows.said.append(sent.message)


async def answer(flows: Flows, who: Principal) -> None:
    if its := flows.one(flows.said):
        await say(flows, who, its)


async def edit(flows: Flows, who: Principal) -> None:
    own = [its for its in flows.said if its.sender == who.id]
    if its := flows.one(own):
        body = flows.knows(who, its.conversation)
        now = await flows.house.talk.edit_message(who, its.id, body)
        flows.wrote(who, its.conversation, body, now.label)
        flows.said[flows.said.index(its)] = now


async def delete(flows: Flows, who: Principal) -> None:
    if (its := flows.one(flows.said)) and flows.random.random() < 0.3:
        await flows.house.talk.delete_message(who, its.id)
        flows.showed(who, its.conversation, its.label)


async def read(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks).id
    upto = flows.some_label() if flows.random.random() < 0.4 else None
    page = await flows.house.talk.read_messages(who, [talk], upto=upto)
    flows.has_read(who, talk, page.messages)


async def back(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks).id
    page = await flows.house.talk.look_back(who, talk, limit=flows.random.randint(1, 9))
    flows.has_read(who, talk, page.messages)
    if its := flows.one([each for each in flows.said if each.conversation == talk]):
        versions = await flows.house.talk.show_versions(who, its.id)
        flows.has_read(who, talk, versions)


async def lists(flows: Flows, who: Principal) -> None:
    upto = flows.some_label()
    projects = await flows.house.talk.list_projects(who, upto=upto)
    flows.has_read(who, "inbox", projects)
    talks = await flows.house.talk.list_conversations(who, upto=upto)
    flows.has_read(who, "inbox", talks)


async def inbox(flows: Flows, who: Principal) -> None:
    shown = await flows.house.talk.show_inbox(who, upto=flows.some_label())
    flows.has_read(who, "inbox", shown)


async def find(flows: Flows, who: Principal) -> None:
    word = f"w{flows.random.randint(1, len(flows.oracle.born) + 1)}"
    hits = await flows.house.talk.search_messages(who, word, upto=flows.some_label())
    flows.has_read(who, "inbox", hits)


async def acknowledge(flows: Flows, who: Principal) -> None:
    if its := flows.one(flows.said):
        await flows.house.talk.acknowledge(who, its.id)
        flows.showed(who, its.conversation, its.label)


async def join(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks)
    await flows.house.talk.join(who, talk.id)
    flows.showed(who, talk.id, talk.label)


async def rename(flows: Flows, who: Principal) -> None:
    if flows.random.random() < 0.5:
        talk = flows.one(flows.talks)
        title = flows.knows(who, talk.id, 190)
        now = await flows.house.talk.change_conversation(who, talk.id, title=title)
        flows.wrote(who, talk.id, title, now.label)
    else:
        project = flows.one(flows.projects)
        text = flows.knows(who, project.id, 190)
        its = await flows.house.talk.change_project(who, project.id, description=text)
        flows.wrote(who, project.id, text, its.label)


async def lower(flows: Flows, who: Principal) -> None:
    """The one way down: there is a signed record of each."""
    its = flows.one(flows.said)
    if its is None or who.context is not None:
        return
    talk = next(each for each in flows.talks if each.id == its.conversation)
    if its.label == talk.label:
        return
    was = len(await _records(flows, its))
    await flows.house.lowered(who, its.id, talk.label)
    [last] = (
        await flows.house.talk.look_back(_all_seeing(flows), its.conversation, limit=1)
    ).messages
    records = await _records(flows, its)
    if last.id not in [record.copy for record in records]:
        return
    assert len(records) == was + 1
    assert all(record.sound for record in records)
    flows.lowered += 1
    for word in WORD.findall(last.body):
        flows.oracle.let_out[word].add(str(talk.label))
    flows.has_read(who, its.conversation, [last])
    flows.said.append(last)


def _all_seeing(flows: Flows) -> Principal:
    return flows.house.afresh(flows.house.root)


async def _records(flows: Flows, its: Message) -> Sequence[Any]:
    return await flows.house.use_cases.letting_out.list_declassifications(
        _all_seeing(flows), its.id
    )


async def remember(flows: Flows, who: Principal) -> None:
    """What an agent sums up for the next one, too."""
    project = flows.one(flows.projects)
    key, value = f"key {flows.random.randrange(6)}", flows.knows(who, project.id)
    if flows.random.random() < 0.4:
        key = flows.knows(who, project.id, 190)
    wish = ToRemember(
        project=project.id, key=key, value={"summary": value}, label=flows.some_label()
    )
    kept = await flows.house.things.remember(who, wish)
    flows.wrote(who, project.id, f"{key} {value}", kept.label)
    flows.keys.append((project, key))


async def recall(flows: Flows, who: Principal) -> None:
    things, found = flows.house.things, flows.one(flows.keys)
    if found is None:
        return
    project, key = found
    match flows.random.randrange(4):
        case 0:
            told: object = await things.recall(who, project.id, key)
        case 1:
            told = await things.list_memory(who, project.id)
        case 2:
            told = await things.search_memory(who, project.id, key)
        case _:
            told = await things.memory_history(who, project.id, key)
    flows.has_read(who, project.id, told)


async def attach(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    text = flows.knows(who, project.id)
    made = await flows.house.things.attach(
        who, project.id, text[:190], "text/plain", text.encode(), flows.some_label()
    )
    flows.wrote(who, project.id, text, made.label)
    flows.files.append(made.digest)


async def fetch(flows: Flows, who: Principal) -> None:
    if digest := flows.one(flows.files):
        told = await flows.house.things.fetch_attachment(who, digest)
        flows.has_read(who, "inbox", told)


async def add_work(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    title, body = flows.knows(who, project.id, 190), flows.knows(who, project.id)
    theirs = [each.id for each in flows.works if each.project == project.id]
    some = tuple(flows.random.sample(theirs, min(1, len(theirs))))
    depends = some if flows.random.random() < 0.3 else ()
    wish = NewWorkItem(
        project=project.id, title=title, body=body, label=flows.some_label(), depends=depends
    )
    made = await flows.house.things.add_work(who, wish)
    flows.wrote(who, project.id, f"{title} {body}", made.label)
    flows.works.append(made)


async def look_at_work(flows: Flows, who: Principal) -> None:
    if work := flows.one(flows.works):
        flows.has_read(who, work.project, await flows.house.things.show_work(who, work.id))
        told = await flows.house.things.list_work(who, work.project)
        flows.has_read(who, work.project, told)


async def do_work(flows: Flows, who: Principal) -> None:
    if work := flows.one(flows.works):
        its = await flows.house.things.claim_work(who, work.id)
        flows.showed(who, work.project, its.label)
        flows.has_read(who, work.project, its)
        outcome = flows.knows(who, work.project)
        ended = WorkEnded(work=work.id, token=its.token, outcome=outcome)
        await flows.house.things.end_work(who, ended)
        flows.wrote(who, work.project, outcome, its.label)


async def lease(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    purpose = flows.knows(who, project.id, 290)
    wish = LeaseSpec(
        project=project.id,
        resource=f"src/{flows.random.randrange(1_000_000)}",
        purpose=purpose,
        lasts=timedelta(seconds=1),
    )
    held = await flows.house.things.take_lease(who, wish)
    flows.wrote(who, project.id, purpose, project.label)
    flows.leases.append(held)
    await flows.house.things.release_lease(who, held.id, held.token)
    flows.showed(who, project.id, project.label)


async def look_at_leases(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    told = await flows.house.things.list_leases(who, project.id)
    flows.has_read(who, project.id, told)


async def presence(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    note = flows.knows(who, project.id, 190)
    await flows.house.things.say_presence(who, project.id, PresenceStatus.BUSY, note)
    flows.wrote(who, project.id, note, project.label)


async def look_who_is_there(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    told = await flows.house.things.list_presence(who, project.id)
    flows.has_read(who, project.id, told)


async def take_out(flows: Flows, who: Principal) -> None:
    """For a person it is a task of its own."""
    project = flows.one(flows.projects)
    lines = await flows.house.use_cases.letting_out.export_project(who, project.id)
    flows.has_read(who, f"the export of {project.id}", [line async for line in lines])


HERE = "the place of no conversation"


async def call_tool(flows: Flows, who: Principal) -> None:
    """It is told all that the caller knows, adds a word, and its answer is kept for later."""
    text = flows.knows(who, HERE)
    keep = StoreResult(
        results=flows.house.results,
        clock=flows.house.doors.clock,
        entropy=flows.house.doors.entropy,
        page_size=1,
    )
    label = flows.some_label() or Label.parse("public")
    answer = ToolResult([{"type": "text", "text": text}])
    _, result = await keep(who, answer, label=label, untrusted=True)
    assert result is not None
    kept = await flows.house.results.get(
        replace(who, clearance=TOP), result, flows.house.doors.clock.now()
    )
    flows.wrote(who, HERE, text, kept.label)
    flows.results.append((who, result))


async def read_result(flows: Flows, who: Principal) -> None:
    """In whichever task of the same principal."""
    own = [result for whose, result in flows.results if whose.id == who.id]
    if result := flows.one(own):
        read = ReadResult(
            results=flows.house.results,
            contexts=flows.house.doors.contexts,
            clock=flows.house.doors.clock,
            page_size=100_000,
        )
        flows.has_read(who, HERE, await read(who, result))


async def run(flows: Flows, who: Principal) -> None:
    """Our own runner begins with an empty list of messages, and so with a clean task."""
    agents = [each for each in flows.who if each.kind is PrincipalKind.AGENT]
    at = flows.house.doors.clock.now()
    opened = OpenedContext(
        id=ContextId.mint(at, flows.house.doors.entropy),
        principal=flows.random.choice(agents).id,
        name="a run",
        opened_at=at,
    )
    its = next(each for each in agents if each.id == opened.principal)
    runner = replace(its, key=None, context=opened.id)
    contexts: Any = flows.house.doors.contexts
    await contexts.open(runner, opened)
    flows.who = [each for each in flows.who if each.context is None] + [runner]


Verb = Callable[[Flows, Principal], Awaitable[None]]

VERBS: Sequence[Verb] = (
    *[say] * 4,
    *[read] * 4,
    begin,
    answer,
    edit,
    delete,
    back,
    lists,
    inbox,
    find,
    acknowledge,
    join,
    rename,
    lower,
    *[remember] * 2,
    *[recall] * 2,
    attach,
    fetch,
    add_work,
    look_at_work,
    *[do_work] * 2,
    lease,
    look_at_leases,
    presence,
    look_who_is_there,
    take_out,
    call_tool,
    read_result,
    run,
)
BY_THE_DATABASE = "insufficient_privilege"


async def traced(house: WalledHouse, seed: int, steps: int) -> Flows:
    """Raises `Leak`, as soon as something has flown down."""
    flows = Flows(house, Random(seed))
    await flows.move_in()
    for _ in range(steps):
        await _step(flows, flows.random.choice(VERBS))
    return flows


async def _step(flows: Flows, verb: Verb) -> None:
    flows.verb = name_of(verb)
    try:
        await verb(flows, flows.random.choice(flows.who))
    except WriteDown as error:
        flows.tried_down[flows.verb] += 1
        flows.refused[error.code] += 1
    except PorticoError as error:  # nothing was told, nothing was done
        flows.refused[error.code] += 1
    except InsufficientPrivilege:  # no use case would have asked for it
        flows.refused[BY_THE_DATABASE] += 1


WRITES = frozenset(
    name_of(verb)
    for verb in (
        begin,
        say,
        answer,
        edit,
        delete,
        acknowledge,
        join,
        rename,
        remember,
        attach,
        add_work,
        do_work,
        lease,
        presence,
        call_tool,
    )
)
READS = frozenset(
    name_of(verb)
    for verb in (
        read,
        back,
        lists,
        inbox,
        find,
        recall,
        fetch,
        look_at_work,
        look_at_leases,
        look_who_is_there,
        take_out,
        read_result,
    )
)


@dataclass
class Traces:
    """Of many, all that was done in them."""

    many: int = 0
    flows: int = 0
    lowered: int = 0
    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    tried_down: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def note(self, flows: Flows) -> None:
        self.many += 1
        self.flows += flows.oracle.flows
        self.lowered += flows.lowered
        self.reads += flows.reads
        self.writes += flows.writes
        self.tried_down += flows.tried_down
        self.refused += flows.refused

    def __str__(self) -> str:
        return (
            f"{self.many} traces: {self.writes.total()} writes of {len(self.writes)} kinds,"
            f" {self.reads.total()} reads of {len(self.reads)}, {self.flows} words written on;"
            f" {self.refused.total()} refused, {self.tried_down.total()} of them as writing down,"
            f" by {len(self.tried_down)} kinds of writes, {self.refused[BY_THE_DATABASE]} by the"
            f" database as beyond the writer; {self.lowered} lowered with a record"
        )
