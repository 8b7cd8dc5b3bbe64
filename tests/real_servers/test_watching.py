"""Whoever watches the gateway sees what there is to see."""

import os
import subprocess
import sys

from tests.real_servers.watching import Watching, eventually

NAP = [sys.executable, "-I", "-S", "-c", "input()"]
MARK = f"watched-{os.getpid()}"


def test_each_group_of_marked_processes_counts_once() -> None:
    watching = Watching(os.getpid(), MARK)
    marked = {**os.environ, "MARK": MARK}
    twice = [*NAP[:-1], f"import subprocess; subprocess.run({NAP!r})"]

    with (
        subprocess.Popen(NAP, stdin=subprocess.PIPE, env=marked, start_new_session=True) as one,
        subprocess.Popen(twice, stdin=subprocess.PIPE, env=marked, start_new_session=True) as two,
        subprocess.Popen(NAP, stdin=subprocess.PIPE, start_new_session=True) as other,
    ):
        groups = {one.pid, two.pid}
        seen = eventually(lambda: watching.groups() == groups, patience=3)
        for process in (one, two, other):
            process.communicate(b"\n")

    assert seen
    assert watching.groups() == set()


def test_a_child_that_nobody_buries_is_seen() -> None:
    watching = Watching(os.getpid(), MARK)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as child:
        assert eventually(lambda: child.pid in watching.look().zombies, patience=3)

    assert child.pid not in watching.look().zombies
