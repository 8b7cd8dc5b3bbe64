"""`shell`: what the box is asked for, and what is made of its answer."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from portico.adapters.builtin.shell import Shell
from portico.adapters.builtin.tool import Errand
from portico.adapters.builtin.workspace import Workspaces
from portico.box.core.errors import BadProfile, BoxUnavailable
from portico.box.core.outcome import End, Outcome
from portico.box.core.profile import Network, Order
from portico.box.ports import Box
from portico.testing.box import ScriptedBox, exited
from portico.testing.files import MemoryFiles
from tests.adapters.builtin.bench import ANA, Bench, facts, target, words


def ended(end: End, code: int | None = -9) -> Outcome:
    return Outcome(end=end, code=code, output=b"so far", errors=b"", seconds=1.5)


async def test_a_command_runs_in_the_callers_workspace_and_reaches_nothing_else(
    tmp_path: Path,
) -> None:
    box = ScriptedBox()

    await Bench(tmp_path, box)("shell", command="ls | wc", input="é")

    [(order, limits, given)] = box.runs
    assert (order.program, order.arguments) == ("/bin/sh", ("-c", "ls | wc"))
    assert order.home == str(tmp_path / str(ANA.space) / str(ANA.id))
    assert (order.profile.read, order.profile.write, order.profile.reach) == ((), (), ())
    assert order.profile.network is Network.NONE
    assert (limits.seconds, limits.output) == (10.0, 1_000_000)
    assert given == "é".encode()
    assert set(order.environment) == {"PATH", "LANG", "TERM"}


async def test_exit_code_and_both_streams_are_told_apart(tmp_path: Path) -> None:
    answer = await Bench(tmp_path, ScriptedBox(exited("out\n", "err\n", 3)))("shell", command="x")

    assert not answer.failed
    assert facts(answer) == snapshot(
        {
            "exit_code": 3,
            "stdout": "out\n",
            "stderr": "err\n",
            "ended_by": "exited",
            "seconds": 0.01,
        }
    )
    assert words(answer) == "exit code 3\nstdout:\nout\n\nstderr:\nerr\n"


async def test_a_silent_command_says_no_more_than_its_exit_code(tmp_path: Path) -> None:
    answer = await Bench(tmp_path)("shell", command="true")

    assert words(answer) == "exit code 0"


async def test_bytes_that_are_no_text_are_shown_as_far_as_they_are(tmp_path: Path) -> None:
    output = Outcome(end=End.EXITED, code=0, output=b"a\xffb", errors=b"", seconds=0.0)

    answer = await Bench(tmp_path, ScriptedBox(output))("shell", command="x")

    assert facts(answer)["stdout"] == "a\ufffdb"


@pytest.mark.parametrize(
    ("end", "code", "name", "why"),
    [
        (End.TOO_LONG, -9, "command_too_long", "after 10 seconds"),
        (End.TOO_LOUD, -9, "command_too_loud", "written 1 MB"),
        (End.TOO_LARGE, -9, "command_too_large", "512 MB of memory"),
        (End.KILLED, -25, "command_killed", "A file grew larger than it may"),
        (End.KILLED, -11, "command_killed", "the signal 11"),
    ],
)
async def test_which_limit_ended_it_is_told_with_what_it_had_written(
    tmp_path: Path, end: End, code: int, name: str, why: str
) -> None:
    answer = await Bench(tmp_path, ScriptedBox(ended(end, code)))("shell", command="x")

    assert answer.failed
    assert facts(answer)["code"] == name
    assert facts(answer)["ended_by"] == end
    assert facts(answer)["fix"]
    assert why in words(answer)
    assert "so far" in words(answer)


@pytest.mark.parametrize("error", [BoxUnavailable("no kernel"), BadProfile("no such folder")])
async def test_what_the_box_refuses_is_a_failure_with_a_code_and_a_fix(
    tmp_path: Path, error: BoxUnavailable | BadProfile
) -> None:
    answer = await Bench(tmp_path, ScriptedBox(error))("shell", command="x")

    assert answer.failed
    assert facts(answer) == {"code": error.code, "message": str(error), "fix": error.fix}
    assert words(answer) == f"{error} {error.fix}"


async def test_it_has_no_more_time_than_the_call(tmp_path: Path) -> None:
    box = ScriptedBox()
    bench = Bench(tmp_path, box)

    await bench.tools.call(target(), "shell", {"command": "x"}, timeout=timedelta(seconds=3))

    assert box.runs[0][1].seconds == 3.0


async def test_cancelling_the_call_ends_the_box(tmp_path: Path) -> None:
    box = ScriptedBox(None)
    call = asyncio.ensure_future(Bench(tmp_path, box)("shell", command="sleep 99"))
    await box.begun.wait()

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert box.ended == 1


async def test_a_command_waits_for_its_turn_and_gives_it_back(tmp_path: Path) -> None:
    turns = asyncio.Semaphore(1)
    taken: list[bool] = []

    def run(_order: Order, _given: bytes) -> Outcome:
        taken.append(turns.locked())
        return exited()

    async def open_box() -> Box:
        return ScriptedBox(run)

    shell = Shell(open_box, Workspaces(tmp_path, lambda _: MemoryFiles()), turns)
    await shell({"command": "x"}, Errand(space=ANA.space, caller=ANA.id, seconds=5))

    assert taken == [True]
    assert not turns.locked()


async def test_no_file_can_grow_beyond_what_the_workspace_has_left(tmp_path: Path) -> None:
    box = ScriptedBox()
    bench = Bench(tmp_path, box, largest=1_000)
    await bench("shell", command="x")
    folder = tmp_path / str(ANA.space) / str(ANA.id)
    (folder / "a").write_bytes(b"." * 400)
    await bench("shell", command="x")
    (folder / "b").write_bytes(b"." * 600)
    await bench("shell", command="x")

    assert [limits.file_size for _, limits, _ in box.runs] == [1_000, 600, 1]
