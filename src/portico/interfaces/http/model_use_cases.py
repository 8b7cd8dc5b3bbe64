"""What the routes of models can call."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.agents.model_requests import ListModels, ListProviders, ShowModel, TestModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUseCases:
    list_models: ListModels
    show_model: ShowModel
    list_providers: ListProviders
    test_model: TestModel


def _use(request: Request) -> ModelUseCases:
    found: ModelUseCases = request.app.state.models
    return found


Models = Annotated[ModelUseCases, Depends(_use)]
