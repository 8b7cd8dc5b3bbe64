"""How many tools a model is shown, and how it asks for them."""

import pytest

from portico.agents.core.agent import ToolMode
from portico.agents.core.errors import ModelLacksTools
from portico.agents.core.model import Support
from portico.agents.core.showing import FEW, MANY, Shelf, mode_for, shelf_for
from portico.testing.agents import a_model


@pytest.mark.parametrize(
    ("window", "local", "shelf"),
    [
        (8_192, True, Shelf(FEW, 1_638)),
        (16_384, False, Shelf(FEW, 3_276)),
        (128_000, False, Shelf(MANY, 8_000)),
        (None, True, Shelf(FEW, 2_000)),
        (None, False, Shelf(MANY, 8_000)),
    ],
)
def test_small_models_are_shown_few_tools(window: int | None, local: bool, shelf: Shelf) -> None:
    assert shelf_for(a_model(window=window, local=local)) == shelf


@pytest.mark.parametrize(
    ("tools", "structured", "wished", "mode"),
    [
        (Support.YES, Support.NO, ToolMode.AUTO, ToolMode.NATIVE),
        (Support.UNKNOWN, Support.YES, ToolMode.AUTO, ToolMode.NATIVE),
        (Support.NO, Support.YES, ToolMode.AUTO, ToolMode.FORM),
        (Support.NO, Support.UNKNOWN, ToolMode.AUTO, ToolMode.FORM),
        (Support.YES, Support.YES, ToolMode.FORM, ToolMode.FORM),
    ],
)
def test_a_model_asks_for_tools_as_it_can(
    tools: Support, structured: Support, wished: ToolMode, mode: ToolMode
) -> None:
    assert mode_for(a_model(tools=tools, structured=structured), wished) is mode


@pytest.mark.parametrize(
    ("tools", "structured", "wished"),
    [
        (Support.NO, Support.NO, ToolMode.AUTO),
        (Support.NO, Support.YES, ToolMode.NATIVE),
        (Support.YES, Support.NO, ToolMode.FORM),
    ],
)
def test_a_model_that_cannot_is_refused(
    tools: Support, structured: Support, wished: ToolMode
) -> None:
    with pytest.raises(ModelLacksTools):
        mode_for(a_model(tools=tools, structured=structured), wished)
