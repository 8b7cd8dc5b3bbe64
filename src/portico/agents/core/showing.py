"""How many tools a model is shown, and how it is to ask for them."""

from dataclasses import dataclass
from typing import Final

from portico.agents.core.agent import ToolMode
from portico.agents.core.errors import ModelLacksTools
from portico.agents.core.model import ModelInfo, Support

SMALL_WINDOW: Final = 16_384
FEW: Final = 6
"""That small models are shown: with more they choose badly."""
MANY: Final = 24
SHARE: Final = 5
"""The part of a window that the list of tools may take up at most: one in this many."""
_MOST_TOKENS: Final = 8_000
_FEW_TOKENS: Final = 2_000
"""Where nobody says how large the window is, and it is a model of this machine."""


@dataclass(frozen=True, slots=True)
class Shelf:
    most: int
    tokens: int


def shelf_for(info: ModelInfo) -> Shelf:
    if info.window is None:
        return Shelf(FEW, _FEW_TOKENS) if info.local else Shelf(MANY, _MOST_TOKENS)
    most = FEW if info.window <= SMALL_WINDOW else MANY
    return Shelf(most, min(info.window // SHARE, _MOST_TOKENS))


def mode_for(info: ModelInfo, wished: ToolMode) -> ToolMode:
    """`NATIVE` or `FORM`. Raises `ModelLacksTools`."""
    native, held = info.tools is not Support.NO, info.structured is not Support.NO
    if native and wished is not ToolMode.FORM:
        return ToolMode.NATIVE
    if held and wished is not ToolMode.NATIVE:
        return ToolMode.FORM
    raise ModelLacksTools(str(info.ref))
