"""Models that are there in tests of the face: one of this machine, one of a router elsewhere."""

from collections.abc import AsyncGenerator
from decimal import Decimal

from portico.agents.core.asking import ModelAsk, Piece
from portico.agents.core.model import ModelRef, Price
from portico.faces.http.model_use_cases import ModelUseCases
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.main.models import model_use_cases
from portico.testing.agents import MemoryBook, a_model, says

SMALL = a_model(ModelRef("ollama", "llama3.2:3b"))
LARGE = a_model(
    ModelRef("router", "acme/large"),
    price=Price(input=Decimal("0.50"), output=Decimal(10)),
    local=False,
    clearance=Label(Level.TEAM),
)


class Obliging:
    """Has always the same to say."""

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[Piece, None]:
        for piece in says("Good day."):
            yield piece


def memory_models() -> ModelUseCases:
    return model_use_cases(Obliging(), MemoryBook(SMALL, LARGE))
