"""`run_code`: a small program in an interpreter that has no way to the machine."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import CodeLimits, CodeOutcome
from portico.sandbox.requests import Interpreter

OpenInterpreter = Callable[[], Awaitable[Interpreter]]

SECONDS: Final = 10.0
MEMORY: Final = 64_000_000

RUN_CODE: Final = Offered(
    {
        "name": "run_code",
        "title": "Run a small Python program",
        "description": (
            "Run a small program in a subset of Python and get the value of its last expression "
            "and what it printed: for arithmetic, texts, dates, sorting, JSON. There are no files, "
            "no network, no classes, no packages; each call begins anew. It may compute for "
            f"{SECONDS:g} seconds and use {MEMORY // 1_000_000} MB."
        ),
        "inputSchema": schema(
            {
                "program": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 100_000,
                    "description": "Its last expression is the result.",
                },
                "inputs": {
                    "type": "object",
                    "maxProperties": 100,
                    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                    "description": "Values that the program finds in variables of these names.",
                },
            },
            required=["program"],
        ),
        "outputSchema": schema(
            {
                "result": {"description": "Of the last expression; null if there is none."},
                "printed": {"type": "string"},
            },
            required=["result", "printed"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.PURE,
)


@dataclass(frozen=True, slots=True)
class RunCode(Everywhere):
    open_interpreter: OpenInterpreter
    offered: ClassVar[Offered] = RUN_CODE

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        seconds = min(SECONDS, errand.seconds)
        limits = CodeLimits(seconds=seconds, whole_seconds=errand.seconds, memory=MEMORY)
        interpreter = await self.open_interpreter()
        outcome = await interpreter.run(
            given.text(arguments, "program"), limits, inputs=_inputs(arguments)
        )
        return _answer(outcome)


def _inputs(arguments: JsonObject) -> Mapping[str, JsonValue]:
    inputs = arguments.get("inputs")
    return inputs if isinstance(inputs, Mapping) else {}


def _answer(outcome: CodeOutcome) -> Answer:
    printed = f"printed:\n{outcome.printed}" if outcome.printed else ""
    if outcome.error is None:
        result = json.dumps(outcome.result, ensure_ascii=False)
        words = [f"result: {result}", printed]
        facts: JsonObject = {"result": outcome.result, "printed": outcome.printed}
        return told("\n".join(filter(None, words)), facts)
    fix = "Mend the program; or do less, if it met a limit."
    failure = {
        "code": "program_failed",
        "message": outcome.error,
        "fix": fix,
        "ended_by": str(outcome.end),
        "printed": outcome.printed,
    }
    return told("\n".join(filter(None, [outcome.error, printed])), failure, failed=True)
