"""What has to be true of a call before it is made ahead of time, and before its answer is kept.

Each gate is one predicate, and all of them stand in one row: none knows of another, and each keeps
out something that all the others would let through.
"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from portico.guard.core.access_request import Allowed
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC
from portico.learning.core.prefetch.attempt import Arrival, Attempt
from portico.learning.core.prefetch.predicted import Origin, Source
from portico.learning.core.prefetch.switches import AheadMode

_Either = TypeVar("_Either", Attempt, Arrival)


class NamedGate(NamedTuple, Generic[_Either]):
    name: str
    """What it is called where it is told that it was closed."""
    is_open: Callable[[_Either], bool]


Gate = NamedGate[Attempt]
ArrivalGate = NamedGate[Arrival]

_AT_A_SERVER: Final = 4
"""Calls at once at one that is reached over a network, beyond which nothing is put on top."""
_A_TRIFLE: Final = 1e-9


def switched_on(attempt: Attempt) -> bool:
    return attempt.mode is AheadMode.LIVE


def in_good_standing(attempt: Attempt) -> bool:
    return attempt.stands


def still_approved(attempt: Attempt) -> bool:
    return attempt.act.aim.live


def pinned_as_foretold(attempt: Attempt) -> bool:
    return attempt.act.aim.pin == attempt.wanted.pin


def only_reads(attempt: Attempt) -> bool:
    return attempt.act.aim.effect.reads_only


def no_workflow(attempt: Attempt) -> bool:
    """One makes calls of its own, with a record of them, which nobody could take back."""
    return not attempt.workflows


def stays_here(attempt: Attempt) -> bool:
    """Or may leave: what is sent is nobody's secret, and no stranger has had a say in it."""
    aim = attempt.act.aim
    if aim.effect.rank <= Effect.LOCAL_READ.rank and not aim.outside:
        return True
    sources = [source for each in attempt.wanted.sources.values() for source in each]
    public = attempt.task.label == PUBLIC
    return attempt.external and public and all(_no_strangers(source, attempt) for source in sources)


def complete(attempt: Attempt) -> bool:
    """Nothing in it is made up: of every argument it is known where it comes from."""
    wanted = attempt.wanted
    return wanted.arguments.keys() == wanted.sources.keys() and all(wanted.sources.values())


def fits_its_schema(attempt: Attempt) -> bool:
    return attempt.flaws == 0


def proven(attempt: Attempt) -> bool:
    return attempt.wanted.proven


def worth_it(attempt: Attempt) -> bool:
    return attempt.usual is not None and attempt.usual >= attempt.terms.least_gain


def allowed(attempt: Attempt) -> bool:
    """Nobody is asked to approve what nobody has asked for."""
    return isinstance(attempt.decision, Allowed)


def settled(attempt: Attempt) -> bool:
    return attempt.settled


def awake(attempt: Attempt) -> bool:
    """No process is started for it, and none ended to make room."""
    return attempt.awake


def not_in_the_way(attempt: Attempt) -> bool:
    """Whoever has really asked for something does not wait behind it."""
    most = 1 if attempt.alone else _AT_A_SERVER
    return attempt.busy < most and attempt.use.at_server < most


def few_at_once(attempt: Attempt) -> bool:
    return attempt.use.at_once < attempt.terms.calls_at_once


def few_of_one(attempt: Attempt) -> bool:
    return attempt.use.own_at_once < attempt.terms.calls_a_principal


def few_a_minute(attempt: Attempt) -> bool:
    return attempt.use.last_minute < attempt.terms.calls_a_minute


def affordable(attempt: Attempt) -> bool:
    return attempt.use.spent + attempt.price <= attempt.terms.dollars + _A_TRIFLE


GATES: Final[tuple[Gate, ...]] = (
    Gate("switched_on", switched_on),
    Gate("in_good_standing", in_good_standing),
    Gate("still_approved", still_approved),
    Gate("pinned_as_foretold", pinned_as_foretold),
    Gate("only_reads", only_reads),
    Gate("no_workflow", no_workflow),
    Gate("stays_here", stays_here),
    Gate("complete", complete),
    Gate("fits_its_schema", fits_its_schema),
    Gate("proven", proven),
    Gate("worth_it", worth_it),
    Gate("allowed", allowed),
    Gate("settled", settled),
    Gate("awake", awake),
    Gate("not_in_the_way", not_in_the_way),
    Gate("few_at_once", few_at_once),
    Gate("few_of_one", few_of_one),
    Gate("few_a_minute", few_a_minute),
    Gate("affordable", affordable),
)


def same_aim(arrival: Arrival) -> bool:
    """Its definition, its effect, its labels, its server: all as they were decided about."""
    return arrival.aim == arrival.act.aim


def still_on(arrival: Arrival) -> bool:
    return arrival.on


def not_overtaken(arrival: Arrival) -> bool:
    return not arrival.overtaken


def succeeded(arrival: Arrival) -> bool:
    return not arrival.failed


def asked_nothing(arrival: Arrival) -> bool:
    """Who had been there could have answered, and would have been told something else."""
    return not arrival.asked


def orders_nothing(arrival: Arrival) -> bool:
    return not arrival.orders


def small_enough(arrival: Arrival) -> bool:
    return arrival.size <= arrival.room


ARRIVAL: Final[tuple[ArrivalGate, ...]] = (
    ArrivalGate("same_aim", same_aim),
    ArrivalGate("still_on", still_on),
    ArrivalGate("not_overtaken", not_overtaken),
    ArrivalGate("succeeded", succeeded),
    ArrivalGate("asked_nothing", asked_nothing),
    ArrivalGate("orders_nothing", orders_nothing),
    ArrivalGate("small_enough", small_enough),
)


def closed(facts: _Either, gates: Sequence[NamedGate[_Either]]) -> str | None:
    """The name of the first gate that is, if one is."""
    return next((gate.name for gate in gates if not gate.is_open(facts)), None)


def _no_strangers(source: Source, attempt: Attempt) -> bool:
    if source.origin is Origin.CONSTANT:
        return True
    if source.origin in {Origin.WORDS, Origin.ARGUMENT}:  # who said it may have it from a stranger
        return not attempt.task.untrusted
    return source.tool is not None and source.tool.server in attempt.trusted
