"""Which calls of a plan that ended are made again when somebody takes it up, or runs it anew from
the middle.

What failed is tried again, unless the plan has gone on without it: where another step stood in for
it, or was done without what it would have given, both would be done otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.engine.core.runs import Run, Step, StepState
from portico.gateway.core.plan.outline import OutlinedStep
from portico.gateway.core.plan.report import StepStanding
from portico.gateway.core.plan.standings import call_of, owner, standings

_GONE_ON: Final = frozenset({StepStanding.DONE, StepStanding.UNCERTAIN})
_SIGNAL: Final = "signal:"
_ASKED: Final = f"{_SIGNAL}~approval:"
_UNKNOWN: Final = f"{_SIGNAL}~uncertain:"
_END: Final = "/~output"


def failed_calls(
    outline: Sequence[OutlinedStep],
    run: Run,
    journal: Sequence[Step],
    begun: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Those that nobody has coped with. `begun`: the steps of which something was done, or may have
    been, that the journal does not say."""
    states = {each.id: each.state for each in standings(outline, run, journal)}
    gone_on = begun | {name for name, state in states.items() if state in _GONE_ON}
    after = _after(outline)
    return frozenset(
        call
        for call, failed in _failed(journal).items()
        if _afterwards(owner(call), after).isdisjoint(gone_on)
        and ("/" not in call or _ended_it(failed, journal, states.get(owner(call))))
    )


def open_calls(journal: Sequence[Step]) -> frozenset[str]:
    """Those that were ended while they waited; but what nobody knows stays so."""
    asked = asked_calls(journal)
    return frozenset(
        _call(step.name, asked)
        for step in journal
        if step.state is StepState.OPEN and not step.name.startswith(_UNKNOWN)
    )


def unread_requests(journal: Sequence[Step]) -> Mapping[str, str]:
    """By call: the request that it waits for, of those that have not read yet what became of it."""
    read = {
        step.name.partition("~approved")[0]
        for step in journal
        if "~approved" in step.name and (step.failure is not None or step.output is not None)
    }
    return {
        call_of(step.name): str(step.output["approval"])
        for step in journal
        if isinstance(step.output, Mapping) and topic_asked(step) and step.name not in read
    }


def inside_of(journal: Sequence[Step]) -> frozenset[str]:
    """The steps that called a saved workflow which has begun, and has not ended."""
    calls = [call_of(step.name) for step in journal if not step.name.startswith(_SIGNAL)]
    inside = {call.rpartition("/")[0] for call in calls if "/" in call}
    ended = {step.name[: -len(_END)] for step in journal if step.name.endswith(_END)}
    return frozenset(owner(call) for call in inside - ended)


def rows_of(calls: frozenset[str], journal: Sequence[Step]) -> frozenset[str]:
    """Whatever the journal says of these, and what was made of them for the plan as a whole."""
    whole = {call.partition("[")[0] for call in calls}
    told = {f"{name}:{what}" for name in whole for what in ("failed", "done")}
    asked = asked_calls(journal)
    return frozenset(
        step.name
        for step in journal
        if step.name in told
        or _call(step.name, asked) in calls
        or step.name.endswith(":skipped")
        or step.name == "~output"
    )


def asked_calls(journal: Sequence[Step]) -> Mapping[str, str]:
    """By the topic under which it hears of the end of its request: each call that asked."""
    return {
        topic: call_of(step.name) for step in journal if (topic := topic_asked(step)) is not None
    }


def topic_asked(step: Step) -> str | None:
    match step.output:
        case {"approval": str(), "topic": str(topic)}:
            return topic
        case _:
            return None


def call_waiting(topic: str) -> str:
    """For somebody's word, under it: `~uncertain:read:1`."""
    return topic.removeprefix("~uncertain:").rpartition(":")[0]


def leg_of(topic: str) -> int | None:
    """Of the run that asked under it: `~approval:read:1`."""
    number = topic.rpartition(":")[2]
    return int(number) if number.isdecimal() else None


def _call(name: str, asked: Mapping[str, str]) -> str:
    """Of what a run waits for too: `signal:~approval:read:1` belongs to `read`."""
    if name.startswith(_ASKED):
        return asked.get(name.removeprefix(_SIGNAL).partition("+")[0], "")
    if name.startswith(_UNKNOWN):
        return call_waiting(name.removeprefix(_SIGNAL))
    return call_of(name)


def _failed(journal: Sequence[Step]) -> Mapping[str, Step]:
    """Also those that could not be begun, of which that is told."""
    return {
        call_of(step.name): step
        for step in journal
        if step.failure is not None or step.name.endswith(":failed")
    }


def _ended_it(failed: Step, journal: Sequence[Step], whole: StepStanding | None) -> bool:
    """Of a step inside a saved workflow, of which it is not known here what stands in for what:
    whether that is not done, and nothing of it was begun and done since it failed."""
    inside = call_of(failed.name).rpartition("/")[0] + "/"
    since = failed.finished_at or failed.started_at
    return whole is not StepStanding.DONE and not any(
        step.name.startswith(inside)
        and ":" not in step.name
        and step.started_at > since
        and step.failure is None
        for step in journal
    )


def _after(outline: Sequence[OutlinedStep]) -> Mapping[str, Sequence[str]]:
    """By step: those that wait for it, or stand in for it."""
    stands_in = {step.stands_in_for: step.id for step in outline if step.stands_in_for}
    after: dict[str, list[str]] = {}
    for step in outline:
        for need in step.needs:
            before: str | None = need
            while before is not None:  # whoever waits for one waits for what stands in for it
                after.setdefault(before, []).append(step.id)
                before = stands_in.get(before)
    for first, name in stands_in.items():
        after.setdefault(first, []).append(name)
    return after


def _afterwards(name: str, after: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    left = [*after.get(name, ())]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += after.get(each, ())
    return found
