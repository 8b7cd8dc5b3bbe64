"""What a model is shown says what there is, and stays small."""

from inline_snapshot import snapshot

from portico.gateway.core.surface import HotTool, fixed_tools, hints, search_description
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect


def test_the_description_names_the_servers_that_there_are() -> None:
    told = search_description({"github": 26, "time": 2}, lambda _: True)

    assert told == snapshot(
        "Find the right one of 28 tools on 2 servers: github 26, time 2. "
        "Use it before saying that something cannot be done. "
        "One query a step of the task, each saying what a tool should do. "
        "Without queries: the tools you found before."
    )


def test_of_too_many_servers_those_with_the_most_tools_are_named() -> None:
    counts = {f"server-{number}": 100 - number for number in range(90)}

    told = search_description(counts, lambda text: len(text) < 400)

    assert "server-0 100" in told
    assert "server-89" not in told
    assert "more servers" in told
    assert len(told) < 400


def test_where_not_even_one_fits_only_their_number_is_told() -> None:
    for fits in (lambda text: "github" not in text, lambda _: False):
        told = search_description({"github": 26}, fits)

        assert told.startswith("Find the right one of 26 tools on 1 server.")


def test_before_any_server_is_approved_it_says_so() -> None:
    assert "No server has been approved" in search_description({}, lambda _: True)


def test_ten_tools_are_always_there() -> None:
    assert [tool["name"] for tool in fixed_tools("Find.")] == snapshot(
        [
            "search_tools",
            "describe_tools",
            "call_read",
            "call_write",
            "call_destructive",
            "read_result",
            "run_workflow",
            "workflow_status",
            "run_program",
            "feedback",
        ]
    )


def test_a_hot_tool_is_listed_with_the_effect_that_was_accepted() -> None:
    hot = HotTool("db__drop", ToolRef("db", "drop"), "Drop.", {"type": "object"}, Effect.UNKNOWN)

    assert hot.listed() == snapshot(
        {
            "name": "db__drop",
            "description": "Drop.",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        }
    )


def test_a_read_and_a_write_are_told_apart() -> None:
    assert hints(Effect.LOCAL_READ) == {"readOnlyHint": True}
    assert hints(Effect.LOCAL_WRITE) == {"readOnlyHint": False, "destructiveHint": False}
