"""What a step or a plan is given, put together in one stretch: nobody else is served in a test."""

from collections.abc import Sequence

from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import ArgumentTemplate, Expressions, Graph, Plan, Step
from portico.workflows.core.plan_values import (
    KnownDocuments,
    Resolving,
    arguments,
    as_arguments,
    as_items,
    items,
    last_of,
    output,
)


def resolve(
    given: ArgumentTemplate, place: str, known: KnownDocuments, expressions: Expressions
) -> JsonValue:
    return _all_of(Resolving(given, place, known, expressions))


def arguments_of(step: Step, known: KnownDocuments, expressions: Expressions) -> JsonObject:
    return as_arguments(_all_of(arguments(step, known, expressions)))


def items_of(step: Step, known: KnownDocuments, expressions: Expressions) -> Sequence[JsonValue]:
    return as_items(step, _all_of(items(step, known, expressions)))


def output_of(
    plan: Plan, graph: Graph, known: KnownDocuments, expressions: Expressions
) -> JsonValue:
    if not plan.has_output:
        return last_of(graph, known)
    return _all_of(output(plan, known, expressions))


def _all_of(resolving: Resolving) -> JsonValue:
    for _ in resolving:
        pass
    return resolving.value()
