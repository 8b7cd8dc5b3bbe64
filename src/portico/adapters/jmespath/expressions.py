"""The gateway's `Expressions`, by JMESPath, which is loaded once one is met."""

from portico.kernel.json import JsonValue
from portico.workflows.core.plan import Effort


class JmespathExpressions:
    """`Expressions`: holds nothing, so that one serves all."""

    def check(self, expression: str) -> None:
        from portico.adapters.jmespath.evaluation import parsed  # noqa: PLC0415 # late

        parsed(expression)

    def roots(self, expression: str) -> frozenset[str]:
        from portico.adapters.jmespath.evaluation import roots  # noqa: PLC0415 # late

        return roots(expression)

    def search(
        self, expression: str, document: JsonValue, effort: Effort | None = None
    ) -> JsonValue:
        from portico.adapters.jmespath.evaluation import search  # noqa: PLC0415 # late

        return search(expression, document, effort)
