"""What has to be true of a call before it is made ahead of time, and before its answer is kept.

Each gate is one predicate, and all of them stand in one row: none knows of another, and each keeps
out something that all the others would let through.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from portico.gateway.core.ahead.attempt import Arrival, Attempt
from portico.gateway.core.ahead.predicted import Origin, Source
from portico.gateway.core.ahead.switches import AheadMode
from portico.guard.core.act import Allowed
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC

_Facts_contra = TypeVar("_Facts_contra", contravariant=True)
_Either = TypeVar("_Either", Attempt, Arrival)


class _Predicate(Protocol[_Facts_contra]):
    __name__: str
    """What it is called where it is told that it was closed."""

    def __call__(self, facts: _Facts_contra, /) -> bool: ...


Gate = _Predicate[Attempt]
ArrivalGate = _Predicate[Arrival]

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
    switched_on,
    in_good_standing,
    still_approved,
    pinned_as_foretold,
    only_reads,
    no_workflow,
    stays_here,
    complete,
    fits_its_schema,
    proven,
    worth_it,
    allowed,
    settled,
    awake,
    not_in_the_way,
    few_at_once,
    few_of_one,
    few_a_minute,
    affordable,
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
    same_aim,
    still_on,
    not_overtaken,
    succeeded,
    asked_nothing,
    orders_nothing,
    small_enough,
)


def closed(facts: _Either, gates: Sequence[_Predicate[_Either]]) -> str | None:
    """The name of the first gate that is, if one is."""
    return next((gate.__name__ for gate in gates if not gate(facts)), None)


def _no_strangers(source: Source, attempt: Attempt) -> bool:
    if source.origin is Origin.CONSTANT:
        return True
    if source.origin in {Origin.WORDS, Origin.ARGUMENT}:  # who said it may have it from a stranger
        return not attempt.task.untrusted
    return source.tool is not None and source.tool.server in attempt.trusted
