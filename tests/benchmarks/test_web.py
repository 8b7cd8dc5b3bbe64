"""`just bench web`: what is made of times, pages and tabs; the copies that fill its house."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from benchmarks.web_assets import Weight, fonts_of, links_of, weight_of
from benchmarks.web_browser import Seen
from benchmarks.web_copies import NUMBER, numbered, spelled, template
from benchmarks.web_families import Family
from benchmarks.web_figures import Heard, heard_of, percentile
from benchmarks.web_loading import copies_wanted
from benchmarks.web_pages import Pages, Timed
from benchmarks.web_report import Measured, report
from benchmarks.web_screens import every_screen
from benchmarks.web_seeds import Seed
from benchmarks.web_sizes import Sizes
from benchmarks.web_visitor import Visitor
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.ids import RunId
from tests.interfaces.cli.house import ScriptedHouse

ONE, OTHER, NEW = (UUID(int=number) for number in (7, 8, 2**100 + 9))
RUN = RunId(ONE)
PAGE = b"""<!doctype html><html><head>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/app.css?v=1">
<link rel="preload" as="font" href="/static/a.woff2">
<script src="/static/one.js" defer></script><script src="/static/one.js"></script>
</head><body><img src="/static/photo.png"><script src="/static/two.js"></script></body></html>"""
SHEET = '@font-face{src:url("vendor/b.woff2?v=3") format("woff2")} i{background:url(x.svg)}'
FILES = {
    "/static/app.css?v=1": SHEET.encode(),
    "/static/one.js": b"1" * 10,
    "/static/two.js": b"2" * 20,
    "/static/a.woff2": b"a" * 100,
    "/static/vendor/b.woff2?v=3": b"b" * 200,
}
FIGURES = ("run_page_assets_kb", "p95_ms_worst_screen", "live_tabs_complete", "axe_violations")


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)]
)
def test_a_percentile_is_one_of_the_values_and_so_many_are_not_above_it(
    share: float, wanted: float
) -> None:
    values = [float(each) for each in range(100, 0, -1)]

    assert percentile(values, share) == wanted


@pytest.mark.parametrize(
    ("heard", "wanted"),
    [
        ([0, 1, 2, 3, 4], Heard(0, 0, 0)),
        ([1, 2, 0, 4, 3], Heard(0, 0, 0)),  # topics have no order among each other
        ([0, 1, 2, 3], Heard(1, 0, 0)),
        ([0, 1, 1, 2, 3, 4], Heard(0, 1, 0)),
        ([0, 2, 1, 3, 4], Heard(0, 0, 1)),
        ([0, 1, 2, 3, 4, 99], Heard(0, 1, 0)),
        ([], Heard(5, 0, 0)),
    ],
)
def test_what_a_tab_lacks_has_twice_or_in_another_order_is_counted(
    heard: list[int], wanted: Heard
) -> None:
    found = heard_of({"runs": [0, 3], "run_1": [1, 2, 4]}, heard)

    assert found == wanted
    assert found.complete is (wanted == Heard(0, 0, 0))


def test_a_page_weighs_what_its_own_links_load_once_each_and_no_pictures() -> None:
    links, weight = links_of(PAGE.decode()), weight_of(PAGE, FILES.__getitem__)

    assert links.scripts == ["/static/one.js", "/static/two.js"]
    assert (links.sheets, links.fonts) == (["/static/app.css?v=1"], ["/static/a.woff2"])
    assert fonts_of(SHEET, "/static/app.css?v=1") == ["/static/vendor/b.woff2?v=3"]
    assert weight == Weight(html=len(PAGE), scripts=30, sheets=len(SHEET), fonts=300)
    assert weight.all - weight.without_fonts == 300


def test_a_copy_has_other_ids_and_times_and_is_else_the_same() -> None:
    text = (
        f"{ONE}\t2026-11-17 08:00:00.5+00\t" + '{"run": "' + f"{RUN}" + '"}\t\\N\n'
        f"{OTHER}\t2026-11-17 08:00:01+00\t2026-11-17T08:00:01+00:00\n"
    )

    copied = template(text, [ONE]).copied([NEW], timedelta(hours=2))

    assert copied == (
        f"{NEW}\t2026-11-17 06:00:00.500000+00:00\t" + '{"run": "' + f"{RunId(NEW)}" + '"}\t\\N\n'
        f"{OTHER}\t2026-11-17 06:00:01+00:00\t2026-11-17T08:00:01+00:00\n"
    )
    assert spelled(NEW) in copied
    assert spelled(ONE) not in copied


def test_numbers_of_a_topic_go_on_from_copy_to_copy() -> None:
    text = f"a\t{NUMBER}\nb\t{NUMBER}\n"

    first, following = numbered(text, 5)
    second, last = numbered(text, following)

    assert (first, second, last) == ("a\t5\nb\t6\n", "a\t7\nb\t8\n", 9)
    assert numbered("nothing", 5) == ("nothing", 5)


def _family(runs: int) -> Family:
    began = datetime(2026, 11, 17, tzinfo=UTC)
    return Family(ids=[ONE], runs=runs, began=began, rows={}, told={})


def test_there_are_as_many_runs_as_are_wanted_and_as_many_requests_and_debates() -> None:
    seeds = [Seed(RUN, 3), Seed(RUN, 1), Seed(RUN, like="debate"), Seed(RUN, like="waiting")]
    families = [_family(1), _family(2), _family(1), _family(2)]
    sizes = Sizes(runs=1_000, waiting=50, debates=100)

    many = copies_wanted(seeds, families, sizes, there=20)

    assert many[2:] == [100, 50]
    assert many[0] == 3 * many[1]
    made = sum(copies * family.runs for copies, family in zip(many, families, strict=True))
    assert abs(made + 20 - 1_000) <= len(seeds)


class _Places(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"the-{name}"


def test_every_place_of_the_menu_is_among_the_screens_and_no_two_are_called_alike() -> None:
    screens = every_screen(_Places())

    paths = {screen.path for screen in screens}
    assert {"/inbox", "/runs", "/chat", "/bridge", "/debates", "/tools", "/graph"} <= paths
    assert {"/servers", "/agents", "/figures", "/audit", "/settings", "/welcome"} <= paths
    assert {"/runs/the-long", "/bridge/the-long_project/the-long_talk"} <= paths
    assert len({screen.name for screen in screens}) == len(screens)
    assert not any("{" in path for path in paths)


def _measured(seen: Seen | None) -> Measured:
    pages = Pages(Visitor("http://localhost:1"), {})
    pages.drawn = {
        "/runs": Timed(50_000, whole=True, took=[0.05] * 40, cpu={"server": 0.8}),
        "/figures": Timed(60_000, whole=True, took=[0.01] * 37 + [0.09] * 3),
        "/runs/list": Timed(49_900, whole=False, took=[0.2] * 40),
    }
    names = (
        *("run", "run_step", "event", "tool", "server", "tool_call", "tool_edge", "message"),
        *("conversation", "approval", "waiting", "debate", "agent_run", "audit_entry"),
    )
    live: Mapping[str, Any] = {"complete": 199, "p95_ms": 12.345}
    return Measured(
        pages=pages,
        baseline={"healthz": Timed(2, whole=False, took=[0.001]),
                  "rest_runs": Timed(2, whole=False, took=[0.03])},
        weight=Weight(html=40_000, scripts=50_000, sheets=70_000, fonts=80_000),
        live=live,
        seen=seen,
        lacking={},
        filled={"counts": dict.fromkeys(names, 1), "long_talk": {"messages": 2_011}},
    )  # fmt: skip


def _told(measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    report(measured, Sizes()).tell(Terminal(services=ScriptedHouse(tmp_path), json=True))
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_it_tells_the_figures_that_are_promised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Seen({"/runs (dark)": ["colour", "name"]}, 2, [], {"long run": 812.4}, {}, "144")

    told = _told(_measured(seen), tmp_path, capsys)
    blind = _told(_measured(None), tmp_path, capsys)

    assert [told[name] for name in FIGURES] == [240.0, 90.0, 199, 2]
    assert told["worst_screen"] == "/figures"
    assert told["run_page"]["without_fonts_kb"] == 160.0
    assert told["screens"]["/runs"]["server_cpu_ms"] == 20.0
    assert told["conditions"]["largest_part_kb"] == 49.9
    assert told["until_live_ms"] == {"long run": 812}
    assert told["baseline"]["worst_screen_to_rest_runs"] == 3.0
    assert "one of 2,011" in told["corpus"]
    assert blind["axe_violations"] is None is blind["until_live_ms"]
