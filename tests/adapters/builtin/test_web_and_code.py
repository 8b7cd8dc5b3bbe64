"""`fetch`, `send_request` and `run_code`: what is asked of the doors, and what is made of it."""

import base64
from pathlib import Path

import pytest

from portico.box.core.code import CodeEnd, CodeOutcome
from portico.box.core.errors import AddressRefused, CodeRefused, FetchFailed
from portico.box.core.web import Fetched, Request
from portico.testing.box import ScriptedInterpreter, ScriptedWeb
from tests.adapters.builtin.bench import Bench, facts, words

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
    web = a_web(a_page(b"<p>hi</p>", "text/html", ETag="1"))

    answer = await Bench(tmp_path, web=web)("fetch", url=URL)

    assert facts(answer) == {
        "status": 200,
        "url": URL,
        "content_type": "text/html",
        "headers": {"Content-Type": "text/html", "ETag": "1"},
        "text": "<p>hi</p>",
    }
    assert words(answer) == f"200 {URL} text/html\n\n<p>hi</p>"


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


async def test_what_is_no_text_comes_as_base64(tmp_path: Path) -> None:
    answer = await Bench(tmp_path, web=a_web(a_page(b"\x89PNG\xff", "image/png")))("fetch", url=URL)

    assert base64.b64decode(facts(answer)["base64"]) == b"\x89PNG\xff"
    assert "text" not in facts(answer)


async def test_a_status_is_an_answer(tmp_path: Path) -> None:
    answer = await Bench(tmp_path)("fetch", url=URL)

    assert not answer.failed
    assert words(answer) == f"404 {URL}"


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


async def test_what_it_printed_is_told_beside_its_result(tmp_path: Path) -> None:
    interpreter = ScriptedInterpreter({"p": CodeOutcome(result=None, printed="hi\n")})

    answer = await Bench(tmp_path, interpreter=interpreter)("run_code", program="p")

    assert facts(answer) == {"result": None, "printed": "hi\n"}
    assert words(answer) == "result: null\nprinted:\nhi\n"


async def test_what_it_raised_is_its_failure_with_what_it_had_printed(tmp_path: Path) -> None:
    interpreter = ScriptedInterpreter(
        {"p": CodeOutcome(end=CodeEnd.RAISED, error="ValueError: no", printed="hi")}
    )

    answer = await Bench(tmp_path, interpreter=interpreter)("run_code", program="p")

    assert answer.failed
    assert facts(answer)["code"] == "program_failed"
    assert facts(answer)["message"] == "ValueError: no"
    assert facts(answer)["ended_by"] == "raised"
    assert words(answer) == "ValueError: no\nprinted:\nhi"


async def test_a_program_that_cannot_be_read_is_a_failure_with_a_fix(tmp_path: Path) -> None:
    interpreter = ScriptedInterpreter({"class A": CodeRefused("no classes")})

    answer = await Bench(tmp_path, interpreter=interpreter)("run_code", program="class A")

    assert facts(answer)["code"] == "code_refused"
    assert facts(answer)["fix"]
