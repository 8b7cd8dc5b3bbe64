"""Plans of many calls: how near they come to their critical path, and what they cost beside the
same graph on the bare client and on bare DBOS, taking turns in one run."""

import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any, Final

from cyclopts import Parameter

from benchmarks.real_programs import find_programs
from benchmarks.workflow_child import SERVERS
from benchmarks.workflow_children import Child, Timed, child
from benchmarks.workflow_five import PROGRAMS, launches, make_world
from benchmarks.workflow_shapes import Shape, narrow, star, wide
from benchmarks.workflow_tools import PROGRAM
from portico.bench.clients import let_in, rest
from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At
from portico.kernel.json import JsonValue

_WHERE: Final = {"inline": "ours", "durable": "ours", "calls": "ours", "five": "ours"}
"""In which process each way is; the others are in one that is called as they are."""
_CPU: Final = Shape("star 200", star(200), 0.1)


def workflow(
    *,
    rounds: Annotated[int, Parameter(help="Times that all ways take turns.")] = 3,
    plans: Annotated[int, Parameter(help="Plans of five tools over real servers.")] = 40,
    programs: Annotated[
        list[Path] | None, Parameter(help="Folders with the programs of real servers.")
    ] = None,
    install: Annotated[
        bool, Parameter(help="Install the programs that are not found, into a folder of ours.")
    ] = True,
    at: At,
) -> int:
    """Plans beside their critical path, the bare client and bare DBOS."""
    settings = {each.path: each.value for each in at.services.settings()}
    ours = at.services.encoders().folder.parent / "bench" / "servers"
    with at.working("looking for servers") as progress, ExitStack() as open_ones:
        wanted = list(PROGRAMS.values())
        found = find_programs(wanted, programs or [], ours if install else None)
        lacking = found.missing(wanted)
        progress("making a database")
        home = open_ones.enter_context(scratch_home())
        env = _environment(home, str(settings["database.run_as"] or ""))
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        url = f"http://127.0.0.1:{env['PORTICO_SERVER__PORT']}"
        open_ones.enter_context(
            answering([*PORTICO, "serve"], f"{url}/readyz", env, home / "server.log")
        )
        key = (home / "config" / "client.key").read_text().strip()
        with rest(url, key) as client:
            for name, arguments in SERVERS.items():
                let_in(client, name, _stdio([*PROGRAM, *arguments]))
            if not lacking:
                make_world(home / "world")
                for name, launch in launches(found, home / "world").items():
                    let_in(client, name, launch)
        works = {**env, "PORTICO_ENGINE__WORK": "true"}
        children = {
            name: open_ones.enter_context(child(name, works, home))
            for name in ("ours", "client", "dbos")
        }
        measured = Measured(children)
        measured.warm()
        for number in range(rounds):
            progress(f"measuring: round {number + 1} of {rounds}")
            measured.round(number, progress)
        if not lacking:
            progress("measuring five tools of real servers")
            measured.five(home / "world", plans)
    return measured.report(rounds, plans, lacking).tell(at)


def _environment(home: Path, run_as: str) -> dict[str, str]:
    return environment(
        PORTICO_HOME=str(home),
        PORTICO_SERVER__PORT=str(free_port()),
        PORTICO_DATABASE__RUN_AS=run_as,
        PORTICO_LIMITS__CALLS_A_MINUTE="0",
        PORTICO_ENGINE__WORK="false",
        PORTICO_LOG__LEVEL="error",
    )


def _stdio(command: Sequence[str]) -> Mapping[str, Any]:
    return {"type": "stdio", "command": command[0], "arguments": list(command[1:])}


@dataclass(slots=True)
class Measured:
    children: Mapping[str, Child]
    took: dict[tuple[str, str, str], list[Timed]] = field(default_factory=lambda: defaultdict(list))
    """By way, server and shape, a round after the other."""

    def warm(self) -> None:
        small = Shape("warm", star(200), 0.01)
        for way in ("client", "dbos", "calls", "inline", "durable"):
            for server in SERVERS:
                self._timed(way, small, server)

    def round(self, number: int, progress: Callable[[str], None]) -> None:
        for shape in narrow():
            self.turns(number, shape, ["inline", "durable"])
        for shape in wide():
            progress(f"measuring: round {number + 1}, {shape}")
            self.turns(number, shape, ["inline", "client"])
            self.turns(number, shape, ["durable", "dbos"])
            if shape.nominal < 1:
                self.turns(number, shape, ["inline", "client", "calls"], "lean")
        self.turns(number, _CPU, ["calls"])

    def turns(self, number: int, shape: Shape, ways: Sequence[str], server: str = "seeded") -> None:
        """Another begins each time, so that none always comes after the same one."""
        first = number % len(ways)
        for way in (*ways[first:], *ways[:first]):
            self.took[way, server, str(shape)].append(self._timed(way, shape, server))

    def five(self, world: Path, plans: int) -> None:
        """The first finds no server running and starts all five; it is told by itself."""
        shape = Shape(str(world), {}, 0)
        self.took["five", "", "first"].append(self._timed("five", shape, ""))
        for _ in range(plans):
            self.took["five", "", "five"].append(self._timed("five", shape, ""))

    def _timed(self, way: str, shape: Shape, server: str) -> Timed:
        return self.children[_WHERE.get(way, way)].timed(way, shape, server)

    def seconds(self, way: str, shape: Shape, server: str = "seeded") -> float:
        return median(each["seconds"] for each in self.took[way, server, str(shape)])

    def cpu_ms(self, way: str, shape: Shape, server: str = "seeded") -> float:
        """Of the process that carries it out, a step."""
        return median(e["cpu"] for e in self.took[way, server, str(shape)]) / shape.steps * 1000

    def efficiency(self, way: str, shape: Shape, server: str = "seeded") -> float:
        return shape.critical_path / self.seconds(way, shape, server)

    def over(self, way: str, bare: str, shape: Shape, server: str = "seeded") -> float:
        """The middle one of the rounds: those of one round were measured side by side."""
        pairs = zip(
            self.took[way, server, str(shape)], self.took[bare, server, str(shape)], strict=True
        )
        return median(one["seconds"] / other["seconds"] for one, other in pairs)

    def report(self, rounds: int, plans: int, lacking: Sequence[str]) -> Report:
        narrow_ones, wide_ones = narrow(), wide()
        quick = [shape for shape in wide_ones if shape.nominal < 1]
        inline = {str(each): self.over("inline", "client", each) for each in wide_ones}
        durable = {str(each): self.over("durable", "dbos", each) for each in wide_ones}
        lean = {str(each): self.over("inline", "client", each, "lean") for each in quick}
        return Report(
            benchmark="workflow",
            corpus="chain of 10, diamond, star of 5 with steps of 1 s; stars of 20 and 200, random "
            "graphs of 200 with steps of 0.1 s and 1 s, give or take a tenth by a seed; "
            f"{rounds} rounds that take turns; a stdio server on the official library, and a lean "
            f"one; {plans} plans of five tools of five real servers, after one that started them",
            figures={
                "efficiency_inline": _worst(
                    self.efficiency("inline", each) for each in narrow_ones
                ),
                "efficiency_durable": _worst(
                    self.efficiency("durable", each) for each in narrow_ones
                ),
                "scheduler_cpu_ms_per_step": round(self._scheduling(), 3),
                "wide_over_bare_client": round(max(inline.values()), 2),
                "wide_over_bare_dbos": round(max(durable.values()), 2),
                "five_tool_p95_s": self._five(lacking),
            },
            baseline={
                "bare_client_efficiency": self._efficiencies("client", wide_ones),
                "bare_dbos_efficiency": self._efficiencies("dbos", wide_ones),
                "bare_client_cpu_ms_per_step": round(self.cpu_ms("client", _CPU), 3),
                "bare_dbos_cpu_ms_per_step": round(self.cpu_ms("dbos", _CPU), 3),
                "calls_cpu_ms_per_step": round(self.cpu_ms("calls", _CPU), 3),
            },
            conditions={
                "mcp": version("mcp"),
                "inline_efficiency": self._efficiencies("inline", [*narrow_ones, *wide_ones]),
                "durable_efficiency": self._efficiencies("durable", [*narrow_ones, *wide_ones]),
                "inline_over_client": _rounded(inline),
                "durable_over_dbos": _rounded(durable),
                "lean_inline_over_client": _rounded(lean),
                "inline_cpu_ms_per_step": round(self.cpu_ms("inline", _CPU), 3),
                "durable_cpu_ms_per_step": round(self.cpu_ms("durable", _CPU), 3),
                "five_tool_first_s": [
                    round(each["seconds"], 3) for each in self.took["five", "", "first"]
                ],
            },
        )

    def _scheduling(self) -> float:
        """What a plan takes beyond the same calls, made without one."""
        return self.cpu_ms("inline", _CPU) - self.cpu_ms("calls", _CPU)

    def _efficiencies(self, way: str, shapes: Sequence[Shape]) -> dict[str, JsonValue]:
        return {str(each): round(self.efficiency(way, each), 3) for each in shapes}

    def _five(self, lacking: Sequence[str]) -> JsonValue:
        if lacking:
            return f"skipped: {', '.join(lacking)} not found; give their folders by --programs"
        took = [each["seconds"] for each in self.took["five", "", "five"]]
        return round(quantiles(took, n=20)[-1], 3)


def _worst(efficiencies: Iterable[float]) -> float:
    return round(min(efficiencies), 3)


def _rounded(figures: Mapping[str, float]) -> dict[str, JsonValue]:
    return {name: round(value, 2) for name, value in figures.items()}
