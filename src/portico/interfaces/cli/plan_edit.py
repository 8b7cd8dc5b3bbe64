"""A plan's file with references written into it, and everything else of it left alone."""

import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from portico.workflows.core.plan_files import PlanFormat

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
