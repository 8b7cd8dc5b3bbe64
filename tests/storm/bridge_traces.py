"""Long traces of people and agents who say all that they know wherever they write."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from psycopg.errors import InsufficientPrivilege

from portico.bridge.core.errors import WriteDown
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from tests.storm import bridge_flows_of_talk as talk
from tests.storm import bridge_flows_of_things as things
from tests.storm import bridge_flows_of_tools as tools
from tests.storm.bridge_flows import Flows
from tests.storm.named import name_of
from tests.storm.walled_house import WalledHouse

Verb = Callable[[Flows, Principal], Awaitable[None]]

VERBS: Sequence[Verb] = (
    *[talk.say] * 4,
    *[talk.read] * 4,
    talk.begin,
    talk.answer,
    talk.edit,
    talk.delete,
    talk.back,
    talk.lists,
    talk.inbox,
    talk.find,
    talk.acknowledge,
    talk.join,
    talk.rename,
    talk.lower,
    *[things.remember] * 2,
    *[things.recall] * 2,
    things.attach,
    things.fetch,
    things.add_work,
    things.look_at_work,
    *[things.do_work] * 2,
    things.lease,
    things.look_at_leases,
    things.presence,
    things.look_who_is_there,
    things.take_out,
    tools.call_tool,
    tools.read_result,
    tools.run,
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
        talk.begin,
        talk.say,
        talk.answer,
        talk.edit,
        talk.delete,
        talk.acknowledge,
        talk.join,
        talk.rename,
        things.remember,
        things.attach,
        things.add_work,
        things.do_work,
        things.lease,
        things.presence,
        tools.call_tool,
    )
)
READS = frozenset(
    name_of(verb)
    for verb in (
        talk.read,
        talk.back,
        talk.lists,
        talk.inbox,
        talk.find,
        things.recall,
        things.fetch,
        things.look_at_work,
        things.look_at_leases,
        things.look_who_is_there,
        things.take_out,
        tools.read_result,
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
