"""The figures of `just bench agents`, and what they were measured beside."""

from importlib.metadata import version

from benchmarks.agents_figures import median_ms, p95_ms, ratio
from benchmarks.agents_measured import AT_A_TIME, Measured, Storm
from benchmarks.agents_work import (
    EARLY,
    LEAN,
    PLAIN,
    SHORT,
    SPREAD,
    STORM,
    TOOL_SECONDS,
    TURN_SECONDS,
    TURNS,
    calls_of,
)
from portico.bench.report import Report
from portico.kernel.json import JsonValue


def report(measured: Measured, rounds: int, runs: int, pairs: int) -> Report:
    (storm,) = measured.storms
    words = measured.words
    return Report(
        benchmark="agents",
        corpus=f"a scripted model over HTTP and a lean stdio server; {rounds} rounds of "
        f"{AT_A_TIME} runs of {TURNS} turns with a call each but the last; {runs} runs at once of "
        f"{TURNS} turns of {TURN_SECONDS:g} s; {pairs} first words after 0.2 s; turns of 0.9 s "
        "with three reads",
        figures={
            "cpu_ms_per_turn": round(_beyond(measured), 2),
            "runs_lost": len(storm.lost),
            "p95_overhead_ms": p95_ms(storm.over.turns),
            "first_token_ratio": ratio(words["run"], words["direct"]),
            "early_start_saved_ms": measured.saved_ms(SPREAD),
        },
        baseline={
            "bare_ask_cpu_ms": round(measured.cpu_ms("asks", LEAN) / TURNS, 2),
            "bare_call_cpu_ms": round(measured.cpu_ms("calls", LEAN) / calls_of(LEAN), 2),
            "first_token_direct_ms": median_ms(words["direct"]),
            "late_start_turn_ms": {
                script.name: median_ms(measured.turns_took[script.name, False]) for script in EARLY
            },
        },
        conditions={
            "pydantic_ai": version("pydantic-ai-slim"),
            **_cpu(measured),
            **_storm(storm),
            "first_token_run_ms": median_ms(words["run"]),
            "first_token_v1_ms": median_ms(words["model"]),
            "first_token_v1_ratio": ratio(words["model"], words["direct"]),
            **_real(measured),
            "early_start_saved_ms_by_shape": {
                script.name: measured.saved_ms(script) for script in EARLY
            },
        },
    )


def _real(measured: Measured) -> dict[str, JsonValue]:
    words = measured.words
    if not words["real run"]:
        return {"real_model": "give its weights by --weights to have it measured, too"}
    return {
        "real_first_token_direct_ms": median_ms(words["real direct"]),
        "real_first_token_run_ms": median_ms(words["real run"]),
        "real_first_token_ratio": ratio(words["real run"], words["real direct"]),
        "real_first_token_v1_ratio": ratio(words["real model"], words["real direct"]),
    }


def _beyond(measured: Measured) -> float:
    """A whole run, less the same questions to the same model and the same calls through the
    gateway: what is left is the run's, its start and its end among it."""
    bare = measured.cpu_ms("asks", LEAN) + measured.cpu_ms("calls", LEAN)
    return (measured.cpu_ms("runs", LEAN) - bare) / TURNS


def _cpu(measured: Measured) -> dict[str, JsonValue]:
    cpu_ms = measured.cpu_ms
    with_call = (cpu_ms("runs", LEAN) - cpu_ms("asks", LEAN)) / TURNS
    further = (cpu_ms("runs", LEAN) - cpu_ms("runs", SHORT)) / (TURNS - len(SHORT.turns))
    return {
        "cpu_of": "the process that carries runs out: a run of ten turns, less its questions to "
        "the model alone and its calls through the gateway alone, a turn; each beyond what the "
        "same process takes in the same time at rest",
        "resting_cpu_ms_a_second": round(measured.resting() * 1000, 1),
        "cpu_ms_per_turn_with_its_call": round(with_call, 2),
        "cpu_ms_of_a_further_turn_with_all": round(further, 2),
        "cpu_ms_of_a_run_of_one_turn": round(cpu_ms("runs", PLAIN) - cpu_ms("asks", PLAIN), 2),
        "postgres_cpu_ms_per_turn": round(cpu_ms("runs", LEAN, "postgres") / TURNS, 2),
    }


def _storm(storm: Storm) -> dict[str, JsonValue]:
    turns = max(1, len(storm.over.turns))
    return {
        "overhead_is": "from when the model's answer is out until it is asked again or the run has "
        "ended, less the tool's own time",
        "median_overhead_ms": median_ms(storm.over.turns),
        "p95_start_ms": p95_ms(storm.over.starting),
        "storm_s": round(storm.seconds, 2),
        "storm_scripted_s": round(STORM.seconds + calls_of(STORM) * TOOL_SECONDS, 2),
        "storm_cpu_ms_per_turn": round(storm.cpu / turns * 1000, 2),
        "storm_postgres_cpu_ms_per_turn": round(storm.postgres / turns * 1000, 2),
        "turns_not_asked_for_once": dict(storm.turns),
        "calls_not_made_once": dict(storm.calls),
    }
