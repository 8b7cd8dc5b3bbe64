"""A skeleton as JSON, to be written down and read again."""

from collections.abc import Mapping, Sequence

from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.suggest.intent import Kind
from portico.learning.core.suggest.skeleton import Constant, FromIntent, Kept, PastStep, Unknown
from portico.workflows.core.plan import Reference


def skeleton_document(steps: Sequence[PastStep]) -> JsonValue:
    return [
        {
            "id": step.id,
            "tool": step.tool,
            "arguments": {name: _written(each) for name, each in step.arguments.items()},
            "after": list(step.after),
        }
        for step in steps
    ]


def read_skeleton(document: JsonValue) -> Sequence[PastStep]:
    """Raises `ValueError`."""
    return [
        PastStep(
            _text(each, "id"),
            _text(each, "tool"),
            {name: _read(kept) for name, kept in _object(each.get("arguments", {})).items()},
            [str(name) for name in _list(each.get("after", []))],
        )
        for each in map(_object, _list(document))
    ]


def _written(kept: Kept) -> JsonObject:
    if isinstance(kept, FromIntent):
        found: dict[str, JsonValue] = {"intent": str(kept.kind), "number": kept.number}
        return {**found, "text": True} if kept.as_text else found
    if isinstance(kept, Constant):
        return {"value": kept.value}
    if isinstance(kept, Reference):
        return {"step": kept.step, "path": kept.path}
    return {}


def _read(document: JsonValue) -> Kept:
    told = _object(document)
    if "intent" in told:
        number = told.get("number")
        if not isinstance(number, int):
            raise ValueError(f"{number!r} is no number of a value.")
        return FromIntent(Kind(_text(told, "intent")), number, told.get("text") is True)
    if "value" in told:
        return Constant(told["value"])
    if "step" in told:
        return Reference(_text(told, "step"), _text(told, "path"))
    return Unknown()


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValueError(f"{str(value)[:40]!r} is no object.")  # noqa: TRY004 # one error for all
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{str(value)[:40]!r} is no list.")  # noqa: TRY004 # one error for all
    return value


def _text(told: JsonObject, name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name!r} is no text.")  # noqa: TRY004 # one error for all
    return value
