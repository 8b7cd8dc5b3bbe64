"""Models over REST: list, capabilities, prices, test."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from portico.agents.core.model_requests import (
    ModelInfo,
    ModelInfoSource,
    ModelRef,
    ModelTest,
    Price,
    ProviderState,
    Support,
)
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import Body, OneLine
from portico.interfaces.http.use_cases import Models

Ref = Annotated[OneLine, Path(max_length=300, description="`provider:model`")]
Fresh = Annotated[bool, Query(description="Ask those who provide them again, now.")]


class PriceOut(BaseModel, title="PriceOut"):
    """US dollars of a million tokens."""

    input: str
    output: str


class ModelOut(
    BaseModel, title="ModelOut", json_schema_extra=alias("portico__faces__http__models__ModelOut")
):
    model: str
    """`provider:model`, as agents name it."""
    window: int | None
    """Tokens of prompt and answer together, as it is served; null if nobody says."""
    most_output: int | None
    tools: Support
    vision: Support
    structured: Support
    """Whether its answer can be held to a JSON schema."""
    price: PriceOut | None
    """Null if nobody knows it."""
    local: bool
    """Whether it runs on this machine."""
    clearance: str
    """How secret what is sent to it may be."""
    told_by: ModelInfoSource


class ProviderOut(BaseModel, title="ProviderOut"):
    name: str
    kind: str
    url: str
    local: bool
    clearance: str
    reachable: bool
    why: str | None
    """What is wrong, and what to do about it."""
    models: int
    took_ms: float | None
    asked_at: datetime


class ModelToTry(Body, title="ModelToTry"):
    model: Annotated[OneLine, Field(max_length=300)]
    """`provider:model`, as agents name it."""


class ModelTestOut(BaseModel, title="ModelTestOut"):
    model: ModelOut
    answers: bool
    streams: bool
    calls_tools: Support
    """Whether it called the tool that it was asked to call."""
    holds_to_form: Support
    """Whether its answer was held to a JSON schema."""
    usage_reported: bool
    first_piece_ms: float | None
    tokens_a_second: float | None
    took_ms: float
    notes: list[str]
    problem: str | None
    fix: str | None


router = APIRouter(prefix="/models", tags=["models"])


@router.get("", name="list_models", responses=documented())
async def list_models(models: Models, caller: Caller, *, fresh: Fresh = False) -> list[ModelOut]:
    """Of all providers that answer."""
    return [_out(model) for model in await models.list_models(caller, fresh=fresh)]


@router.get("/providers", name="list_providers", responses=documented())
async def list_providers(
    models: Models, caller: Caller, *, fresh: Fresh = False
) -> list[ProviderOut]:
    """Who provides models, and whether they answer."""
    return [_provider(state) for state in await models.list_providers(caller, fresh=fresh)]


@router.post("/test", name="test_model", responses=documented(404, 503))
async def test_model(models: Models, caller: Caller, body: ModelToTry) -> ModelTestOut:
    """Ask one three short questions, and see what it does. It costs what they cost."""
    return _tested(await models.test_model(caller, ModelRef.parse(body.model)))


@router.get("/{model:path}", name="show_model", responses=documented(404, 503))
async def show_model(models: Models, caller: Caller, model: Ref) -> ModelOut:
    """What is known of one."""
    return _out(await models.show_model(caller, ModelRef.parse(model)))


def _out(model: ModelInfo) -> ModelOut:
    return ModelOut(
        model=str(model.ref),
        window=model.window,
        most_output=model.max_output_tokens,
        tools=model.tools,
        vision=model.vision,
        structured=model.structured,
        price=None if model.price is None else _price(model.price),
        local=model.local,
        clearance=str(model.clearance),
        told_by=model.told_by,
    )


def _price(price: Price) -> PriceOut:
    return PriceOut(input=f"{price.input.normalize():f}", output=f"{price.output.normalize():f}")


def _provider(state: ProviderState) -> ProviderOut:
    return ProviderOut(
        name=state.name,
        kind=state.kind,
        url=state.url,
        local=state.local,
        clearance=str(state.clearance),
        reachable=state.reachable,
        why=state.why,
        models=state.models,
        took_ms=_ms(state.took),
        asked_at=state.asked_at,
    )


def _tested(test: ModelTest) -> ModelTestOut:
    speed = test.tokens_a_second
    return ModelTestOut(
        model=_out(test.info),
        answers=test.answers,
        streams=test.streams,
        calls_tools=test.calls_tools,
        holds_to_form=test.holds_to_form,
        usage_reported=test.usage_reported,
        first_piece_ms=_ms(test.first_piece),
        tokens_a_second=None if speed is None else round(speed, 1),
        took_ms=_ms(test.took) or 0.0,
        notes=[*test.notes],
        problem=test.problem,
        fix=test.fix,
    )


def _ms(took: timedelta | None) -> float | None:
    return None if took is None else round(took / timedelta(milliseconds=1), 1)
