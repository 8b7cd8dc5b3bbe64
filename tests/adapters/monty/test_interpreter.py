"""Programs in the interpreter: what they give, what they call, and where they end."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter, StoredProgram
from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import CodeBusy, CodeRefused, FileTrouble, SandboxUnavailable
from portico.sandbox.core.requests import CodeEnd, CodeLimits, CodeOutcome, Raised

LIMITS = CodeLimits(
    seconds=2, whole_seconds=10, memory=32_000_000, depth=100, calls=20, output=10_000
)
BRIEF = CodeLimits(
    seconds=0.2, whole_seconds=5, memory=32_000_000, depth=100, calls=20, output=10_000
)


@pytest.fixture
async def interpreter() -> AsyncIterator[MontyInterpreter]:
    async with MontyInterpreter(processes=4) as made:
        yield made


async def double(number: int, *, times: int = 2) -> JsonValue:
    return number * times


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        (
            "print('hello')\nx = 20\n{'a': [x + 1, None, 'é']}",
            CodeOutcome(result={"a": [21, None, "é"]}, printed="hello\n"),
        ),
        ("x = 1", CodeOutcome()),
        ("[len(a), b['c']]", CodeOutcome(result=[2, 1])),
        (
            "import asyncio, time\ntime.sleep(0.01)\n"
            "await asyncio.gather(asyncio.sleep(0.01), asyncio.sleep(0.02))\n'awake'",
            CodeOutcome(result="awake"),
        ),
    ],
    ids=["the last expression", "none", "of its inputs", "after a pause"],
)
async def test_a_program_gives_its_last_expression(
    interpreter: MontyInterpreter, program: str, outcome: CodeOutcome
) -> None:
    assert await interpreter.run(program, LIMITS, inputs={"a": (1, 2), "b": {"c": 1}}) == outcome


@pytest.mark.parametrize(
    "inputs", [{"not a name": 1}, {"a": float("nan")}, {"a": b"x"}, {"a": 10**5000}]
)
async def test_inputs_that_are_none_are_refused(
    interpreter: MontyInterpreter, inputs: dict[str, Any]
) -> None:
    with pytest.raises(CodeRefused):
        await interpreter.run("1", LIMITS, inputs=inputs)


@pytest.mark.parametrize("program", ["def (", "(" * 5000, "def f():\n    yield 1", "'\ud800'"])
async def test_what_is_no_program_is_refused(interpreter: MontyInterpreter, program: str) -> None:
    with pytest.raises(CodeRefused):
        await interpreter.run(program, LIMITS)


async def test_functions_are_called_with_arguments_and_names(interpreter: MontyInterpreter) -> None:
    outcome = await interpreter.run(
        "g = double\n[await double(4), await double(4, times=3), await g(5)]",
        LIMITS,
        functions={"double": double},
    )

    assert outcome.result == [8, 12, 10]


async def test_functions_that_are_gathered_run_at_the_same_time(
    interpreter: MontyInterpreter,
) -> None:
    together = asyncio.Barrier(3)

    async def meet(name: str) -> JsonValue:
        await together.wait()
        return name

    outcome = await interpreter.run(
        "import asyncio\nawait asyncio.gather(meet('a'), meet('b'), meet('c'))",
        LIMITS,
        functions={"meet": meet},
    )

    assert outcome.result == ["a", "b", "c"]


async def test_an_error_of_a_function_is_raised_inside(interpreter: MontyInterpreter) -> None:
    async def fail(kind: str) -> Any:
        match kind:
            case "value":
                raise ValueError("no such value")
            case "ours":
                raise FileTrouble("a.txt", "it is gone")
            case "cancelled":
                raise asyncio.CancelledError
            case "odd":
                return {1, 2}
            case _:
                raise ZeroDivisionError("of ours")

    program = """
said = []
for kind in ['value', 'ours', 'cancelled', 'other', 'odd']:
    try:
        await fail(kind)
    except ValueError as error:
        said.append(f'value {error}')
    except (RuntimeError, TypeError) as error:
        said.append(str(error))
said
"""
    outcome = await interpreter.run(program, LIMITS, functions={"fail": fail})

    assert isinstance(outcome.result, list)
    assert outcome.result[:4] == [
        "value no such value",
        "'a.txt' cannot be used: it is gone.",
        "it was given up",
        "ZeroDivisionError: of ours",
    ]
    assert "not JSON" in str(outcome.result[4])


async def test_an_error_that_is_not_caught_is_told_with_its_trace(
    interpreter: MontyInterpreter,
) -> None:
    outcome = await interpreter.run("print('so far')\n\n1 / 0", LIMITS)

    assert outcome.end is CodeEnd.RAISED
    assert outcome.printed == "so far\n"
    assert outcome.error is not None
    assert "ZeroDivisionError" in outcome.error
    assert "line 3" in outcome.error


async def test_a_name_that_nobody_gave_is_unknown(interpreter: MontyInterpreter) -> None:
    for program in ("await secret(1)", "secret", "x = secret"):
        outcome = await interpreter.run(program, LIMITS, functions={"double": double})

        assert outcome.end is CodeEnd.RAISED
        assert "NameError" in str(outcome.error)


@pytest.mark.parametrize(
    "argument", ["b'x'", "{1, 2}", "float('nan')", "{1: 2}", "'x' * 20000", "deep", "laughs", "me"]
)
async def test_what_is_not_json_does_not_reach_a_function(
    interpreter: MontyInterpreter, argument: str
) -> None:
    program = f"""
deep = []
for _ in range(5000):
    deep = [deep]
laughs = 'ha'
for _ in range(60):
    laughs = [laughs, laughs]
me = []
me.append(me)
try:
    await never({argument})
    said = 'called'
except TypeError as error:
    said = 'refused'
said
"""

    async def never(*_: JsonValue) -> JsonValue:
        raise AssertionError("It was called.")

    outcome = await interpreter.run(program, LIMITS, functions={"never": never})

    # Monty itself writes a list that holds itself as text
    assert outcome.result == "refused" or (argument == "me" and outcome.end is CodeEnd.RAISED)


@pytest.mark.parametrize(
    "result",
    ["b'x'", "{1}", "float('inf')", "{1: 2}", "'x' * 20000", "open", "10 ** 5000", "int"],
)
async def test_a_result_that_is_not_json_is_told_as_such(
    interpreter: MontyInterpreter, result: str
) -> None:
    outcome = await interpreter.run(f"print('hi')\n{result}", LIMITS)

    assert outcome.end is CodeEnd.NOT_JSON
    assert outcome.printed == "hi\n"
    assert str(outcome.error).startswith("The value cannot be told")


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("while True:\n    pass", CodeEnd.TOO_LONG),
        (
            "while True:\n    try:\n        while True:\n            pass\n"
            "    except BaseException:\n        pass",
            CodeEnd.TOO_LONG,
        ),
        ("x = []\nwhile True:\n    x.append('a' * 10000)", CodeEnd.TOO_LARGE),
        ("'a' * 10 ** 10", CodeEnd.TOO_LARGE),
        ("x = 3 ** 1000000\nwhile True:\n    x * x * x * x * x", CodeEnd.TOO_LONG),
        ("def f(n):\n    return f(n + 1)\nf(0)", CodeEnd.RAISED),
        ("while True:\n    print('x' * 100)", CodeEnd.TOO_LOUD),
        ("print('x' * 10001)", CodeEnd.TOO_LOUD),
        ("while True:\n    await double(1)", CodeEnd.TOO_MANY_CALLS),
        (
            "import asyncio\nawait asyncio.gather(*[double(i) for i in range(21)])",
            CodeEnd.TOO_MANY_CALLS,
        ),
        (
            "while True:\n    try:\n        open('/x')\n    except BaseException:\n        pass",
            CodeEnd.TOO_MANY_CALLS,
        ),
    ],
)
async def test_a_limit_ends_a_program_and_the_next_one_runs(
    interpreter: MontyInterpreter, program: str, end: CodeEnd
) -> None:
    outcome = await interpreter.run(program, BRIEF, functions={"double": double})

    assert outcome.end is end
    assert outcome.error
    assert len(outcome.printed) <= BRIEF.output
    assert (await interpreter.run("1 + 1", LIMITS)).result == 2


@pytest.mark.parametrize(
    "program",
    ["await forever()", "import time\ntime.sleep(1e6)", "import asyncio\nawait asyncio.sleep(1e6)"],
)
async def test_waiting_counts_into_the_whole_time(
    interpreter: MontyInterpreter, program: str
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def forever() -> JsonValue:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return None

    limits = CodeLimits(seconds=0.2, whole_seconds=0.5)
    outcome = await interpreter.run(program, limits, functions={"forever": forever})

    assert outcome.end is CodeEnd.TOO_LONG
    assert ended.is_set() is begun.is_set()


async def test_being_cancelled_ends_the_program(interpreter: MontyInterpreter) -> None:
    running = asyncio.create_task(
        interpreter.run("while True:\n    pass", CodeLimits(seconds=600, whole_seconds=600))
    )
    await until_there_are(interpreter, busy=1)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await until_there_are(interpreter, busy=0)
    assert (await interpreter.run("1 + 1", LIMITS)).result == 2


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 # it is another process that changes
            await asyncio.sleep(0.01)


async def until_there_are(interpreter: MontyInterpreter, *, busy: int) -> None:
    await until(lambda: len([each for each in interpreter._workers if each.running]) == busy)


async def test_one_that_blows_up_does_not_harm_those_beside_it(
    interpreter: MontyInterpreter,
) -> None:
    good = "x = 0\nwhile x < 100000:\n    x += 1\nx"
    bad = ["while True:\n    pass", "[0] * 10 ** 9", "x = []\nwhile True:\n    x.append(x[:])"]

    outcomes = await asyncio.gather(
        *(interpreter.run(program, LIMITS) for _ in range(4) for program in (good, *bad))
    )

    assert [outcome.result for outcome in outcomes[::4]] == [100000] * 4
    assert all(outcome.end is not CodeEnd.FINISHED for outcome in outcomes[1::4])


async def test_no_two_programs_share_a_process_or_a_variable(
    interpreter: MontyInterpreter,
) -> None:
    await interpreter.run("leftover = 'secret'", LIMITS)

    outcome = await interpreter.run("leftover", LIMITS)

    assert "NameError" in str(outcome.error)


async def test_those_for_whom_there_is_no_place_wait_and_not_too_many() -> None:
    async with MontyInterpreter(processes=1, waiting=3) as small:
        go = asyncio.Event()

        async def wait() -> JsonValue:
            await go.wait()
            return "gone"

        def one() -> asyncio.Task[CodeOutcome]:
            return asyncio.create_task(small.run("await wait()", LIMITS, functions={"wait": wait}))

        accepted = [one()]
        await until_there_are(small, busy=1)
        accepted += [one(), one()]
        await until(lambda: small._waiting == 2)
        with pytest.raises(CodeBusy, match="no place was free"):
            await small.run("1", CodeLimits(whole_seconds=0.01))
        accepted.append(one())
        await until(lambda: small._waiting == 3)
        with pytest.raises(CodeBusy, match="3 others wait"):
            await one()
        go.set()

        assert [(await each).result for each in accepted] == ["gone"] * 4


async def test_a_program_that_waits_is_kept_and_goes_on_elsewhere(
    interpreter: MontyInterpreter,
) -> None:
    program = """
import asyncio
print('one')
first = await fetch('a', n=1)
print('two')
rest = await asyncio.gather(fetch(first), store('b'))
print('three')
[first, *rest]
"""
    begun = await interpreter.start(program, LIMITS, functions=["fetch", "store"])
    assert begun.end is CodeEnd.WAITING
    assert begun.printed == "one\n"
    assert [(each.function, each.arguments, each.named) for each in begun.pending] == [
        ("fetch", ["a"], {"n": 1})
    ]
    assert begun.snapshot is not None

    async with MontyInterpreter(processes=1) as other:
        second = await other.resume(begun.snapshot, LIMITS, {begun.pending[0].number: "A"})
        assert second.printed == "two\n"
        assert [(each.function, list(each.arguments)) for each in second.pending] == [
            ("fetch", ["A"]),
            ("store", ["b"]),
        ]
        assert second.snapshot is not None
        fetch, store = (each.number for each in second.pending)

        third = await other.resume(second.snapshot, LIMITS, {store: {"stored": True}})
        assert third.end is CodeEnd.WAITING
        assert [each.number for each in third.pending] == [fetch]
        assert third.snapshot is not None

        done = await interpreter.resume(third.snapshot, LIMITS, {fetch: [1.5]})
        assert done == CodeOutcome(result=["A", [1.5], {"stored": True}], printed="three\n")

        gone = {fetch: Raised("gone")}
        failed = await interpreter.resume(third.snapshot, LIMITS, {}, errors=gone)
        assert failed.end is CodeEnd.RAISED
        assert "RuntimeError: gone" in str(failed.error)

        refused = {fetch: Raised("not yours", "PermissionError")}
        failed = await interpreter.resume(third.snapshot, LIMITS, {}, errors=refused)
        assert "PermissionError: not yours" in str(failed.error)

        again = await interpreter.resume(third.snapshot, LIMITS, {})
        assert again.end is CodeEnd.WAITING
        assert again.pending == third.pending


async def test_a_call_that_is_begun_and_awaited_later_is_kept_too(
    interpreter: MontyInterpreter,
) -> None:
    program = """
import asyncio
early = fetch('early')
nap = asyncio.sleep(0.01)
late = await fetch('late')
await nap
[await early, late]
"""
    outcome = await interpreter.start(program, LIMITS, functions=["fetch"])
    seen = []
    while outcome.snapshot is not None:
        results: dict[int, JsonValue] = {each.number: each.arguments[0] for each in outcome.pending}
        seen.append(sorted(str(value) for value in results.values()))
        outcome = await interpreter.resume(outcome.snapshot, LIMITS, results)

    assert outcome.result == ["early", "late"]
    assert seen


async def test_what_was_used_before_it_was_kept_still_counts(
    interpreter: MontyInterpreter,
) -> None:
    limits = CodeLimits(seconds=0.5, whole_seconds=5, calls=3, output=20)

    async def end_of(program: str) -> tuple[CodeEnd, int]:
        outcome, turns = await interpreter.start(program, limits, functions=["f"]), 0
        while outcome.snapshot is not None:
            turns += 1
            results: dict[int, JsonValue] = {each.number: 1 for each in outcome.pending}
            outcome = await interpreter.resume(outcome.snapshot, limits, results)
        return outcome.end, turns

    assert await end_of("while True:\n    await f()") == (CodeEnd.TOO_MANY_CALLS, 3)
    assert await end_of("while True:\n    print('12345678')\n    await f()") == (
        CodeEnd.TOO_LOUD,
        2,
    )
    end, _ = await end_of("while True:\n    for _ in range(2000000):\n        pass\n    await f()")
    assert end in {CodeEnd.TOO_LONG, CodeEnd.TOO_MANY_CALLS}


async def test_a_program_too_large_to_be_kept_is_told_so(interpreter: MontyInterpreter) -> None:
    outcome = await interpreter.start(
        "x = [str(i) for i in range(200000)]\nawait f()\nlen(x)", LIMITS, functions=["f"]
    )

    assert outcome.end is CodeEnd.TOO_LARGE
    assert outcome.snapshot is None


async def test_a_damaged_snapshot_is_refused(interpreter: MontyInterpreter) -> None:
    begun = await interpreter.start("await f()", LIMITS, functions=["f"])
    assert begun.snapshot is not None
    half = len(begun.snapshot) // 2
    flipped = begun.snapshot[:half] + bytes([begun.snapshot[half] ^ 1]) + begun.snapshot[half + 1 :]

    for damaged in (b"", b"x", flipped, begun.snapshot[:-1]):
        with pytest.raises(CodeRefused, match="no snapshot"):
            await interpreter.resume(damaged, LIMITS, {0: 1})
    strange = replace(StoredProgram.read(begun.snapshot), interpreter=b"of another version").write()
    with pytest.raises(CodeRefused, match="another interpreter"):
        await interpreter.resume(strange, LIMITS, {})
    with pytest.raises(CodeRefused, match="does not wait for call 7"):
        await interpreter.resume(begun.snapshot, LIMITS, {7: 1})


async def test_nothing_is_started_before_it_is_needed_and_nothing_left_afterwards() -> None:
    before = children()
    interpreter = MontyInterpreter(processes=2)
    assert children() <= before

    await interpreter.run("1", LIMITS)
    running = asyncio.create_task(interpreter.run("while True:\n    pass", LIMITS))
    await until_there_are(interpreter, busy=1)
    assert children() - before
    await interpreter.close()

    assert (await running).end is CodeEnd.BROKEN
    await until(lambda: not children() - before)
    with pytest.raises(SandboxUnavailable, match="closed"):
        await interpreter.run("1", LIMITS)


def children() -> set[str]:
    """Another test's may be ending still."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # gone since
            every = (task / "children").read_text().split()
            found |= {child for child in every if is_interpreter(child)}
    return found


def is_interpreter(process: str) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text() == "monty\n"
    return False


async def test_a_missing_interpreter_is_told_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nonexistent/monty")

    with pytest.raises(SandboxUnavailable, match="does not start"):
        await MontyInterpreter().run("1", LIMITS)


HOST = """
import asyncio, sys
from portico.adapters.monty.interpreter import MontyInterpreter
from portico.sandbox.core.requests import CodeLimits

async def wait():
    await asyncio.Event().wait()

async def main():
    interpreter = MontyInterpreter(processes=4)
    limits = CodeLimits(seconds=1, whole_seconds=600)
    async with asyncio.TaskGroup() as group:
        for program in ("while True: pass", "await wait()", "import time\\ntime.sleep(500)"):
            group.create_task(interpreter.run(program, limits, functions={"wait": wait}))
        while len([each for each in interpreter._workers if each.running]) < 3:
            await asyncio.sleep(0.01)
        print(*[each._process for each in interpreter._workers], flush=True)

asyncio.run(main())
"""


def started(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


async def test_no_process_outlives_us_when_we_are_killed() -> None:
    with started(HOST) as host:
        assert host.stdout is not None
        workers = [int(each) for each in host.stdout.readline().split()]
        assert len(workers) == 3
        assert all(running(each) for each in workers)

        os.kill(host.pid, signal.SIGKILL)

        await until(lambda: not any(running(each) for each in workers))


def running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


BRIEF_HOST = """
import asyncio
from portico.adapters.monty.interpreter import MontyInterpreter
from portico.sandbox.core.requests import CodeLimits

async def main():
    async with MontyInterpreter(processes=4) as interpreter:
        print((await interpreter.run("1 + 1", CodeLimits())).result)

asyncio.run(main())
"""


@pytest.mark.parametrize("_", range(8))
def test_the_end_of_our_process_is_an_orderly_one(_: int) -> None:
    """The pool's asynchronous interface aborts here about one time in three."""
    done = subprocess.run(
        [sys.executable, "-c", BRIEF_HOST], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


async def test_what_is_given_to_functions_altogether_is_bounded(
    interpreter: MontyInterpreter,
) -> None:
    """Each call has a copy, where the program has one text for all."""
    limits = CodeLimits(memory=16_000_000, output=1_000_000, calls=1_000)
    program = "x = 'x' * 900000\ny = [echo(x) for _ in range(500)]\nawait y[0]"

    outcome = await interpreter.start(program, limits, functions=["echo"])

    assert outcome.end is CodeEnd.TOO_LARGE
    assert "gives to functions" in str(outcome.error)
