"""Plans in files: read, explain what is wrong by line, edit in place."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.terminal import STANDARD_INPUT
from portico.interfaces.cli.tools import named_values
from portico.kernel.errors import FieldError, PorticoError
from portico.workflows.core.plan import InvalidPlan, PlanDiagnostic
from portico.workflows.core.plan_files import PlanFormat, parse_plan_text, placed

Edges = Sequence[Mapping[str, Any]]
"""As they are proposed."""


def with_references(text: str, form: PlanFormat, edges: Edges) -> str:
    """Of TOML with its comments; JSON has none, and is laid out anew."""
    return _in_toml(text, edges) if form is PlanFormat.TOML else _in_json(text, edges)


def _in_json(text: str, edges: Edges) -> str:
    document = json.loads(text.removeprefix("\ufeff"))
    _put(document, edges, dict)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _in_toml(text: str, edges: Edges) -> str:
    import tomlkit

    def inline(reference: Mapping[str, str]) -> Mapping[str, str]:
        table = tomlkit.inline_table()
        table.update(reference)
        return table

    document: Any = tomlkit.parse(text.removeprefix("\ufeff"))
    bare = [step for step in [*document["steps"]][:-1] if "arguments" not in step]
    _put(document, edges, inline)
    for step in bare:
        if "arguments" in step:
            step["arguments"].add(tomlkit.nl())
    return tomlkit.dumps(document)


def _put(
    document: MutableMapping[str, Any],
    edges: Edges,
    written: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> None:
    steps = {step["id"]: step for step in document["steps"]}
    for edge in edges:
        source = ".".join(part for part in (edge["from_step"], edge["path"]) if part)
        arguments = steps[edge["to_step"]].setdefault("arguments", {})
        arguments[edge["parameter"]] = written({"$from": source})


_FORMS: Final = "A plan is .json or .toml, a program .py; a saved workflow goes by its name."


@dataclass(frozen=True, slots=True)
class PlanInput:
    document: dict[str, Any]
    text: str = ""
    """Of the file; none if it comes from elsewhere."""
    form: PlanFormat = PlanFormat.JSON
    file: str = ""

    def located(self, flaws: Iterable[FieldError]) -> Sequence[FieldError]:
        """By file, line and column instead of by place, where there is a file."""
        faults = [PlanDiagnostic(flaw.field, flaw.message) for flaw in flaws]
        if not self.text:
            return [FieldError(fault.place or "the plan", fault.what) for fault in faults]
        return [
            FieldError(
                f"{self.file}:{fault.line}:{fault.column}", f"{fault.place} {fault.what}".strip()
            )
            for fault in placed(faults, self.text, self.form)
        ]


@dataclass(frozen=True, slots=True)
class ProgramInput:
    code: str


@dataclass(frozen=True, slots=True)
class NameInput:
    name: str


@dataclass(frozen=True, slots=True)
class SuggestionInput:
    id: str


PlanSource = PlanInput | ProgramInput | NameInput | SuggestionInput


def given(text: str) -> PlanSource:
    """At standard input stands a plan. Raises `InvalidUsage`, `InvalidPlan`."""
    if text == STANDARD_INPUT:
        read = sys.stdin.read()
        form = PlanFormat.JSON if read.lstrip("\ufeff \t\r\n").startswith("{") else PlanFormat.TOML
        return _plan(read, form, "standard input")
    file = Path(text)
    if file.suffix == ".py":
        return ProgramInput(file.read_text(encoding="utf-8"))
    if file.suffix in {".json", ".toml"}:
        return _plan(file.read_text(encoding="utf-8"), PlanFormat(file.suffix[1:]), text)
    if file.suffix or "/" in text or file.exists():
        raise InvalidUsage(f"{text} is neither a plan nor a program.", fix=_FORMS)
    return NameInput(text)


@contextmanager
def faults_located(plan: PlanInput) -> Iterator[None]:
    """Whoever refuses the plan names places in it; whoever wrote it looks for lines."""
    try:
        yield
    except PorticoError as error:
        if error.code == InvalidPlan.code:
            error.field_errors = tuple(plan.located(error.field_errors))
        raise


def with_set(plan: PlanInput, pairs: list[str]) -> PlanInput:
    """The plan with other arguments: `step.argument=value` each. Raises `InvalidUsage`."""
    document = {**plan.document}
    for name, changed in arguments_set(pairs).items():
        place, step = _step(document, name)
        steps = [*document["steps"]]
        steps[place] = {**step, "arguments": {**step.get("arguments", {}), **changed}}
        document["steps"] = steps
    return replace(plan, document=document)


def arguments_set(pairs: list[str]) -> dict[str, dict[str, Any]]:
    """By step. Raises `InvalidUsage`."""
    found: dict[str, dict[str, Any]] = {}
    for place, value in named_values(pairs).items():
        step, dot, argument = place.partition(".")
        if not step or not dot or not argument:
            raise InvalidUsage(
                f"{place!r} is not STEP.ARGUMENT.", fix="Such as: --set read.path=a.txt"
            )
        found.setdefault(step, {})[argument] = value
    return found


def inputs_given(texts: list[str]) -> dict[str, Any]:
    """`name=value` each, or a JSON object, or @FILE with one. Raises `InvalidUsage`."""
    found: dict[str, Any] = {}
    for text in texts:
        if text.startswith("@"):
            found |= _object(Path(text[1:]).read_text(encoding="utf-8"))
        elif text.startswith("{"):
            found |= _object(text)
        else:
            found |= named_values([text])
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidUsage(f"The input is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidUsage("The input is not a JSON object.")
    return value


def _plan(text: str, form: PlanFormat, where: str) -> PlanInput:
    try:
        found: Any = parse_plan_text(text, form)
    except InvalidPlan as error:
        error.field_errors = tuple(FieldError(where, str(fault)) for fault in error.diagnostics)
        raise
    if not isinstance(found, dict):
        raise InvalidUsage(f"{where} holds no plan: it is not an object.")
    return PlanInput(found, text, form, where)


def _step(document: dict[str, Any], name: str) -> tuple[int, dict[str, Any]]:
    steps = document.get("steps")
    many = enumerate(steps if isinstance(steps, list) else [])
    found = {step.get("id"): (place, step) for place, step in many if isinstance(step, dict)}
    if name not in found:
        names = [str(each) for each in found]
        close = get_close_matches(name, names, n=1)
        near = f"Did you mean {close[0]}?" if close else f"It has: {', '.join(names)}"
        raise InvalidUsage(f"The plan has no step {name}.", fix=near)
    return found[name]
