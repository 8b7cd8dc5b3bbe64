"""What a box costs: to start in it, to call a server in it, and to pass the gate of the web."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Final

from cyclopts import Parameter

from benchmarks.box_calls import Calls, measure_calls
from benchmarks.box_code import Code, measure_code
from benchmarks.box_probes import Probed, measure_probes
from benchmarks.box_starts import Starts, measure_starts
from benchmarks.box_web import Requests, measure_requests
from benchmarks.boxes import Boxes, boxes
from portico.bench.report import Report, skipped
from portico.interfaces.cli.terminal import At
from portico.sandbox.core.probes import Backend

_LETTERS: Final = 100


def box(
    *,
    rounds: Annotated[int, Parameter(help="Times that all ways take turns.")] = 6,
    starts: Annotated[int, Parameter(help="Starts of each box a round.")] = 10,
    calls: Annotated[int, Parameter(help="Calls and requests of each way a round.")] = 200,
    at: At,
) -> int:
    """A box beside none: starts, calls of a server in it, the gate of the web, code."""
    run_as = {each.path: each.value for each in at.services.settings()}["box.run_as"]
    with at.working("trying the boxes of this machine") as progress, boxes(str(run_as)) as made:
        measured = asyncio.run(_measure(made, rounds, starts, calls, progress))
        if measured is None:
            return skipped(at, "box", "there is no box on this machine: see `portico doctor`")
    return measured.report(rounds, starts, calls).tell(at)


@dataclass(frozen=True, slots=True)
class _Measured:
    offered: Backend
    probed: Mapping[Backend, Probed]
    starts: Mapping[str, Starts]
    calls: Calls
    requests: Requests
    code: Code

    def report(self, rounds: int, starts: int, calls: int) -> Report:
        bare = self.starts["bare"]
        boxed = {name: each for name, each in self.starts.items() if name != "bare"}
        return Report(
            benchmark="box",
            corpus=f"{rounds * starts} starts of /bin/true in each box and without one, "
            f"{rounds * calls} calls of a stdio server that says back {_LETTERS} letters, in the "
            f"box and without one, {rounds * calls} requests of each client on a kept connection; "
            f"all in {rounds} rounds that take turns; every attempt of the published table",
            figures={
                "shell_start_ratio": round(boxed[self.offered].cpu / bare.cpu, 2),
                **{
                    f"shell_start_ratio_{name}": round(each.cpu / bare.cpu, 2)
                    for name, each in boxed.items()
                },
                "stdio_call_ratio": round(self.calls.boxed / self.calls.bare, 3),
                "code_start_ms": round(self.code.start * 1000, 3),
                "http_guard_ratio": round(self.requests.guarded / self.requests.plain, 2),
                "probes": sum(each.made for each in self.probed.values()),
                "probes_as_declared": sum(each.as_declared for each in self.probed.values()),
            },
            baseline={
                **{f"{name}_start_cpu_ms": _ms(each.cpu) for name, each in self.starts.items()},
                **{f"{name}_start_ms": _ms(each.wall) for name, each in self.starts.items()},
                "bare_stdio_call_ms": _ms(self.calls.bare),
                "boxed_stdio_call_ms": _ms(self.calls.boxed),
                "plain_request_ms": _ms(self.requests.plain),
                "guarded_request_ms": _ms(self.requests.guarded),
                "plain_connection_ms": _ms(self.requests.plain_fresh),
                "guarded_connection_ms": _ms(self.requests.guarded_fresh),
                "code_first_ms": _ms(self.code.first),
            },
            conditions={
                "offered": self.offered,
                "call_ratios_by_round": [round(each, 3) for each in self.calls.by_round],
                "request_ratios_by_round": [round(each, 2) for each in self.requests.by_round],
                "not_as_declared": [
                    f"{name}: {each}" for name, found in self.probed.items() for each in found.wrong
                ],
                "pydantic-monty": version("pydantic-monty"),
                "httpx2": version("httpx2"),
            },
        )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


async def _measure(
    made: Boxes, rounds: int, starts: int, calls: int, progress: Callable[[str], None]
) -> _Measured | None:
    progress("making every attempt to get out of each box")
    probed = await measure_probes(made)
    if not probed:
        return None
    offered = min(probed, key=lambda each: len(probed[each].wrong))
    progress("starting /bin/true")
    started = await measure_starts(made, list(probed), rounds, starts)
    progress("calling a server")
    called = await measure_calls(made, offered, rounds, calls)
    progress("asking the web")
    asked = await measure_requests(rounds, calls)
    progress("running code")
    return _Measured(offered, probed, started, called, asked, await measure_code(calls))
