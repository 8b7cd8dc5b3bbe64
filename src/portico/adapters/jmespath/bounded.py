"""JMESPath's interpreter, metered: whatever the expression, it ends soon and makes little.

Lists that hold the same list twice double with every pipe (`[@,@] | [@,@] | …`), flattening makes
them real, and joining, writing and comparing take as long as they are large. So every list, object
and text that an expression makes is measured when it is made, before anything is done with it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

from portico.adapters.jmespath.meter import Meter
from portico.adapters.jmespath.parsing import Node
from portico.kernel.json import JsonValue

_STEP: Final = 10
_LOOKS_INSIDE: Final = frozenset({"to_string", "contains", "join", "sort", "max", "min", "sum"})
"""Functions that take as long as what they are given is large, and not only as it is wide."""

_GLANCING: Final = frozenset({"length", "not_null", "to_array", "type"})
"""Functions that take no longer for what is large."""


class Bounded(TreeInterpreter):
    """For one evaluation. Raises `TooMuch`, and what JMESPath and Python raise for values that do
    not fit: `JMESPathError`, `TypeError`, `ValueError`, `ArithmeticError`, `RecursionError`."""

    def __init__(self) -> None:
        self._meter = Meter()
        self._made: set[int] = set()
        super().__init__(Options(custom_functions=_Functions(self._meter)))
        own: Any = self  # theirs is of the class: each of these has its own meter
        own.COMPARATOR_FUNC = {
            **TreeInterpreter.COMPARATOR_FUNC,
            "eq": self._equal,
            "ne": lambda one, other: not self._equal(one, other),
        }

    @property
    def taken(self) -> int:
        """How much work it was."""
        return self._meter.taken

    def result(self, tree: Node, document: JsonValue) -> JsonValue:
        found = self.visit(tree, document)
        if not isinstance(found, list | dict | str) or id(found) in self._made:
            self._meter.size(found)
        return found  # type: ignore[no-any-return]  # it has been looked at

    def visit(self, node: Any, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  # theirs
        self._meter.spend(_STEP)
        value = super().visit(node, *args, **kwargs)
        if _makes(node) and isinstance(value, list | dict | str):
            self._meter.spend(len(value))
            self._meter.size(value)
            self._made.add(id(value))
        return value

    def _equal(self, one: object, other: object) -> bool:
        if isinstance(one, list | dict | str) and isinstance(other, list | dict | str):
            if type(one) is not type(other) or len(one) != len(other):
                return False
            self._meter.spend(min(self._meter.size(one), self._meter.size(other)))
        return bool(_EQUALS(one, other))


_EQUALS: Final[Callable[[Any, Any], Any]] = TreeInterpreter.COMPARATOR_FUNC["eq"]
_MAKING: Final = frozenset(
    {
        "filter_projection",
        "flatten",
        "function_expression",
        "literal",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "slice",
        "value_projection",
    }
)


_PICKING: Final = frozenset({"max_by", "min_by", "not_null"})
"""Functions that give one of what they are given."""


def _makes(node: Node) -> bool:
    picks = node["type"] == "function_expression" and node["value"] in _PICKING
    return node["type"] in _MAKING and not picks


class _Functions(Functions):
    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def call_function(self, function_name: str, resolved_args: Iterable[object]) -> object:
        given = list(resolved_args)
        for each in given:
            if function_name not in _GLANCING and isinstance(each, list | dict | str):
                self._meter.spend(len(each))
            if function_name in _LOOKS_INSIDE:
                self._meter.spend(self._meter.size(each))
        if function_name == "join":
            self._meter.spend(_letters_between(given))
        return super().call_function(function_name, given)


def _letters_between(given: Sequence[object]) -> int:
    between, texts = given
    if isinstance(between, str) and isinstance(texts, list):
        return len(between) * len(texts)
    return 0  # of what it will refuse
