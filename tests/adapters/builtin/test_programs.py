"""`shell`: what the box is asked for, and what is made of its answer."""

import asyncio
import base64
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin.files import Workspaces
from portico.adapters.builtin.programs import Shell
from portico.adapters.builtin.tool import ToolInvocation
from portico.sandbox.core.errors import (
    AddressRefused,
    CodeRefused,
    FetchFailed,
    InvalidProfile,
    SandboxUnavailable,
)
from portico.sandbox.core.profile import Fetched, Network, Request, SandboxCommand
from portico.sandbox.core.requests import CodeEnd, CodeOutcome, End, Outcome
from portico.sandbox.requests import Sandbox
from portico.testing.sandbox import (
    MemoryFiles,
    ScriptedInterpreter,
    ScriptedSandbox,
    ScriptedWeb,
    exited,
)
from tests.adapters.builtin.bench import ANA, Bench, facts, target, words


def ended(end: End, code: int | None = -9) -> Outcome:
    return Outcome(end=end, code=code, output=b"so far", errors=b"", seconds=1.5)


async def test_a_command_runs_in_the_callers_workspace_and_reaches_nothing_else(
    tmp_path: Path,
) -> None:
    box = ScriptedSandbox()

    await Bench(tmp_path, box)("shell", command="ls | wc", input="é")

    [(order, limits, given)] = box.runs
    assert (order.program, order.arguments) == ("/bin/sh", ("-c", "ls | wc"))
    assert order.home == str(tmp_path / str(ANA.space) / str(ANA.id))
    assert (order.profile.read, order.profile.write, order.profile.reach) == ((), (), ())
    assert order.profile.network is Network.NONE
    assert (limits.seconds, limits.output) == (10.0, 1_000_000)
    assert given == "é".encode()
    assert set(order.environment) == {"PATH", "LANG", "TERM"}


async def test_it_has_no_more_time_than_the_call(tmp_path: Path) -> None:
    box = ScriptedSandbox()
    soon = timedelta(seconds=3)

    await Bench(tmp_path, box).tools.call(target(), "shell", {"command": "x"}, timeout=soon)

    assert box.runs[0][1].seconds == 3.0


@pytest.mark.parametrize(
    ("outcome", "told", "shown"),
    [
        (
            exited("out\n", "err\n", 3),
            {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"},
            "exit code 3\nstdout:\nout\n\nstderr:\nerr\n",
        ),
        (exited(), {"exit_code": 0, "stdout": "", "stderr": ""}, "exit code 0"),
        (
            Outcome(end=End.EXITED, code=0, output=b"a\xffb", errors=b"", seconds=0.01),
            {"exit_code": 0, "stdout": "a\ufffdb", "stderr": ""},
            "exit code 0\nstdout:\na\ufffdb",
        ),
    ],
    ids=["both streams", "silent", "no text"],
)
async def test_exit_code_and_both_streams_are_told_apart(
    tmp_path: Path, outcome: Outcome, told: dict[str, object], shown: str
) -> None:
    answer = await Bench(tmp_path, ScriptedSandbox(outcome))("shell", command="x")

    assert not answer.failed
    assert facts(answer) == {**told, "ended_by": "exited", "seconds": 0.01}
    assert words(answer) == shown


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
    answer = await Bench(tmp_path, ScriptedSandbox(ended(end, code)))("shell", command="x")

    assert answer.failed
    assert facts(answer)["code"] == name
    assert facts(answer)["ended_by"] == end
    assert facts(answer)["fix"]
    assert why in words(answer)
    assert "so far" in words(answer)


@pytest.mark.parametrize(
    "error", [SandboxUnavailable("no kernel"), InvalidProfile("no such folder")]
)
async def test_what_the_box_refuses_is_a_failure_with_a_code_and_a_fix(
    tmp_path: Path, error: SandboxUnavailable | InvalidProfile
) -> None:
    answer = await Bench(tmp_path, ScriptedSandbox(error))("shell", command="x")

    assert answer.failed
    assert facts(answer) == {"code": error.code, "message": str(error), "fix": error.fix}
    assert words(answer) == f"{error} {error.fix}"


async def test_cancelling_the_call_ends_the_box(tmp_path: Path) -> None:
    box = ScriptedSandbox(None)
    call = asyncio.ensure_future(Bench(tmp_path, box)("shell", command="sleep 99"))
    await box.started.wait()

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert box.ended == 1


async def test_a_command_waits_for_its_turn_and_gives_it_back(tmp_path: Path) -> None:
    turns = asyncio.Semaphore(1)
    taken: list[bool] = []

    def run(_order: SandboxCommand, _given: bytes) -> Outcome:
        taken.append(turns.locked())
        return exited()

    async def open_box() -> Sandbox:
        return ScriptedSandbox(run)

    shell = Shell(open_box, Workspaces(tmp_path, lambda _: MemoryFiles()), turns)
    await shell({"command": "x"}, ToolInvocation(space=ANA.space, caller=ANA.id, seconds=5))

    assert taken == [True]
    assert not turns.locked()


async def test_no_file_can_grow_beyond_what_the_workspace_has_left(tmp_path: Path) -> None:
    box = ScriptedSandbox()
    bench = Bench(tmp_path, box, largest=1_000)
    await bench("shell", command="x")
    folder = tmp_path / str(ANA.space) / str(ANA.id)
    (folder / "a").write_bytes(b"." * 400)
    await bench("shell", command="x")
    (folder / "b").write_bytes(b"." * 600)
    await bench("shell", command="x")

    assert [limits.file_size for _, limits, _ in box.runs] == [1_000, 600, 1]


URL = "https://a.example/x"


def a_page(body: bytes, kind: str = "text/plain", **more: str) -> Fetched:
    return Fetched(status=200, url=URL, headers={"Content-Type": kind, **more}, body=body)


def a_web(page: Fetched | AddressRefused | FetchFailed) -> ScriptedWeb:
    return ScriptedWeb({URL: page})


async def test_fetching_asks_for_no_more_than_its_limits(tmp_path: Path) -> None:
    web = ScriptedWeb()

    await Bench(tmp_path, web=web)("fetch", url=URL, method="HEAD", headers={"Accept": "a/b"})

    wanted = Request(
        url=URL,
        method="HEAD",
        headers={"Accept": "a/b"},
        seconds=30.0,
        largest=5_000_000,
        redirects=3,
    )
    assert web.asked == [wanted]


async def test_a_page_comes_back_with_where_it_came_from(tmp_path: Path) -> None:
    """What is no text comes as base64, and a status is an answer."""
    page, picture = a_page(b"<p>hi</p>", "text/html", ETag="1"), a_page(b"\x89PNG\xff", "image/png")

    answer = await Bench(tmp_path, web=a_web(page))("fetch", url=URL)
    pictured = await Bench(tmp_path, web=a_web(picture))("fetch", url=URL)
    missing = await Bench(tmp_path)("fetch", url=URL)

    assert facts(answer) == {
        "status": 200,
        "url": URL,
        "content_type": "text/html",
        "headers": {"Content-Type": "text/html", "ETag": "1"},
        "text": "<p>hi</p>",
    }
    assert words(answer) == f"200 {URL} text/html\n\n<p>hi</p>"
    assert base64.b64decode(facts(pictured)["base64"]) == b"\x89PNG\xff"
    assert "text" not in facts(pictured)
    assert not missing.failed
    assert words(missing) == f"404 {URL}"


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("é".encode("latin-1"), "text/plain; charset=ISO-8859-1", "é"),
        ("é".encode(), "text/plain; charset=nobody-knows", "é"),
        ("é".encode(), 'text/plain; charset="utf-8"', "é"),
        (b"abc", "text/plain; charset=hex", "abc"),
        (b"abc", "", "abc"),
        (b"abc", "text/plain; charset=\0", "abc"),
        (b"abc", "nonsense\r\n; ;;=", "abc"),
        (b"abc", "text/plain; charset=base64", "abc"),
        (b"abc", "text/plain; charset=idna", "abc"),
        (b"a\\d", "text/plain; charset=unicode_escape", "a\\d"),
        (b"abc", "text/plain; charset=undefined", "abc"),
        ("é".encode("utf-16"), "text/plain; charset=UTF-16", "é"),
        ("é".encode("cp1252"), "text/plain; charset=windows-1252", "é"),
        ("дом".encode("koi8-r"), "text/plain; charset=KOI8-R", "дом"),
        ("家".encode("gb18030"), "text/plain; charset=GB18030", "家"),
        ("家".encode("shift_jis"), "text/plain; charset=Shift_JIS", "家"),
        ("家".encode("euc_jp"), "text/plain; charset=EUC-JP", "家"),
    ],
)
async def test_a_text_is_read_as_it_says_it_is_written(
    tmp_path: Path, body: bytes, kind: str, text: str
) -> None:
    answer = await Bench(tmp_path, web=a_web(a_page(body, kind)))("fetch", url=URL)

    assert facts(answer)["text"] == text


@pytest.mark.parametrize(
    "error", [AddressRefused("127.0.0.1:80", "it is this machine"), FetchFailed("a:1", "too slow")]
)
async def test_an_address_that_is_refused_is_a_failure_with_its_code(
    tmp_path: Path, error: AddressRefused | FetchFailed
) -> None:
    bench = Bench(tmp_path, web=a_web(error))

    for answer in (
        await bench("fetch", url=URL),
        await bench("send_request", url=URL, method="POST"),
    ):
        assert answer.failed
        assert facts(answer)["code"] == error.code
        assert facts(answer).get("fix") == error.fix


@pytest.mark.parametrize(
    "given", [{"text": "é"}, {"base64": base64.b64encode("é".encode()).decode()}]
)
async def test_a_request_is_sent_with_its_body(tmp_path: Path, given: dict[str, str]) -> None:
    web = a_web(a_page(b"{}", "application/json"))

    answer = await Bench(tmp_path, web=web)("send_request", url=URL, method="PUT", **given)

    [asked] = web.asked
    assert (asked.method, asked.body, asked.redirects) == ("PUT", "é".encode(), 3)
    assert (asked.seconds, asked.largest) == (30.0, 5_000_000)
    assert facts(answer)["text"] == "{}"


async def test_a_program_is_run_with_its_inputs_and_within_its_limits(tmp_path: Path) -> None:
    interpreter = ScriptedInterpreter()

    answer = await Bench(tmp_path, interpreter=interpreter)(
        "run_code", program="n", inputs={"n": 2}
    )

    assert facts(answer) == {"result": {"n": 2}, "printed": ""}
    assert words(answer) == 'result: {"n": 2}'
    [(program, limits)] = interpreter.ran
    assert program == "n"
    assert (limits.seconds, limits.memory, limits.whole_seconds) == (10.0, 64_000_000, 30.0)


async def test_what_it_printed_and_raised_is_told_and_what_cannot_be_read(tmp_path: Path) -> None:
    raised = CodeOutcome(end=CodeEnd.RAISED, error="ValueError: no", printed="hi")
    interpreter = ScriptedInterpreter(
        {
            "p": CodeOutcome(result=None, printed="hi\n"),
            "r": raised,
            "class A": CodeRefused("no classes"),
        }
    )
    bench = Bench(tmp_path, interpreter=interpreter)

    printed, failed, refused = [
        await bench("run_code", program=each) for each in ("p", "r", "class A")
    ]

    assert facts(printed) == {"result": None, "printed": "hi\n"}
    assert words(printed) == "result: null\nprinted:\nhi\n"
    assert failed.failed
    assert facts(failed)["code"] == "program_failed"
    assert facts(failed)["message"] == "ValueError: no"
    assert facts(failed)["ended_by"] == "raised"
    assert words(failed) == "ValueError: no\nprinted:\nhi"
    assert facts(refused)["code"] == "code_refused"
    assert facts(refused)["fix"]
