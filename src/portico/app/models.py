"""Models on their adapters."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Final

import httpx2

from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.models.connections import Connections
from portico.adapters.models.ollama import OllamaDetails, OllamaModels
from portico.adapters.models.provider import (
    USUAL,
    Provider,
    ProviderKind,
    found_by_themselves,
    support,
    usual_clearance,
)
from portico.adapters.models.registry import Listing, ServedModelRegistry, ServedModels, load_ahead
from portico.adapters.tokens import O200k
from portico.agents.core.model_requests import Price
from portico.agents.model_requests import ListModels, ListProviders, ShowModel, TestModel
from portico.agents.ports import ModelRegistry, Models
from portico.app.app_context import AppContext
from portico.app.secrets import SecretDependencies
from portico.app.shared_dependencies import SharedDependencies
from portico.guard.core.secrets import parse_ref
from portico.interfaces.http.use_cases import ModelUseCases
from portico.kernel.label import Label
from portico.settings.agents import ModelsSettings, ProviderEntry
from portico.settings.load import process_environment

_ANSWERS: Final = Bounds(seconds=None, largest=100_000_000, redirects=0)
"""How long it may take is for whoever asks: a model on this machine may be slow."""


_SOON: Final = 2.0
"""Seconds after the start: by then the server answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDependencies:
    models: Models
    book: ModelRegistry


@asynccontextmanager
async def open_models(
    ground: AppContext, outside: SharedDependencies
) -> AsyncIterator[ModelDependencies]:
    settings = ground.loaded.settings.models
    secrets = SecretDependencies(ground)
    providers = providers_of(settings, process_environment())
    connections = Connections(
        providers=providers,
        client=partial(client_for, httpx2.create_ssl_context()),
        key=secrets.references.value,
        learn=ground.secrets.learn,
    )
    ollama = OllamaModels(OllamaDetails(), O200k(), outside.clock, outside.entropy)
    ahead = None
    if by_library(providers.values()):
        ahead = asyncio.get_running_loop().call_later(_SOON, load_ahead)
    try:
        yield ModelDependencies(
            models=ServedModels(
                connections=connections,
                ollama=ollama,
                clock=outside.clock,
                entropy=outside.entropy,
            ),
            book=ServedModelRegistry(
                connections=connections,
                listing=Listing(outside.clock),
                clock=outside.clock,
                good_for=timedelta(seconds=settings.refresh_seconds),
                wait_timeout=timedelta(seconds=settings.timeout),
            ),
        )
    finally:
        if ahead is not None:
            ahead.cancel()
        await connections.close()


def by_library(providers: Iterable[Provider]) -> bool:
    """Whether somebody is named whom the library would ask; who may only happen to be at a usual
    port is not worth loading it for."""
    return any(each.kind is not ProviderKind.OLLAMA and not each.found for each in providers)


def model_use_cases(models: Models, book: ModelRegistry) -> ModelUseCases:
    return ModelUseCases(
        list_models=ListModels(book=book),
        show_model=ShowModel(book=book),
        list_providers=ListProviders(book=book),
        test_model=TestModel(book=book, models=models),
    )


def providers_of(
    settings: ModelsSettings, environment: Mapping[str, str]
) -> Mapping[str, Provider]:
    """What somebody has written wins over what would be found: by name, and by address."""
    written_ = {name: entry for name, entry in settings.providers.items() if entry.enabled}
    made = {name: _provider(name, entry) for name, entry in written_.items()}
    places = {provider.url for provider in made.values()}
    return made | {
        each.name: each
        for each in _found(settings, environment)
        if each.name not in settings.providers and each.url not in places
    }


def _found(settings: ModelsSettings, environment: Mapping[str, str]) -> Iterator[Provider]:
    if settings.discover:
        yield from found_by_themselves(environment)


def _provider(name: str, entry: ProviderEntry) -> Provider:
    kind = ProviderKind(entry.kind)
    url = entry.url or USUAL[kind]
    return Provider(
        name=name,
        kind=kind,
        url=url,
        key=None if entry.key is None else parse_ref(entry.key),
        clearance=usual_clearance(url) if entry.clearance is None else Label.parse(entry.clearance),
        models=entry.models,
        window=entry.window,
        price=_price(entry),
        tools=support(entry.tools),
        vision=support(entry.vision),
        structured=support(entry.structured),
    )


def _price(entry: ProviderEntry) -> Price | None:
    if entry.price_in is None or entry.price_out is None:
        return None
    return Price(input=Decimal(str(entry.price_in)), output=Decimal(str(entry.price_out)))


def client_for(tls: ssl.SSLContext, provider: Provider) -> httpx2.AsyncClient:
    """What the user wrote is an entry for exactly its host and port."""
    url = provider.url
    proxied = None if provider.local else httpx2.URL(url)
    return guarded_client(allow=[written(url)], bounds=_ANSWERS, proxied=proxied, tls=tls)
