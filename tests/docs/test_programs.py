"""The programs in the docs, which stand there as `py`, are programs that the interpreter runs."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.kernel.json import JsonValue
from portico.sandbox.core.requests import CodeEnd, CodeLimits

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TOOL = re.compile(r"\b[a-z]\w*__\w+(?=\()")
_INPUTS: Mapping[str, JsonValue] = {"address": "https://example.org"}


def programs() -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, text in enumerate(_BLOCK.findall(page.read_text("utf-8"))):
            yield f"{page.relative_to(ROOT)}:{number}", text


PROGRAMS = [*programs()]


async def answer(**_: JsonValue) -> JsonValue:
    """Of any tool: two lines of text, and where a program may look for more."""
    return {"content": "one\ntwo"}


@pytest.mark.parametrize(("where", "program"), PROGRAMS, ids=[each[0] for each in PROGRAMS])
async def test_a_program_in_the_docs_runs_to_its_end(where: str, program: str) -> None:
    tools = dict.fromkeys(_TOOL.findall(program), answer)

    async with MontyInterpreter(processes=1) as interpreter:
        outcome = await interpreter.run(program, CodeLimits(), inputs=_INPUTS, functions=tools)

    assert tools, where
    assert (outcome.end, outcome.error) == (CodeEnd.FINISHED, None)


def test_there_are_programs_to_run() -> None:
    assert PROGRAMS
