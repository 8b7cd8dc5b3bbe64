"""The processor time of a database of our own: all of its processes, those that have ended too."""

from pathlib import Path

import psutil


def postgres_cpu(home: Path) -> float:
    """Seconds since it was started."""
    (pid_file,) = (home / "data" / "postgres").glob("*/postmaster.pid")
    postmaster = psutil.Process(int(pid_file.read_text(encoding="utf-8").split()[0]))
    reaped = postmaster.cpu_times()
    living = [_of(each) for each in (postmaster, *postmaster.children(recursive=True))]
    return reaped.children_user + reaped.children_system + sum(living)


def _of(process: psutil.Process) -> float:
    try:
        used = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return used.user + used.system
