"""Something is run in a box of either kind, to its end or to a limit."""

import asyncio
import os
import uuid

import pytest

from portico.adapters.box import bubblewrap
from portico.adapters.box.cgroup import find_groups
from portico.box.core.errors import BadProfile, BoxUnavailable
from portico.box.core.limits import Limits
from portico.box.core.outcome import End
from portico.box.core.profile import Order
from portico.box.core.report import Backend
from tests.adapters.box.boxes import ROOM, Made, open_descriptors, python, running, shell, until

pytestmark = pytest.mark.timeout(60)


def a_word() -> str:
    """By which a process is found again."""
    return uuid.uuid4().hex  # noqa: TID251 # any word will do


def asleep(word: str) -> str:
    return f"sh -c 'sleep 600; :' {word}"


async def test_what_it_writes_and_its_exit_code_come_back(made: Made) -> None:
    outcome = await made.shell("echo out; echo err >&2; exit 7")

    assert (outcome.end, outcome.code) == (End.EXITED, 7)
    assert (outcome.output, outcome.errors) == (b"out\n", b"err\n")
    assert outcome.seconds > 0


async def test_it_is_given_its_standard_input(made: Made) -> None:
    given = os.urandom(300_000)

    outcome = await made.box().run(shell("cat"), ROOM, given=given)

    assert outcome.output == given


async def test_a_program_that_does_not_read_its_input_is_none_the_worse(made: Made) -> None:
    outcome = await made.box().run(shell("exit 3"), ROOM, given=bytes(5_000_000))

    assert (outcome.end, outcome.code) == (End.EXITED, 3)


@pytest.mark.parametrize("number", [9, 11, 15])
async def test_a_signal_that_ended_it_is_told_from_an_exit_code(made: Made, number: int) -> None:
    by_signal = await made.shell(f"kill -{number} $$")
    by_itself = await made.shell(f"exit {128 + number}")

    assert (by_signal.end, by_signal.code) == (End.KILLED, -number)
    assert (by_itself.end, by_itself.code) == (End.EXITED, 128 + number)


async def test_its_environment_is_what_was_ordered_and_a_home(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")

    outcome = await made.box().run(
        Order(program="/usr/bin/env", environment={"GREETING": "hello=you\n!"}), ROOM
    )

    names = {line.split("=")[0] for line in outcome.output.decode().splitlines() if "=" in line}
    assert b"GREETING=hello=you\n!" in outcome.output
    assert names - {"TMPDIR"} == {"GREETING", "HOME"}


async def test_it_holds_no_descriptor_but_its_three(made: Made) -> None:
    script = """
import os
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
print([number for number in range(1024) if is_open(number)])
"""
    outcome = await made.python(script)

    assert outcome.output == b"[0, 1, 2]\n"


async def test_it_is_ended_when_its_time_is_over(made: Made) -> None:
    word = a_word()

    outcome = await made.shell(f"echo begun; {asleep(word)}", Limits(seconds=1))

    assert outcome.end is End.TOO_LONG
    assert outcome.output == b"begun\n"
    assert running(word) == []


async def test_who_does_not_want_to_end_is_ended_all_the_same(made: Made) -> None:
    outcome = await made.shell("trap '' TERM INT HUP; while :; do :; done", Limits(seconds=1))

    assert outcome.end is End.TOO_LONG


async def test_a_flood_is_cut_off_and_ended(made: Made) -> None:
    outcome = await made.shell("yes & yes >&2", Limits(seconds=30, output=100_000))

    assert outcome.end is End.TOO_LOUD
    assert len(outcome.output) + len(outcome.errors) == 100_000


async def test_exactly_as_much_as_it_may_write_is_not_too_much(made: Made) -> None:
    outcome = await made.shell("printf 12345; printf 67890 >&2", Limits(seconds=30, output=10))

    assert (outcome.end, outcome.output, outcome.errors) == (End.EXITED, b"12345", b"67890")


async def test_a_fork_bomb_is_bounded_and_ends_with_its_box(made: Made) -> None:
    word = a_word()
    script = f"""
import os, sys, time
children = 0
try:
    while True:
        if os.fork() == 0:
            os.execv("/bin/sleep", ["{word}", "600"])  # needs no further process, and so stays
        children += 1
except OSError:
    print(children)
"""
    box = made.box(run_as="daemon")  # who has no other processes that would count as well

    outcome = await box.run(python(script), Limits(seconds=30, processes=40, output=100_000))

    assert outcome.end is End.EXITED
    assert 5 <= int(outcome.output) <= 45
    assert running(word) == []


async def test_a_memory_bomb_does_not_get_more_than_it_may(made: Made) -> None:
    script = "held = []\nwhile True: held.append(bytearray(10_000_000))"

    outcome = await made.python(script, Limits(seconds=30, memory=200_000_000, output=100_000))

    assert b"MemoryError" in outcome.errors
    assert (outcome.end, outcome.code) == (End.EXITED, 1)


async def test_a_bomb_of_many_processes_is_seen_by_the_watch(made: Made) -> None:
    script = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(60_000_000)
        for place in range(0, len(held), 4096):
            held[place] = 1
        time.sleep(60)
time.sleep(60)
"""
    outcome = await made.python(script, Limits(seconds=30, memory=200_000_000))

    assert outcome.end is End.TOO_LARGE


async def test_memory_that_is_shared_counts_too(made: Made) -> None:
    script = """
import mmap, time
held = mmap.mmap(-1, 400_000_000)
for place in range(0, len(held), 4096):
    held[place] = 1
time.sleep(60)
"""
    outcome = await made.python(script, Limits(seconds=30, memory=200_000_000))

    assert outcome.end is End.TOO_LARGE


@pytest.mark.root
async def test_where_the_kernel_counts_a_box_is_as_small_as_it_may_be(made: Made) -> None:
    groups = find_groups()
    assert groups is not None
    box = made.box(groups=groups)
    bomb = "held = []\nwhile True:\n held.append(bytearray(b'1') * 5_000_000)"
    script = f"import os\nfor _ in range(4): os.fork()\n{bomb}"

    crowd = await box.run(python(script), Limits(seconds=30, memory=150_000_000, output=1_000_000))
    forks = "for i in $(seq 100); do sleep 30 & done; wait"
    bounded = await box.run(shell(forks), Limits(seconds=30, processes=40, output=1000))

    assert crowd.end is End.TOO_LARGE
    assert b"Cannot fork" in bounded.errors


async def test_a_file_cannot_grow_beyond_its_limit(made: Made) -> None:
    script = "head -c 3000000 /dev/zero > big; wc -c < big"

    outcome = await made.shell(script, Limits(seconds=30, file_size=1_000_000, output=1000))

    assert outcome.output.strip() == b"1000000"


async def test_it_cannot_open_more_files_than_it_may(made: Made) -> None:
    script = """
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError:
    print(len(held))
"""
    outcome = await made.python(script, Limits(seconds=30, open_files=50, output=1000))

    assert int(outcome.output) == 47


async def test_nothing_of_it_is_left_not_even_a_daemon(made: Made) -> None:
    word = a_word()
    script = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
        os.execv("/bin/sh", ["sh", "-c", "sleep 600; :", "{word}"])
    os._exit(0)
os.wait()
print("gone")
"""
    outcome = await made.python(script)

    assert (outcome.end, outcome.output) == (End.EXITED, b"gone\n")
    assert running(word) == []


async def test_a_daemon_that_holds_its_output_does_not_keep_us(made: Made) -> None:
    outcome = await made.shell("(setsid tail -f /dev/null &) ; echo done")

    assert (outcome.end, outcome.output) == (End.EXITED, b"done\n")


async def test_being_cancelled_ends_it(made: Made) -> None:
    word = a_word()
    task = asyncio.create_task(made.shell(asleep(word)))
    await until(lambda: len(running(word)) > 0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert running(word) == []


async def test_it_can_be_cancelled_at_any_moment(made: Made) -> None:
    """Each time a little later: in its making, its start, its talk, and when it runs."""
    await made.shell("true")
    before, word = open_descriptors(), a_word()

    for moment in range(24):
        task = asyncio.create_task(made.shell(asleep(word)))
        await asyncio.sleep(moment * 0.004)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running(word) == []

    await until(lambda: open_descriptors() <= before)


async def test_no_descriptor_is_left_open_here(made: Made) -> None:
    await made.shell("true")
    before = open_descriptors()

    await made.shell("true")
    await made.shell("yes", Limits(seconds=30, output=10))
    with pytest.raises(BoxUnavailable):
        await made.box().run(Order(program="/usr/bin/no-such-program"), ROOM)

    await until(lambda: open_descriptors() <= before)


async def test_many_run_at_once(made: Made) -> None:
    outcomes = await asyncio.gather(*(made.shell(f"exit {number}") for number in range(8)))

    assert [outcome.code for outcome in outcomes] == list(range(8))


async def test_a_program_that_is_not_there_is_told_in_a_sentence(made: Made) -> None:
    with pytest.raises(BoxUnavailable, match="/usr/bin/no-such-program could not be started: No"):
        await made.box().run(Order(program="/usr/bin/no-such-program"), ROOM)


async def test_a_program_is_named_by_its_whole_path(made: Made) -> None:
    with pytest.raises(BadProfile, match="whole path"):
        await made.box().run(Order(program="sh"), ROOM)


@pytest.mark.parametrize(
    "order",
    [
        Order(program="/bin/sh\0"),
        Order(program="/bin/sh", arguments=("a\0b",)),
        Order(program="/bin/sh", environment={"A": "\0"}),
    ],
)
async def test_what_no_system_call_could_say_is_refused(made: Made, order: Order) -> None:
    with pytest.raises(BadProfile, match="NUL"):
        await made.box().run(order, ROOM)


async def test_what_bubblewrap_complains_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (*bubblewrap._ALWAYS, "--ro-bind", "/no/such/folder", "/x")
    monkeypatch.setattr(bubblewrap, "_ALWAYS", wrong)

    with pytest.raises(BoxUnavailable, match=r"could not be set up: bwrap: .*/no/such/folder"):
        await Made(Backend.BUBBLEWRAP).shell("true")
