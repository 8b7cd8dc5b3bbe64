"""Attempts to get out of a box are believed only if they were made, and told to their end."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

from portico.adapters.sandbox.probes.attempts import LIMITS, CanaryAttempts, bundled
from portico.adapters.sandbox.probes.canaries import asleep, canaries, with_word
from portico.adapters.sandbox.probes.runtime import Marks
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import TRIALS, Backend, Report, Trial
from portico.sandbox.core.profile import Limits, Network, SandboxCommand
from portico.sandbox.core.requests import End, Outcome
from portico.sandbox.requests import SandboxProcess
from tests.children import children, gone, lives
from tests.children import named as processes
from tests.servers import IS_ROOT, reachable_folder


def outcome(output: bytes = b"", *, end: End = End.EXITED, errors: bytes = b"") -> Outcome:
    return Outcome(end=end, code=0, output=output, errors=errors, seconds=0.1)


@dataclass
class TellingBox:
    """Runs nothing; tells what it was told to."""

    tell: Callable[[SandboxCommand], Outcome]
    report: Report = field(default_factory=lambda: Report(backend=Backend.LANDLOCK))
    networks: list[Network] = field(default_factory=list)

    def cell(
        self, order: SandboxCommand, limits: Limits
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        raise NotImplementedError

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        self.networks.append(order.profile.network)
        return self.tell(order)


@pytest.fixture
def attempts() -> Iterator[CanaryAttempts]:
    with reachable_folder() as folder:
        yield CanaryAttempts(folder, run_as="nobody")


def named(*names: str) -> Sequence[Trial]:
    return [trial for trial in TRIALS if trial.name in names]


def said(*lines: tuple[str, bool]) -> bytes:
    told = [{"name": name, "reached": reached, "detail": "so"} for name, reached in lines]
    return b"\n".join(json.dumps(each).encode() for each in told)


async def test_what_was_reached_or_not_told_has_not_held(attempts: CanaryAttempts) -> None:
    told = TellingBox(lambda _: outcome(said(("read_by_path", False), ("read_by_dots", True))))
    silent = TellingBox(lambda _: outcome(end=End.KILLED, errors=b"first\nNo room"))

    first, second = await attempts.make(told, named("read_by_path", "read_by_dots"))
    (unknown,) = await attempts.make(silent, named("read_by_path"))

    assert [first.held, second.held, unknown.held] == [True, False, False]
    assert unknown.detail == "nobody knows: it was not said, killed 0: No room"


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (lambda outside: (outside / "left-by-path").touch(), "write_by_path"),
        (lambda outside: (outside / "removable").unlink(), "remove_outside"),
        (lambda outside: (outside / "writable").write_text("else"), "overwrite_outside"),
    ],
)
async def test_harm_that_is_seen_outside_counts_whatever_is_said_inside(
    attempts: CanaryAttempts, harm: Callable[[Path], object], name: str
) -> None:
    def lie(order: SandboxCommand) -> Outcome:
        harm(Path(json.loads(order.arguments[-1])["marks"]["outside"]))
        return outcome(said((name, False), ("read_by_path", False)))

    probes = await attempts.make(TellingBox(lie), named(name, "read_by_path"))

    assert {probe.name: probe.held for probe in probes} == {name: False, "read_by_path": True}


async def test_what_needs_a_network_is_made_in_a_box_that_has_one(
    attempts: CanaryAttempts,
) -> None:
    box = TellingBox(lambda _: outcome(said(("loopback", False))))

    probes = await attempts.make(box, named("loopback", "loopback_with_network"))

    assert box.networks == [Network.NONE, Network.PUBLIC]
    assert [probe.name for probe in probes] == ["loopback", "loopback_with_network"]


@pytest.mark.parametrize(
    ("name", "end", "held"),
    [
        ("too_long", End.TOO_LONG, True),
        ("too_long", End.EXITED, False),
        ("too_loud", End.TOO_LOUD, True),
        ("too_loud", End.TOO_LONG, False),
        ("too_much_memory", End.TOO_LARGE, True),
        ("too_much_memory", End.TOO_LONG, False),
        ("left_daemon", End.EXITED, True),
        ("left_daemon", End.TOO_LONG, False),
    ],
)
async def test_what_a_box_must_end_is_judged_by_how_it_ended(
    attempts: CanaryAttempts, name: str, end: End, held: bool
) -> None:
    (probe,) = await attempts.make(TellingBox(lambda _: outcome(end=end)), named(name))

    assert probe.held is held


async def test_whoever_is_left_behind_is_seen_from_outside(attempts: CanaryAttempts) -> None:
    with ExitStack() as open_ones:

        def leave(order: SandboxCommand) -> Outcome:
            mark = json.loads(order.arguments[-1])["marks"]["variable"]
            command = [sys.executable, "-S", "-c", "import time; time.sleep(60)", mark]
            stray = open_ones.enter_context(subprocess.Popen(command))
            open_ones.callback(stray.kill)
            deadline = time.monotonic() + 30
            while not with_word(mark) and time.monotonic() < deadline:
                time.sleep(0.01)  # its arguments are seen a moment after it was started
            return outcome()

        (probe,) = await attempts.make(TellingBox(leave), named("left_daemon"))

    assert not probe.held
    assert probe.detail == "1 processes are left"


SLOW_PYTHON = "#!/bin/sh\nsleep 0.3\necho\nexec sleep 60\n"


async def test_who_is_cancelled_while_canaries_are_put_out_leaves_none_behind() -> None:
    before = children()
    with reachable_folder() as folder:
        python = folder / "python"
        python.write_text(SLOW_PYTHON)
        python.chmod(0o755)

        async def put_out() -> None:
            async with canaries(folder, LIMITS, python=str(python)):
                raise AssertionError

        putting = asyncio.create_task(put_out())
        while not children() - before:  # noqa: ASYNC110 # nothing tells of it
            await asyncio.sleep(0.01)
        putting.cancel()
        await asyncio.wait([putting])

        assert putting.cancelled()
        assert processes(children() - before) == []


@pytest.mark.skipif(not IS_ROOT, reason="only root becomes somebody else")
async def test_an_account_that_is_not_there_is_no_box(tmp_path: Path) -> None:
    attempts = CanaryAttempts(tmp_path, run_as="no-such-account")

    with pytest.raises(SandboxUnavailable):
        await attempts.make(TellingBox(lambda _: outcome()), named("read_by_path"))


STRANGE = """
import os, signal
from portico.adapters.sandbox.probes import inside, runtime

@runtime.attempt
def strange_error(marks): raise LookupError("what?")
@runtime.attempt
def strange_end(marks): os.kill(os.getpid(), signal.SIGSEGV)
@runtime.attempt
def punished(marks): os.kill(os.getpid(), signal.SIGSYS)
@runtime.attempt
def refused(marks): raise PermissionError(13, "no")
@runtime.attempt
def reached(marks): return "it is open"

for name in ("strange_error", "strange_end", "punished", "refused", "reached"):
    told = inside.tried(name, None)
    print(name, told["reached"], told["detail"], sep="|")
"""


def test_an_attempt_that_came_to_a_strange_end_has_not_been_held() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRANGE], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == [
        "strange_error|True|nobody knows: LookupError: what?",
        "strange_end|True|nobody knows: it said nothing, ended by signal 11",
        "punished|False|ended by SIGSYS",
        "refused|False|EACCES",
        "reached|True|it is open",
    ]


def test_they_are_handed_in_as_one_text_that_needs_nothing_of_ours() -> None:
    marks = dict.fromkeys([each.name for each in fields(Marks)])
    task = {"marks": marks, "names": ["own_environment", "raise_limits"]}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-", json.dumps(task)],
        input=bundled(),
        capture_output=True,
        check=True,
        cwd="/",
    )

    told = [json.loads(line)["name"] for line in done.stdout.splitlines()]
    assert told == ["own_environment", "raise_limits"]


pytestmark = [pytest.mark.process]
_STARTS_ONE = """
import signal, sys
from pathlib import Path
from portico.adapters.sandbox.probes.canaries import asleep
from tests.children import gone, lives
with asleep(Path(sys.argv[1]), "KEY", sys.executable, None) as canary:
    print(canary, flush=True)
    signal.pause()
"""


def test_it_stays_while_somebody_looks(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")

    with asleep(tmp_path, "KEY", sys.executable, None) as canary:
        time.sleep(0.5)
        while_open = lives(canary)

    assert while_open
    assert gone(canary)


def test_it_does_not_outlive_whoever_started_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_ONE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        canary = int(server.stdout.readline())
        before = lives(canary)
        server.send_signal(signal.SIGKILL)

    assert before
    assert gone(canary, patience=30)
