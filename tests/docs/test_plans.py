"""The plans in the docs are plans, and their reference has every field."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.workflows.core.plan import FOR_EACH, PLAN, STEP
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_files import PlanFormat, parse_plan_text, read_plan_text

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/plans.md"
_BLOCK = re.compile(r"^```(toml|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, PlanFormat, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, (form, text) in enumerate(_BLOCK.findall(page.read_text("utf-8"))):
            if "steps" in text and "…" not in text:
                yield f"{page.relative_to(ROOT)}:{number}", PlanFormat(form), text


BLOCKS = [*blocks()]


@pytest.mark.parametrize(("where", "form", "text"), BLOCKS, ids=[each[0] for each in BLOCKS])
def test_a_plan_in_the_docs_can_be_read(where: str, form: PlanFormat, text: str) -> None:
    document = parse_plan_text(text, form)
    assert isinstance(document, Mapping), where
    inside = document.get("plan", document)

    if isinstance(inside, Mapping) and isinstance(inside.get("steps"), list):
        read_plan(inside, JmespathExpressions())


def test_the_first_example_of_the_reference_is_a_plan() -> None:
    form, text = _BLOCK.findall(PAGE.read_text("utf-8"))[0]

    plan = read_plan_text(text, PlanFormat(form), JmespathExpressions())

    assert [step.id for step in plan.steps] == ["find", "read", "save"]


def test_every_field_is_told() -> None:
    page = PAGE.read_text("utf-8")

    assert [name for name in [*PLAN, *STEP, *FOR_EACH] if f"`{name}`" not in page] == []


def test_the_schema_beside_it_is_json() -> None:
    assert "$defs" in json.loads((PAGE.parent / "plan.schema.json").read_text("utf-8"))
