"""Plans as files: JSON and TOML, read with the place of each fault, and written."""

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Final

from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, PlanFault
from portico.gateway.core.plan.json_places import json_places
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.toml_places import toml_places
from portico.gateway.core.plan.toml_text import toml_text
from portico.gateway.core.plan.writing import plan_document
from portico.kernel.json import JsonValue

LONGEST: Final = 4_000_000
_TOML_PLACE: Final = re.compile(
    r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL
)


class PlanFormat(StrEnum):
    JSON = "json"
    TOML = "toml"


def read_plan_text(text: str, form: PlanFormat, expressions: Expressions) -> Plan:
    """Raises `BadPlan`, its faults with line and column."""
    document = parse_plan_text(text, form)
    try:
        return read_plan(document, expressions)
    except BadPlan as error:
        raise BadPlan(placed(error.faults, text, form)) from error


def parse_plan_text(text: str, form: PlanFormat) -> JsonValue:
    """What it says, whether or not that is a plan. Raises `BadPlan`."""
    text = text.removeprefix("\ufeff")
    if len(text) > LONGEST:
        raise BadPlan([PlanFault("", f"It has more than {LONGEST:,} characters.")])
    try:
        return _from_toml(text) if form is PlanFormat.TOML else _from_json(text)
    except RecursionError as error:
        raise BadPlan([PlanFault("", "It is nested too deep to be read.")]) from error


def plan_text(plan: Plan, form: PlanFormat) -> str:
    document = plan_document(plan)
    if form is PlanFormat.TOML:
        return toml_text(document)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def placed(faults: Iterable[PlanFault], text: str, form: PlanFormat) -> Iterator[PlanFault]:
    """With the line and column of each, and in the order of the text."""
    text = text.removeprefix("\ufeff")
    starts = toml_places(text) if form is PlanFormat.TOML else json_places(text).starts
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    known = sorted(
        (_start(fault.place, starts), number, fault) for number, fault in enumerate(faults)
    )
    for at, _, fault in known:
        line = bisect_right(lines, at)
        yield replace(fault, line=line, column=at - lines[line - 1] + 1)


def _start(pointer: str, starts: Mapping[str, int]) -> int:
    """Of what is not there, that in which it should be."""
    while pointer not in starts:
        pointer = pointer.rpartition("/")[0]
    return starts[pointer]


def _from_json(text: str) -> JsonValue:
    try:
        document: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        fault = PlanFault("", f"It is not JSON: {error.msg}.", None, error.lineno, error.colno)
        raise BadPlan([fault]) from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise BadPlan([PlanFault("", f"It cannot be read: {error}.")]) from error
    twice = json_places(text).twice
    if twice:
        faults = [PlanFault(place, "It is there twice.", "Keep one of them.") for place, _ in twice]
        raise BadPlan(placed(faults, text, PlanFormat.JSON))
    return document


def _from_toml(text: str) -> JsonValue:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = _TOML_PLACE.fullmatch(str(error))
        what = found[1] if found else str(error)
        line, column = (int(found[2]), int(found[3])) if found and found[2] else (None, None)
        raise BadPlan([PlanFault("", f"It is not TOML: {what}.", None, line, column)]) from error
