"""Running ahead, measured: what repeated work over real servers gains by it, and what it costs."""

import logging
import os
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from benchmarks.ahead_flood import flood
from benchmarks.ahead_foretold import Words
from benchmarks.ahead_record import SERVERS, Plan, record_now
from benchmarks.ahead_report import Runs
from benchmarks.ahead_run import Job, go_through, jobs_of
from benchmarks.ahead_sessions import Recording
from benchmarks.ahead_splits import FOLDS, by_session, by_template
from benchmarks.ahead_traces import TRACES, read_traces
from benchmarks.real_programs import find_programs
from portico.bench.report import skipped
from portico.interfaces.cli.terminal import At
from portico.kernel.json import canonical

_SEED: Final = 20


def ahead(  # noqa: PLR0913 # the options of a command
    *,
    data: Annotated[Path | None, Parameter(help="Folder of the evaluation data.")] = None,
    sessions: Annotated[int, Parameter(help="Sessions that are recorded.")] = 3_000,
    seed: Annotated[int, Parameter(help="Of the world and of the work in it.")] = _SEED,
    folds: Annotated[int, Parameter(help="Of five parts, how many are asked.")] = FOLDS,
    observations: Annotated[int, Parameter(help="Calls for the memory figure.")] = 1_000_000,
    programs: Annotated[
        list[Path] | None, Parameter(help="Folders with the programs of real servers.")
    ] = None,
    install: Annotated[
        bool, Parameter(help="Install the programs that are not found, into a folder of ours.")
    ] = True,
    at: At,
) -> int:
    """What repeated work over real servers gains by calls made ahead, and what they cost."""
    traces = (data or Path(os.environ.get("PORTICO_BENCH_DATA", ""))) / TRACES
    if not traces.is_file():
        return skipped(at, "ahead", f"no {TRACES} in {str(traces.parent.parent)!r}")
    logging.getLogger("mcp").setLevel(logging.ERROR)
    ours = at.services.encoders().folder.parent / "bench"
    with at.working("looking for servers") as progress:
        found = find_programs(
            list(SERVERS.values()), programs or [], ours / "servers" if install else None
        )
        if missing := found.missing(SERVERS.values()):
            return skipped(at, "ahead", f"{', '.join(missing)} not found; see --programs")
        plan = Plan(seed, sessions)
        path = ours / "ahead" / f"{sha256(canonical(plan.told())).hexdigest()[:16]}.json"
        if not path.is_file():
            record_now(plan, found, ours / "ahead" / "world", progress).write(path)
        runs = Runs(
            Recording.read(path),
            read_traces(traces),
            go_through(jobs(path, traces, folds), progress),
        )
        progress("filling a memory")
        memory = flood(observations)
    return runs.report(memory).tell(at)


def jobs(path: Path, traces: Path, most: int) -> list[Job]:
    """Of what is only told beside the rest, two parts are enough."""
    recording, recorded = Recording.read(path), read_traces(traces)
    folds, unseen = by_session(recording)[:most], by_template(recording)[:most]
    others = by_session(recorded)
    return [
        *jobs_of("ordinary", path, folds),
        *jobs_of("intent", path, folds, words=Words.INTENT),
        *jobs_of("unseen", path, unseen, strangers=True),
        *jobs_of("unseen_intent", path, unseen[:2], words=Words.INTENT, strangers=True),
        *jobs_of("unseen_by_known", path, unseen[:2]),
        *jobs_of("wordless", path, folds[:2], words=Words.NONE),
        *jobs_of("lying", path, folds[:1], lying=True),
        *jobs_of("real", traces, others, traces=True),
        *jobs_of("real_intent", traces, others, traces=True, words=Words.INTENT),
        *jobs_of("first_order", path, folds, first_order=True),
    ]
