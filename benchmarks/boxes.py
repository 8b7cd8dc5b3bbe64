"""The boxes of this machine, for a benchmark: not the ones of a running Portico."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox.bubblewrap import BubblewrapSandbox
from portico.adapters.sandbox.cgroup import find_groups
from portico.adapters.sandbox.landlock import LandlockSandbox
from portico.bench.processes import scratch_home
from portico.sandbox.core.probes import Backend, Report
from portico.sandbox.requests import Sandbox


@dataclass(frozen=True, slots=True)
class Boxes:
    folder: Path
    run_as: str
    by_name: Mapping[Backend, Sandbox]


@contextmanager
def boxes(run_as: str) -> Iterator[Boxes]:
    logging.getLogger("portico.web").setLevel(logging.ERROR)  # refusals are counted
    groups = find_groups()
    with scratch_home() as folder:
        made = {
            backend: kind(
                hidden=(),
                run_as=run_as,
                dialer=Dialer(),
                report=Report(backend=backend, cgroup=groups is not None),
                groups=groups,
            )
            for backend, kind in (
                (Backend.BUBBLEWRAP, BubblewrapSandbox),
                (Backend.LANDLOCK, LandlockSandbox),
            )
        }
        yield Boxes(folder, run_as, made)


def by_round(took: Sequence[float], beside: Sequence[float], count: int) -> Sequence[float]:
    """How the medians of each round compare, to see how steady they are."""
    starts = range(0, len(took), count)
    return [median(took[at : at + count]) / median(beside[at : at + count]) for at in starts]
