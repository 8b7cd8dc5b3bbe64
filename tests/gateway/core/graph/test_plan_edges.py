"""A plan that went well teaches what waited for what, and what took what it gave."""

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.graph.edge import EdgeKind, ToolEdge
from portico.gateway.core.graph.plan_edges import plan_edges
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.server import ServerId
from portico.gateway.core.tool import ToolRef
from portico.testing.kernel import BEGINNING, SeededEntropy

EXPRESSIONS = JmespathExpressions()
FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
PLAN = read_plan(
    {
        "steps": [
            {"id": "list", "tool": "files.list"},
            {
                "id": "read",
                "tool": "files.read",
                "arguments": {"a": {"$from": "list.json.a"}, "b": {"$from": "list.json.b"}},
            },
            {"id": "log", "tool": "files.log", "after": ["read"]},
            {
                "id": "each",
                "tool": "files.each",
                "for_each": {"in": {"$from": "list.json.all"}},
                "when": "read.json",
            },
            {"id": "gone", "tool": "mail.send", "arguments": {"a": {"$from": "list.text"}}},
        ]
    },
    EXPRESSIONS,
)


def place(ref: ToolRef) -> ToolPlace | None:
    return ToolPlace(FILES, ref.name) if ref.server == "files" else None


def edge(earlier: str, later: str, kind: EdgeKind) -> ToolEdge:
    return ToolEdge(ToolPlace(FILES, earlier), ToolPlace(FILES, later), kind)


def test_every_edge_is_learnt_once_and_none_to_a_tool_that_is_gone() -> None:
    found = [*plan_edges(PLAN, {step.id for step in PLAN.steps}, place, EXPRESSIONS)]

    assert sorted(found, key=str) == sorted(
        [
            edge("list", "read", EdgeKind.FEEDS),
            edge("read", "log", EdgeKind.FOLLOWS),
            edge("list", "each", EdgeKind.FOLLOWS),
            edge("read", "each", EdgeKind.FOLLOWS),
        ],
        key=str,
    )


def test_a_step_that_was_left_out_teaches_nothing() -> None:
    found = [*plan_edges(PLAN, {"list", "read"}, place, EXPRESSIONS)]

    assert found == [edge("list", "read", EdgeKind.FEEDS)]
