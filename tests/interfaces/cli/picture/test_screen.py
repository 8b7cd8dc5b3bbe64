"""The picture of a workflow at a width."""

from dataclasses import replace

from inline_snapshot import snapshot
from rich.text import Text

from portico.interfaces.cli.workflow_view import (
    Items,
    State,
    StepView,
    Wait,
    WorkflowView,
    keys_for,
    laid_out,
)
from portico.interfaces.cli.workflow_watch import Frame, picture
from tests.interfaces.cli.picture.scenes import a_step, a_view, at, lines

APPROVAL = "apr_01m7fxv1skfhf86xxtf6psvgnn"
ASKS = a_step(
    "post",
    "inbox",
    ran=(2, None),
    state=State.WAITING,
    waits=(Wait(at(3)),),
    asking={"post": APPROVAL},
)
UNSURE = a_step("pay", "inbox", ran=(2, None), state=State.UNCERTAIN, asking={"pay": None})
FAILED = a_step("web", ran=(0, 1), state=State.FAILED, why="tool_failed: the server answered 503")
MORNING = a_view(
    a_step("inbox", ran=(0, 2)),
    a_step("read", "inbox", ran=(2, None), items=Items(50, 8)),
    ASKS,
    UNSURE,
    FAILED,
    a_step("never", "web", state=State.SKIPPED, why="web failed"),
    a_step("other", state=State.NOT_NEEDED),
    a_step("sum", "read", "post"),
)


def drawn(view: WorkflowView, width: int = 80, turn: int | None = None) -> list[Text]:
    tree = laid_out({step.id: step.needs for step in view.steps.values()})
    return [*picture(view, tree, at(5), Frame(width=width, turn=turn))]


def test_of_what_nobody_knows_the_figure_is_as_long_as_the_bar() -> None:
    unsure = replace(UNSURE, waits=(Wait(at(4.9)),))

    [line] = [each for each in lines(a_view(unsure), 5) if "server.pay" in each]

    assert line.endswith("2.9 s")


def test_at_eighty_columns_there_is_a_tree_and_a_timeline() -> None:
    assert lines(MORNING, 5) == snapshot(
        [
            "morning  running  5.0 s · 1 of 8 done · 1 failed, 1 uncertain, 1 waiting, 1 run…",
            "                                0 s             2 s             4 s",
            "├ ✓ inbox         server.inbox  ━━━━━━━━━━━━━━━━                           2.0 s",
            "│ ├ ▸ read  8/50  server.read                   ━━━━━━━━━━━━━━━━━━━━━━━━   3.0 s",
            "│ ├ ‖ post        server.post                   ━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄   2.0 s",
            "│ │   ↳ waits for approval: portico approvals show psvgnn",
            "│ ├ ? pay         server.pay                    ━━━━━━━━━━━━━━━━━━━━━━━━   3.0 s",
            "│ │   ↳ was begun, and nobody knows whether it was done",
            "│ │     portico workflows resolve 0aaaaa pay",
            "│ └ · sum         server.sum    ← read, post",
            "├ ✗ web           server.web    ━━━━━━━━                                   1.0 s",
            "│   ↳ tool_failed: the server answered 503",
            "│ - never         server.never  skipped: web failed",
            "└ ○ other         server.other  not needed",
        ]
    )


def test_at_forty_columns_there_is_a_tree() -> None:
    assert lines(MORNING, 5, width=40) == snapshot(
        [
            "morning  running  5.0 s · 1 of 8 done",
            "├ ✓ inbox                          2.0 s",
            "│ ├ ▸ read  8/50                   3.0 s",
            "│ ├ ‖ post                         2.0 s",
            "│ │   ↳ waits for approval",
            "│ │     portico approvals show psvgnn",
            "│ ├ ? pay                          3.0 s",
            "│ │   ↳ was begun, and nobody knows",
            "│ │     whether it was done",
            "│ │     portico workflows resolve 0aaaaa",
            "│ │     pay",
            "│ └ · sum",
            "├ ✗ web                            1.0 s",
            "│   ↳ tool_failed: the server answered",
            "│     503",
            "│ - never",
            "└ ○ other",
        ]
    )


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in (20, 40, 59, 60, 61, 80, 120, 200):
        assert max(line.cell_len for line in drawn(MORNING, width)) <= width


def test_what_is_very_deep_in_does_not_push_everything_to_the_right() -> None:
    steps: list[StepView] = []
    for depth in range(30):
        above = [f"s{depth - 1}"] if depth else []
        steps += [a_step(f"s{depth}", *above), a_step(f"side{depth}", *above)]

    assert max(map(len, lines(a_view(*steps), 1))) <= 80
    assert any(line.startswith("⋯ ") for line in lines(a_view(*steps), 1))


def test_where_not_all_fit_it_is_said_what_is_left_out() -> None:
    steps = [a_step(f"s{i}", ran=(0, i + 1)) for i in range(100)]
    many = a_view(*steps, a_step("now", "s3", ran=(4, None)))

    shown = lines(many, 200, height=10)

    assert len(shown) <= 10
    assert any("▸ now" in line for line in shown)
    assert any(line.startswith("⋮ ") and line.endswith("done") for line in shown)


def test_the_sign_of_what_runs_turns_and_everything_else_stands_still() -> None:
    one, other = drawn(MORNING, turn=1), drawn(MORNING, turn=2)
    changed = [a.plain for a, b in zip(one, other, strict=True) if a.plain != b.plain]

    assert len(changed) == 1
    assert "read" in changed[0]


def test_colours_only_say_what_signs_say_too() -> None:
    row = next(line for line in drawn(MORNING) if "✗" in line.plain)

    assert "bold red" in {span.style for span in row.spans}


def test_what_everything_waits_for_is_bold() -> None:
    view = a_view(a_step("a", ran=(0, 2)), critical=frozenset({"a"}))

    assert "bold green" in {span.style for line in drawn(view) for span in line.spans}


def test_a_step_tells_how_far_it_is() -> None:
    assert "▸ a 50%" in lines(a_view(a_step("a", ran=(0, None), progress=0.5)), 1)[2]
    assert "%" not in lines(a_view(a_step("a", ran=(0, 1), progress=0.5)), 1)[2]


def test_what_was_tried_again_says_how_often() -> None:
    assert "✓ a ↻3" in lines(a_view(a_step("a", ran=(0, 1), tries=3)), 1)[2]
    assert "↻" not in lines(a_view(a_step("a", ran=(0, 1), tries=1)), 1)[2]


def test_of_many_it_is_said_how_many_failed() -> None:
    view = a_view(a_step("a", ran=(0, 1), items=Items(50, 50, 2)))

    assert "✓ a 50/50 ✗2" in lines(view, 1)[2]


def test_of_many_that_ask_three_are_named() -> None:
    asking = {f"pay[{i}]": APPROVAL for i in range(5)}
    step = a_step("pay", ran=(0, None), state=State.WAITING, asking=asking, items=Items(9))
    text = "\n".join(lines(a_view(step), 1))

    assert text.count("waits for approval") == 3
    assert "and 2 more" in text


def test_a_workflow_without_a_name_goes_by_its_run() -> None:
    assert lines(a_view(a_step("a"), name=None), 1)[0].startswith("…0aaaaa")


def test_one_that_has_not_begun_has_no_line_of_time() -> None:
    view = a_view(a_step("a"), started=None, status="queued")

    assert lines(view, 1) == ["morning  queued  0 of 1 done · 1 pending", "· a  server.a"]


def test_a_program_that_has_called_nothing_yet_is_a_line() -> None:
    view = a_view(kind="program", name=None)

    assert lines(view, 1) == ["…0aaaaa  running  1.0 s · nothing called yet"]


def test_keys_are_named_when_they_do_something() -> None:
    assert keys_for(MORNING) == snapshot(
        "a approvals (1) · u uncertain (1) · q leave it running · c cancel"
    )
    assert keys_for(a_view(a_step("a"))) == "q leave it running · c cancel"


def test_a_name_that_is_too_long_is_cut_and_says_so() -> None:
    assert "…" in lines(a_view(a_step("x" * 60)), 1)[2]
