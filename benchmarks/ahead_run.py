"""The runs of `bench ahead`, each in a process of its own: learn from some, foretell others."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.ahead_baselines import FirstOrder
from benchmarks.ahead_foretold import Foretold, Replayed, Words
from benchmarks.ahead_replay import Gateway
from benchmarks.ahead_sessions import Recording
from benchmarks.ahead_splits import Split
from benchmarks.ahead_traces import read_traces
from benchmarks.ahead_truth import LetIn, let_in
from portico.kernel.effect import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Of one run, the part that one split is."""

    run: str
    path: Path
    split: Split
    words: Words = Words.SEARCHES
    traces: bool = False
    lying: bool = False
    """Servers claim that all of their tools only read, and everything is asked for ahead: only
    the operator's look and the gates are between them and a write."""
    strangers: bool = False
    """Those who are asked are not those who have taught."""
    first_order: bool = False


def jobs_of(run: str, path: Path, splits: Iterable[Split], **more: Any) -> list[Job]:  # noqa: ANN401 # of a job
    return [replace(Job(run=run, path=path, split=split), **more) for split in splits]


def go_through(
    jobs: Sequence[Job], progress: Callable[[str], None]
) -> Mapping[str, Sequence[Replayed]]:
    """By run, all of its sessions that were asked."""
    found: dict[str, list[Replayed]] = {job.run: [] for job in jobs}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        begun: dict[Future[list[Sequence[Sequence[Foretold]]]], Job] = {
            pool.submit(work, job): job for job in jobs
        }
        for number, future in enumerate(as_completed(begun)):
            job = begun[future]
            progress(f"foretelling: {number + 1} of {len(jobs)} parts, {job.run}")
            sessions = read(job.path, traces=job.traces).sessions
            found[job.run] += [
                Replayed(sessions[place], foretold)
                for place, foretold in zip(job.split.ask, future.result(), strict=True)
            ]
    return found


def work(job: Job) -> list[Sequence[Sequence[Foretold]]]:
    """What was foretold of each session that is asked."""
    recording = read(job.path, traces=job.traces)
    teach = [recording.sessions[place] for place in job.split.teach]
    ask = [recording.sessions[place] for place in job.split.ask]
    known = let_in(recording, lying=job.lying)
    tools = as_if_here(known) if job.traces else known
    gateway = (
        FirstOrder(tools)
        if job.first_order
        else Gateway(
            tools,
            job.words,
            only_reads=not job.lying,
            strangers=job.strangers,
        )
    )
    gateway.learn(teach)
    return [each.foretold for each in gateway.foretell(ask)]


def as_if_here(tools: Mapping[str, LetIn]) -> Mapping[str, LetIn]:
    """Of the recorded sessions of others nearly all reads leave the machine, which the gates keep
    out by themselves; here each is let through, so that it is the predictor that is measured."""
    return {
        name: replace(tool, effect=Effect.LOCAL_READ) if tool.effect.is_read_only else tool
        for name, tool in tools.items()
    }


@lru_cache(maxsize=2)
def read(path: Path, *, traces: bool) -> Recording:
    return read_traces(path) if traces else Recording.read(path)
