"""What every test may ask for."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

from portico.adapters.postgres.addresses import Addresses
from tests.children import none_left
from tests.copies import Template, never_flushed
from tests.servers import embedded_store, provisioned, reachable_folder, tcp_server

pytest_plugins = ["tests.costs", "tests.scheduling", "tests.selection"]

settings.register_profile("portico", deadline=None)
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("portico")

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""A suite that is started in the background, or by nohup, inherits that these mean nothing, and so
would every program that a test starts and ends by them."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def nothing_blocks() -> Iterator[None]:
    """A blocking call from Portico's own code inside the event loop fails the test."""
    with blockbuster_ctx("portico"):
        yield


@pytest.fixture(scope="module", autouse=True)
def no_child_outlives_its_module() -> Iterator[None]:
    """A process that is left behind is blamed here, not on whoever looks for strays later. The
    databases that all modules share are nobody's children."""
    with none_left():
        yield


@pytest.fixture(scope="session")
def embedded_template() -> Iterator[Template]:
    with reachable_folder() as folder:
        store = embedded_store(folder)
        store.start_here(create=True)
        never_flushed(str(store.addresses.admin))
        try:
            yield Template(store.addresses)
        finally:
            store.server.release()


@pytest.fixture(scope="session")
def tcp_template() -> Iterator[Template]:
    with tcp_server(16) as admin:
        yield Template(provisioned(admin))


@pytest.fixture
def embedded_database(embedded_template: Template) -> Iterator[Addresses]:
    """A fresh, migrated database on the embedded PostgreSQL 18, over its private socket."""
    with embedded_template.copy() as addresses:
        yield addresses


@pytest.fixture
def tcp_database(tcp_template: Template) -> Iterator[Addresses]:
    """A fresh, migrated database on PostgreSQL 16, by DSN over TCP with SCRAM."""
    with tcp_template.copy() as addresses:
        yield addresses


STRANGERS = ("mcp", "sandbox", "monty", "builtin", "egress")
"""Adapters whose tests start strangers' programs and talk to servers."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first: where several run at once, none is left alone with one at the end."""
    for item in items:
        inside = item.path.parts
        if "adapters" in inside and set(STRANGERS) & set(inside):
            item.add_marker("process")
    longest: dict[Path, float] = {}
    for item in items:
        longest[item.path] = max(longest.get(item.path, 0), _allowed(item))
    items.sort(key=lambda item: -longest[item.path])


def _allowed(item: pytest.Item) -> float:
    """Seconds that it says it may take at most."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker and marker.args else 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """A signal that comes while the loop is idle would leave the test in it, and its fixtures wait
    for the test without end: so this time limit ends the test from within, just before."""
    if iscoroutinefunction(pyfuncitem.obj):
        default = pyfuncitem.config.getoption("timeout") or pyfuncitem.config.getini("timeout")
        pyfuncitem.obj = _ended(pyfuncitem.obj, 0.98 * (_allowed(pyfuncitem) or float(default)))


def _ended(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    @wraps(test)
    async def within(**given: Any) -> None:
        async with asyncio.timeout(seconds):
            await test(**given)

    return within


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-schema", action="store_true", help="write schema.sql instead of comparing it"
    )
