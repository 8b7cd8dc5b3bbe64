"""What the runs of `bench ahead` come to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from statistics import median
from typing import Final

from benchmarks import ahead_figures as figures
from benchmarks.ahead_baselines import THRESHOLD, by_threshold
from benchmarks.ahead_foretold import Replayed
from benchmarks.ahead_gates import TERMS, Lane
from benchmarks.ahead_record import SERVERS
from benchmarks.ahead_replay import PRINCIPALS
from benchmarks.ahead_run import as_if_here
from benchmarks.ahead_sessions import Recording
from benchmarks.ahead_splits import FOLDS
from benchmarks.ahead_time import SPREAD, THINKS, Pace, Spent, all_served, clocked
from benchmarks.ahead_truth import TRULY_READS, LetIn, let_in
from portico.bench.report import Report
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch_predictor import GATE, LEAST_TRIED, SURE, SURE_WISHED

_PROTOCOL: Final = (
    f"{FOLDS} parts by session, each asked of what the others taught, and itself teaching nothing; "
    "the ordinary case sees what was searched for and not the wish; gates, terms and constants as "
    "shipped, the constants fitted on sessions of another seed; tools at a lognormal latency "
    "around 1 s unless said otherwise, the same for the same call; a call made ahead begins when "
    "the answer before it is there, waits at most as long as the terms say, is dropped by a write, "
    "and counts as waste if nobody asked for it; sessions are done in turn by "
    f"{PRINCIPALS} principals, of whom each is called ahead for once enough came true for them: "
    "those who taught, but of templates left out others of whom nothing is known (unseen_by_known: "
    "those who taught, with other work)"
)
_GATES: Final = (0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class Runs:
    recording: Recording
    traces: Recording
    replayed: Mapping[str, Sequence[Replayed]]

    def report(self, memory: JsonObject) -> Report:
        ordinary, intent = self.spent("ordinary"), self.spent("intent")
        unseen, real = self.spent("unseen"), self.spent("real")
        return Report(
            benchmark="ahead",
            corpus=self._corpus(),
            figures={
                "exact_hit_rate": round(figures.exact_hit_rate(ordinary), 4),
                "waste_rate": round(figures.waste_rate(ordinary), 4),
                "served_share": round(figures.served_share(ordinary), 4),
                "wall_change_1s": round(figures.wall_change(ordinary), 4),
                "wall_change_1s_with_intent": round(figures.wall_change(intent), 4),
                "waste_rate_with_intent": round(figures.waste_rate(intent), 4),
                "unseen_waste_rate": round(figures.waste_rate(unseen), 4),
                "real_traces_waste_rate": round(figures.waste_rate(real), 4),
                "unsafe_calls": self._unsafe(),
                "memory_mb": memory["grown_mb"],
                "runs": {
                    name: figures.of(self.spent(name))
                    for name in self.replayed
                    if name != "first_order"
                },
                "intervals": _intervals(ordinary, intent),
                "latencies": self._latencies(),
                "by_gate": self._by_gate(),
                "reliability": self._reliability(),
                "limits": {
                    run: figures.limits(self.replayed[run]) for run in ("ordinary", "intent")
                },
                "kept_out": figures.kept_out(ordinary),
                "memory": memory,
            },
            baseline=self._baseline(),
            conditions=self._conditions(),
        )

    def spent(self, run: str, pace: Pace | None = None, least: float = 0.0) -> list[Spent]:
        return self._clocked(run, self.replayed[run], pace, least)

    def _clocked(
        self, run: str, replayed: Sequence[Replayed], pace: Pace | None = None, least: float = 0.0
    ) -> list[Spent]:
        lane = Lane(self._tools(run))
        return [clocked(lane, pace or Pace(1.0), each, least) for each in replayed]

    def _tools(self, run: str) -> Mapping[str, LetIn]:
        if run.startswith("real"):
            return as_if_here(let_in(self.traces))
        return let_in(self.recording, lying=run == "lying")

    def _unsafe(self) -> int:
        """In every run whose tools we know, that of lying servers among them."""
        known = [run for run in self.replayed if not run.startswith(("real", "first"))]
        return sum(each.unsafe for run in known for each in self.spent(run))

    def _latencies(self) -> JsonObject:
        paces = {
            "as measured": Pace(None, self._usual()),
            **{f"{seconds} s": Pace(seconds) for seconds in (0.2, 0.5, 1.0, 2.0)},
            "1.0 s, servers that do one thing at a time": Pace(1.0, serial=True),
        }
        return {
            name: {run: figures.of(self.spent(run, pace)) for run in ("ordinary", "intent")}
            for name, pace in paces.items()
        }

    def _usual(self) -> Mapping[str, float]:
        took: dict[str, list[float]] = {}
        for session in self.recording.sessions:
            for call in session.calls:
                took.setdefault(call.name, []).append(call.seconds)
        return {name: median(each) for name, each in took.items()}

    def _by_gate(self) -> JsonObject:
        return {
            str(least): {
                run: figures.of(self.spent(run, least=least))
                for run in ("ordinary", "intent", "unseen", "real")
            }
            for least in _GATES
        }

    def _reliability(self) -> JsonObject:
        return {
            run: {
                "all": figures.reliability(self.replayed[run]),
                "tried": figures.reliability(_live(self.replayed[run])),
            }
            for run in ("ordinary", "intent", "unseen")
        }

    def _baseline(self) -> JsonObject:
        return {
            "first_order_by_threshold": {
                str(least): figures.of(self.spent("first_order", least=least))
                for least in (0.1, 0.2, THRESHOLD)
            },
            "second_order_by_threshold": {
                run: figures.of(self._clocked(run, by_threshold(self.replayed[run])))
                for run in ("ordinary", "intent", "unseen", "real")
            },
            "every_call_served_wall_change_1s": round(self._at_most(), 4),
        }

    def _at_most(self) -> float:
        """Had every call been under way since the answer before it."""
        sessions = [each.session for each in self.replayed["ordinary"]]
        return figures.wall_change([all_served(self._tools("ordinary"), each) for each in sessions])

    def _corpus(self) -> str:
        writes = sum(
            call.name not in TRULY_READS
            for session in self.recording.sessions
            for call in session.calls
        )
        return (
            f"{len(self.recording.sessions)} sessions of {self.recording.made_with['templates']} "
            f"templates of ours, {self.recording.calls} calls ({writes} writes), over "
            f"{', '.join(SERVERS)}; {len(self.traces.sessions)} recorded sessions of an agent on "
            f"LiveMCPBench, {self.traces.calls} calls of {len(self.traces.tools)} tools"
        )

    def _conditions(self) -> JsonObject:
        return {
            "protocol": _PROTOCOL,
            "recording": dict(self.recording.made_with),
            "mcp": version("mcp"),
            "asked": {name: len(each) for name, each in self.replayed.items()},
            "thinks": list(THINKS),
            "latency_spread": SPREAD,
            "gate": GATE,
            "sure": SURE,
            "sure_where_wished": SURE_WISHED,
            "least_tried": LEAST_TRIED,
            "keep_seconds": TERMS.keep.total_seconds(),
            "least_gain_ms": TERMS.least_gain.total_seconds() * 1000,
            "measured_p50_ms": {
                name: round(seconds * 1000, 1) for name, seconds in sorted(self._usual().items())
            },
        }


def _intervals(ordinary: Sequence[Spent], intent: Sequence[Spent]) -> JsonObject:
    return {
        "exact_hit_rate": figures.interval(ordinary, figures.exact_hit_rate),
        "waste_rate": figures.interval(ordinary, figures.waste_rate),
        "served_share": figures.interval(ordinary, figures.served_share),
        "wall_change_1s": figures.interval(ordinary, figures.wall_change),
        "wall_change_1s_with_intent": figures.interval(intent, figures.wall_change),
        "waste_rate_with_intent": figures.interval(intent, figures.waste_rate),
    }


def _live(replayed: Iterable[Replayed]) -> list[Replayed]:
    return [
        replace(each, foretold=[[one for one in some if one.live] for some in each.foretold])
        for each in replayed
    ]
