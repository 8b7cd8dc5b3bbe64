"""The figures of `just bench web`, and what they were measured beside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.web_assets import Weight
from benchmarks.web_browser import Seen
from benchmarks.web_pages import Pages, Timed
from benchmarks.web_screens import WORK
from benchmarks.web_sizes import Sizes
from portico.bench.report import Report
from portico.kernel.json import JsonObject, JsonValue

_MOST: Final = 40
"""Violations and complaints that are told word by word."""


@dataclass(slots=True, kw_only=True)
class Measured:
    pages: Pages
    baseline: Mapping[str, Timed]
    weight: Weight
    live: Mapping[str, Any]
    seen: Seen | None
    lacking: Mapping[str, str]
    """What could not be measured, and why."""
    filled: Mapping[str, Any]
    beside: JsonObject = field(default_factory=dict)


def report(measured: Measured, sizes: Sizes) -> Report:
    whole, parts = measured.pages.some(whole=True), measured.pages.some(whole=False)
    pages = {name: each for name, each in whole.items() if name not in WORK}
    work = {name: each for name, each in whole.items() if name in WORK}
    seen = measured.seen
    worst = next(iter(pages), None)
    return Report(
        benchmark="web",
        corpus=_corpus(measured.filled, sizes),
        figures={
            "run_page_assets_kb": _kb(measured.weight.all),
            "p95_ms_worst_screen": None if worst is None else pages[worst].p95,
            "live_tabs_complete": measured.live["complete"],
            "axe_violations": None if seen is None or not seen.checked else seen.axe_violations,
            "worst_screen": worst,
            "screens": {name: each.as_json() for name, each in pages.items()},
            "parts": {name: each.as_json() for name, each in parts.items()},
            "work": {name: each.as_json() for name, each in work.items()},
            "not_drawn": dict(measured.pages.refused),
            "run_page": _weight(measured.weight),
            "live": {name: _short(value) for name, value in measured.live.items()},
            "until_live_ms": None if seen is None else _rounded(seen.live_ms),
            "until_drawn_ms": None if seen is None else _rounded(seen.drawn_ms),
            "violations": None if seen is None else dict(list(seen.violations.items())[:_MOST]),
            "complaints": None if seen is None else list(dict.fromkeys(seen.complaints))[:_MOST],
            "lacking": dict(measured.lacking),
        },
        baseline=_baseline(measured.baseline, None if worst is None else pages[worst]),
        conditions={
            "requests": sizes.requests,
            "worst_part_p95_ms": max((each.p95 for each in parts.values()), default=None),
            "largest_part_kb": max((_kb(each.bytes) for each in parts.values()), default=None),
            "checked": 0 if seen is None else seen.checked,
            "chromium": None if seen is None else seen.version,
            **measured.beside,
            "times_are": "from a question on an open connection over loopback until the last byte, "
            "one after the other, in rounds over all screens; a kB is 1,000 bytes, not compressed",
            "work_is": "what is worked out because somebody pressed a button, no screen of its own",
            "assets_are": "the page of a run of 13 steps with its scripts, its sheet and the fonts "
            "that this names, without pictures",
            "live_is": "tabs on one process, each its own stream on two topics; times from before "
            "an event is written until a tab has it; CPU in percent of one core; events are "
            "written by another process through the log itself",
            "until_live_is": "from the start of the navigation, with a warm cache, until the "
            "page's own dot says live; the median",
        },
    )


def _corpus(filled: Mapping[str, Any], sizes: Sizes) -> str:
    many = filled["counts"]
    return (
        f"{many['run']:,} runs (workflows, programs, agents, debates, approved calls and drills; "
        f"done, failed, cancelled and waiting) with {many['run_step']:,} steps and "
        f"{many['event']:,} events, one of {sizes.steps:,} steps; {many['tool']:,} tools of "
        f"{many['server']} servers, {many['tool_call']:,} calls and {many['tool_edge']:,} edges "
        f"between them; {many['message']:,} messages in {many['conversation']} conversations of "
        f"{sizes.projects} projects, one of {filled['long_talk']['messages']:,}; "
        f"{many['approval']:,} requests, {many['waiting']} of them waiting; {many['debate']} "
        f"debates; {many['agent_run']:,} chats; {many['audit_entry']:,} entries of the audit; each "
        "kind of run carried out once by the product and then copied, on embedded PostgreSQL"
    )


def _baseline(timed: Mapping[str, Timed], worst: Timed | None) -> JsonObject:
    told: dict[str, JsonValue] = {}
    for name, each in timed.items():
        told[f"{name}_p50_ms"], told[f"{name}_p95_ms"] = each.p50, each.p95
    runs = timed.get("rest_runs")
    if worst is not None and runs is not None and runs.p95:
        told["worst_screen_to_rest_runs"] = round(worst.p95 / runs.p95, 2)
    return told


def _weight(weight: Weight) -> JsonObject:
    return {
        "html_kb": _kb(weight.html),
        "scripts_kb": _kb(weight.scripts),
        "sheets_kb": _kb(weight.sheets),
        "fonts_kb": _kb(weight.fonts),
        "without_fonts_kb": _kb(weight.without_fonts),
    }


def _kb(many: int) -> float:
    return round(many / 1_000, 1)


def _rounded(values: Mapping[str, float]) -> JsonObject:
    return {name: round(value) for name, value in values.items()}


def _short(value: Any) -> JsonValue:  # noqa: ANN401 # JSON
    short: JsonValue = round(value, 1) if isinstance(value, float) else value
    return short
