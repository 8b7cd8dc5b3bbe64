"""`just bench ahead`: sessions, what is learnt, foretold and won of them, and what is told."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from benchmarks import ahead_figures as figures
from benchmarks.ahead import ahead
from benchmarks.ahead_baselines import THRESHOLD, FirstOrder, foretold_of
from benchmarks.ahead_flood import flooded
from benchmarks.ahead_foretold import Foretold, Replayed, Words
from benchmarks.ahead_gates import Lane
from benchmarks.ahead_record import SERVERS, TEMPLATES, worked
from benchmarks.ahead_replay import PRINCIPALS
from benchmarks.ahead_report import Runs
from benchmarks.ahead_run import Job, jobs_of, work
from benchmarks.ahead_sessions import Made, Session
from benchmarks.ahead_splits import Split, by_session, by_template
from benchmarks.ahead_time import Pace, Spent, clocked
from benchmarks.ahead_traces import read_traces
from benchmarks.ahead_truth import TRULY_READS, let_in
from benchmarks.ahead_work import Template
from benchmarks.ahead_world import make_world
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from portico.learning.core.prefetch_predictor import ENOUGH
from tests.benchmarks.small_sessions import (
    LIST,
    READ,
    WRITE,
    foretold,
    looks,
    made,
    recording,
    session,
    tools,
)
from tests.interfaces.cli.house import ScriptedHouse

pytestmark = pytest.mark.nightly


def test_the_same_seed_makes_the_same_world(tmp_path: Path) -> None:
    one, other = make_world(tmp_path / "a" / "world", 3), make_world(tmp_path / "b" / "world", 3)

    def told(root: str) -> dict[str, bytes]:
        files = sorted(Path(root).rglob("*"))
        kept = [each for each in files if each.is_file() and each.suffix in {".md", ".csv", ".py"}]
        return {
            str(each.relative_to(root)): each.read_bytes().replace(root.encode(), b"")
            for each in kept
        }

    assert told(one.root) == told(other.root)
    head = ".git/refs/heads/main"
    assert [(Path(each.path) / head).read_text() for each in one.repositories] == [
        (Path(each.path) / head).read_text() for each in other.repositories
    ]


class Speechless:
    """A server that answers everything with nothing."""

    async def call_tool(self, _tool: str, _arguments: object) -> SimpleNamespace:
        return SimpleNamespace(content=[], structured_content=None, is_error=False)


def test_an_agent_that_is_told_nothing_gives_up_and_does_not_break(tmp_path: Path) -> None:
    world, chance = make_world(tmp_path / "world", 3), Random(2)
    clients = dict.fromkeys(SERVERS, Speechless())

    async def at_work(template: Template) -> list[Made]:
        task = template(world, chance)
        return [call async for call in worked(task.work, world, chance, clients)]

    assert all(asyncio.run(at_work(template)) for template in TEMPLATES)


def test_no_lie_of_a_server_makes_a_read_of_what_is_called_a_write() -> None:
    lying = let_in(recording(), lying=True)

    assert [name for name, each in lying.items() if each.effect.is_read_only] == [LIST, READ]
    assert {LIST, READ} <= TRULY_READS
    assert WRITE not in TRULY_READS


def test_nothing_that_is_asked_has_taught() -> None:
    kept = recording(*map(looks, range(20)))

    for split in by_session(kept):
        assert not set(split.teach) & set(split.ask)
        assert len(split.teach) + len(split.ask) == 20
    for split in by_template(kept):
        names = [{kept.sessions[at].template for at in part} for part in (split.teach, split.ask)]
        assert not names[0] & names[1]


def test_of_a_real_session_calls_and_searches_are_read(tmp_path: Path) -> None:
    asked = {"server_name": "fetch", "tool_name": "fetch", "params": {"url": "https://a.example"}}
    inner = json.dumps({"content": [{"type": "text", "text": "hello"}], "isError": False})
    answer = f"meta=None content=[TextContent(type='text', text={inner!r}, annotations=None)]"
    messages = [
        _asks("1", "route", {"query": "read a page"}),
        {"role": "tool", "tool_call_id": "1", "content": "fetch"},
        _asks("2", "execute-tool", asked),
        {"role": "tool", "tool_call_id": "2", "content": answer},
        _asks("3", "route", {"query": "and another"}),
        _asks("4", "execute-tool", asked),
        {"role": "tool", "tool_call_id": "4", "content": "Tool call timed out."},
    ]
    path = tmp_path / "traces.json"
    silent = {"question": "nothing", "messages": []}
    path.write_text(json.dumps([{"question": "What?", "messages": messages}, silent]))

    read = read_traces(path)

    (one,) = read.sessions
    assert [(call.text, call.failed) for call in one.calls] == [
        ("hello", False),
        ("Tool call timed out.", True),
    ]
    assert (one.searches, one.later) == (["read a page"], {1: ["and another"]})
    assert list(read.tools) == ["fetch.fetch"]


def _asks(call: str, name: str, arguments: object) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": call, "function": function}]}


def test_what_always_happens_is_foretold_once_it_has_often_been(tmp_path: Path) -> None:
    kept = recording(*map(looks, range(350)))
    kept.write(tmp_path / "sessions.json")
    (job, *_) = jobs_of("ordinary", tmp_path / "sessions.json", by_session(kept))

    asked = [kept.sessions[place] for place in job.split.ask]
    found = [Replayed(*each) for each in zip(asked, work(job), strict=True)]

    told = [clocked(Lane(let_in(kept)), Pace(1.0), each) for each in found]
    assert figures.exact_hit_rate(told) == 1.0
    assert figures.served_share(told) == pytest.approx(0.5, abs=0.05)


def test_for_strangers_nothing_is_made_until_it_has_come_true_for_them(tmp_path: Path) -> None:
    kept = recording(*map(looks, range(350)))
    kept.write(tmp_path / "sessions.json")
    job = Job(run="r", path=tmp_path / "sessions.json", split=Split(range(150), range(150, 350)))

    known, strangers = (
        [_live(it) for it in work(replace(job, strangers=on))] for on in (False, True)
    )

    assert known[0]
    assert not any(strangers[: ENOUGH * PRINCIPALS])
    assert strangers[-1]


def _live(foretold: Sequence[Sequence[Foretold]]) -> bool:
    return any(each.live for some in foretold for each in some)


@pytest.mark.parametrize("words", list(Words))
def test_nothing_is_foretold_of_what_was_never_seen(tmp_path: Path, words: Words) -> None:
    kept = recording(*map(looks, range(10)))
    kept.write(tmp_path / "sessions.json")
    split = by_session(kept)[0]

    found = work(Job(run="r", path=tmp_path / "sessions.json", split=split, words=words))

    assert not any(map(_live, found))


def test_all_that_is_asked_for_is_told(tmp_path: Path) -> None:
    kept = recording(*map(looks, range(10)))
    each = [Replayed(one, [[], [foretold("/home/none")], []]) for one in kept.sessions]
    names = "ordinary intent wordless unseen unseen_intent unseen_by_known real real_intent"
    runs = Runs(kept, kept, dict.fromkeys([*names.split(), "lying", "first_order"], each))

    report = runs.report({"grown_mb": 1.0})

    assert {
        "exact_hit_rate",
        "waste_rate",
        "served_share",
        "wall_change_1s",
        "wall_change_1s_with_intent",
        "unseen_waste_rate",
        "real_traces_waste_rate",
        "unsafe_calls",
        "memory_mb",
    } <= report.figures.keys()
    assert report.figures["waste_rate"] == 0.5
    assert report.figures["unsafe_calls"] == 0
    assert "10 sessions" in report.corpus
    json.dumps([dict(report.figures), dict(report.baseline), dict(report.conditions)])


def test_a_flood_is_measured() -> None:
    told = flooded(80)

    assert told["observations"] == 80
    assert isinstance(told["counters"], int)
    assert told["counters"] > 0


def test_without_its_servers_it_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "livemcpbench-sonnet.json").write_text("[]")
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    assert ahead(data=tmp_path, install=False, at=at) == Exit.SKIPPED

    assert "mcp-server-tree-sitter" in json.loads(capsys.readouterr().out)["skipped"]


def spent(calls: Session, *foreseen: Sequence[Foretold], pace: Pace | None = None) -> Spent:
    return clocked(Lane(tools()), pace or Pace(1.0), Replayed(calls, foreseen))


def test_the_call_that_comes_next_is_served_and_its_wait_is_saved() -> None:
    calls = looks(1)

    told = spent(calls, [], [foretold(str(calls.calls[1].arguments["path"]))], [])

    assert (told.tried, told.exact, told.served, told.wasted) == (1, 1, 1, 0)
    assert told.ahead < told.asked


def test_a_call_that_nobody_asked_for_is_waste_and_saves_nothing() -> None:
    told = spent(looks(1), [], [foretold("/home/other")], [foretold("/home/after")])

    assert (told.tried, told.exact, told.served, told.wasted) == (2, 0, 0, 2)
    assert told.ahead == pytest.approx(told.asked)


def test_a_server_that_does_one_thing_at_a_time_is_in_the_way() -> None:
    told = spent(looks(1), [], [foretold("/home/other")], [], pace=Pace(9.0, serial=True))

    assert told.ahead > told.asked


def test_what_is_asked_for_later_is_served_but_not_exact_and_a_write_takes_it_away() -> None:
    path = "/home/later"
    reads = session(made(LIST, path="/a"), made(LIST, path="/b"), made(READ, path=path))
    writes = session(
        made(LIST, path="/a"), made(WRITE, path="/b", content="x"), made(READ, path=path)
    )

    later = [spent(each, [], [foretold(path)], [], []) for each in (reads, writes)]

    assert [(each.exact, each.served) for each in later] == [(0, 1), (0, 0)]


def test_what_fails_or_has_waited_too_long_is_not_served() -> None:
    path = "/home/later"
    fails = session(made(LIST, path="/a"), made(READ, path=path, failed=True))
    waits = session(*[made(LIST, path=f"/{each}") for each in range(40)], made(READ, path=path))

    assert spent(fails, [], [foretold(path)]).served == 0
    assert spent(waits, [], [foretold(path)]).served == 0


def test_the_gates_of_the_product_keep_out_what_they_keep_out() -> None:
    shadow = foretold("/home/a")
    not_yet = replace(shadow, wanted=replace(shadow.wanted, proven=False))
    write = foretold_of(tools()[WRITE], {"path": "/a", "content": "b"}, 0.9)
    made_up = replace(shadow, wanted=replace(shadow.wanted, arguments={"path": 3}))

    kept = [spent(looks(1), [], [each], []) for each in (not_yet, write, made_up)]
    quick = spent(looks(1), [], [shadow], [], pace=Pace(None, {READ: 0.002}))
    twice = spent(looks(1), [], [shadow, shadow], [])

    gates = [list(each.kept_out) for each in [*kept, quick, twice]]
    assert gates == [["proven"], ["only_reads"], ["fits_its_schema"], ["worth_it"], gates[4]]
    assert [each.tried for each in [*kept, quick, twice]] == [0, 0, 0, 0, 1]


def test_a_write_that_an_operator_took_for_a_read_would_be_counted_as_unsafe() -> None:
    known = tools()
    fooled = {**known, WRITE: replace(known[WRITE], effect=known[READ].effect)}
    write = foretold_of(known[WRITE], {"path": "/a", "content": "b"}, 0.9)

    told = clocked(Lane(fooled), Pace(1.0), Replayed(looks(1), [[], [write], []]))

    assert told.unsafe == 1


def test_figures_are_shares_of_what_was_asked_and_tried() -> None:
    some = [Spent(calls=10, tried=4, exact=2, served=3, asked=20, ahead=18)]

    assert figures.of(some) == {
        "tried": 4,
        "exact_hit_rate": 0.5,
        "used_rate": 0.75,
        "waste_rate": 0.1,
        "served_share": 0.3,
        "wall_change": -0.1,
    }
    assert figures.interval(some, figures.waste_rate) == [0.1, 0.1]
    assert figures.of([])["wall_change"] == 0.0


def test_of_every_call_it_is_told_why_it_could_be_served_or_not() -> None:
    path = "/home/a"
    calls = [made(LIST, path="/b"), *(made(READ, path=path),) * 3, made(LIST, path="/c")]
    writes = made(WRITE, path=path, content="x")
    live, shadow = foretold(path), replace(foretold(path), live=False)
    foreseen = [[], [foretold("/else")], [shadow], [live], [], [], []]

    told = figures.limits([Replayed(session(*calls, writes), foreseen)])

    assert told == {
        "the first call": 0.1667,
        "its tool foretold, with other arguments": 0.1667,
        "foretold, not surely enough": 0.1667,
        "foretold": 0.1667,
        "not foretold": 0.1667,
        "changes something": 0.1667,
    }


def test_first_order_copies_what_the_last_call_was_given() -> None:
    def twice(number: int) -> Session:
        path = f"/home/{number}"
        return session(made(LIST, path=path), made(READ, path=path), number=number)

    baseline = FirstOrder(tools())
    baseline.learn(map(twice, range(20)))
    (foreseen,) = baseline.foretell([twice(99)])
    told = clocked(Lane(tools()), Pace(1.0), foreseen, least=THRESHOLD)

    assert (told.tried, told.exact) == (1, 1)
