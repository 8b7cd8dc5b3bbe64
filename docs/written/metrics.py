"""The page of metrics: every instrument that the code makes, with what it says of itself."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TELEMETRY: Final = Path(__file__).parents[2] / "src/portico/adapters/telemetry"

_HEAD: Final = """\
# Metrics

What `GET /metrics` gives in Prometheus' form, and what is sent over OTLP to the endpoint that you name
([how](../how-to/observe.md#metrics)). Every server process has figures of its own. No label holds an id, a
name or any text of a user's. A histogram comes as `_bucket`, `_sum` and `_count`; a counter only ever rises
while its process lives. What has not happened yet is 0 and not missing, where it has no labels.

| metric | kind | unit | labels | what it is |
|---|---|---|---|---|
"""

_KINDS: Final = {
    "create_counter": "counter",
    "create_observable_counter": "counter",
    "create_up_down_counter": "gauge",
    "create_observable_gauge": "gauge",
    "create_histogram": "histogram",
}
_UNITS: Final = {"s": "seconds", "By": "bytes", "": ""}


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: str
    unit: str
    about: str
    labels: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """As Prometheus has it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def metrics() -> str:
    rows = "".join(
        f"| `{each.shown}` | {each.kind} | {_UNITS[each.unit]} | "
        f"{', '.join(f'`{label}`' for label in each.labels)} | {each.about} |\n"
        for each in sorted(every_metric(), key=lambda each: each.name)
    )
    return f"{_HEAD}{rows}"


def every_metric() -> Iterator[Metric]:
    for file in sorted(_TELEMETRY.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        labels = _labels(tree)
        for node in ast.walk(tree):
            match node:
                case ast.AnnAssign(
                    target=ast.Name(id=name),
                    value=ast.Call(func=ast.Attribute(attr=how)) as call,
                ) if how in _KINDS:
                    yield _metric(call, how, labels.get(name, ()))
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=how)) as call) if (
                    how in _KINDS
                ):
                    yield _metric(call, how, ())
                case _:
                    pass


def _metric(call: ast.Call, how: str, labels: tuple[str, ...]) -> Metric:
    given = {each.arg: each.value for each in call.keywords}
    return Metric(
        name=ast.literal_eval(call.args[0]),
        kind=_KINDS[how],
        unit=ast.literal_eval(given["unit"]) if "unit" in given else "",
        about=ast.literal_eval(given["description"]),
        labels=labels,
    )


def _labels(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """By the name of the instrument: the keys of what it is told with."""
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="add" | "record"),
                args=[_, ast.Dict(keys=keys)],
            ):
                found[name] = tuple(ast.literal_eval(key) for key in keys if key is not None)
            case _:
                pass
    return found
