"""The console on an installation that has seen much: how soon each screen is drawn and what it
weighs, whether many tabs hear all that happens, and whether everybody can read it."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from benchmarks.bridge_vocabulary import NoWords, vocabulary
from benchmarks.web_house import House, far_end
from benchmarks.web_measured import Measuring
from benchmarks.web_report import report
from benchmarks.web_seeds import AGENT, Seeds
from benchmarks.web_sizes import Sizes
from benchmarks.web_tools import A_SERVER, reads, server_names
from portico.bench.clients import asked, rest
from portico.bench.processes import scratch_home
from portico.bench.report import skipped
from portico.interfaces.cli.terminal import At


def web(  # noqa: PLR0913 # a size each
    *,
    runs: Annotated[int, Parameter(help="Runs of the corpus.")] = 10_000,
    steps: Annotated[int, Parameter(help="Steps of the one long run.")] = 1_000,
    tools: Annotated[int, Parameter(help="Tools, 20 of each server.")] = 1_000,
    messages: Annotated[int, Parameter(help="Messages, in 100 conversations.")] = 100_000,
    debates: Annotated[int, Parameter(help="Debates of the corpus.")] = 500,
    requests: Annotated[int, Parameter(help="Requests of each screen.")] = 40,
    tabs: Annotated[int, Parameter(help="Tabs that hear what happens.")] = 200,
    seconds: Annotated[int, Parameter(help="Seconds for which they do.")] = 60,
    axe: Annotated[Path | None, Parameter(help="The file axe.min.js, if it is not found.")] = None,
    at: At,
) -> int:
    """Pages and their weight, live tabs, and what a browser makes of the console."""
    sizes = Sizes(
        runs=runs,
        steps=steps,
        servers=max(2, tools // A_SERVER),
        tools=tools,
        calls=runs * 10,
        edges=tools * 5,
        messages=messages,
        waiting=max(2, runs // 50),
        debates=debates,
        audit=runs * 2,
        requests=requests,
        tabs=tabs,
        seconds=seconds,
    )
    try:
        vocabulary()
    except NoWords as missing:
        return skipped(at, "web", str(missing))
    settings = {each.path: each.value for each in at.services.settings()}
    with ExitStack() as open_ones:
        progress = open_ones.enter_context(at.working("making a database"))
        home = open_ones.enter_context(scratch_home())
        far = open_ones.enter_context(far_end(sizes, home / "far.log"))
        house = House.at(home, str(settings["database.run_as"] or ""))
        house.made(far)
        open_ones.callback(house.stopped)
        seeds = house.seeded(far, sizes, progress)
        filled = house.filled(seeds, sizes, progress)
        with house.served() as server:
            rested = house.at_rest(server, progress)
            measuring = Measuring(
                house=house,
                server=server,
                places=_places(house, seeds, filled),
                sizes=sizes,
                axe=axe,
                progress=progress,
            )
            measured = measuring.all(filled)
            measured.beside = {"at_rest_after_s": round(rested)}
    return report(measured, sizes).tell(at)


def _places(house: House, seeds: Seeds, filled: Mapping[str, Any]) -> Mapping[str, str]:
    with rest(house.url, house.key()) as owner:
        waiting = asked(owner, "GET", "/approvals?status=waiting&limit=1")["data"]
    server = server_names(1)[0]
    return {
        "run": str(seeds.usual),
        "long": str(seeds.long),
        "open": str(seeds.open),
        "chat": str(seeds.chat),
        "debate": seeds.debate,
        "approval": waiting[0]["id"],
        "agent": AGENT,
        "server": server,
        "tool": reads(server)[0],
        "project": filled["talk"]["project"],
        "talk": filled["talk"]["conversation"],
        "long_project": filled["long_talk"]["project"],
        "long_talk": filled["long_talk"]["conversation"],
        "word": vocabulary()[400],
    }
