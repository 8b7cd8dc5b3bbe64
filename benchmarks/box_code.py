"""How long it takes until a small program has run in the interpreter."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Final

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.sandbox.core.requests import CodeLimits

_PROGRAM: Final = "20 + 22"


@dataclass(frozen=True, slots=True)
class Code:
    first: float
    """With the interpreter itself not yet started."""
    start: float
    """From the call to its result, as a median."""


async def measure_code(runs: int) -> Code:
    async with MontyInterpreter() as interpreter:
        first, *others = [await _timed(interpreter) for _ in range(runs + 1)]
    return Code(first, median(others))


async def _timed(interpreter: MontyInterpreter) -> float:
    began = time.perf_counter()
    outcome = await interpreter.run(_PROGRAM, CodeLimits())
    taken = time.perf_counter() - began
    if outcome.result != 42:
        raise RuntimeError(f"{_PROGRAM} gave {outcome}")
    return taken
