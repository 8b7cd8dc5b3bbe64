"""The gate where the library opens its connections."""

import ssl
from collections.abc import Sequence

import httpcore2
import httpx2
import pytest

from portico.adapters.web.backend import GuardedBackend
from portico.adapters.web.dialer import Dialer
from portico.adapters.web.transport import GuardedTransport
from portico.box.core.errors import AddressRefused
from portico.box.core.profile import Place
from tests.adapters.web.canary import listener


async def test_sockets_of_this_machine_are_refused() -> None:
    with pytest.raises(AddressRefused, match="a socket of this machine"):
        await GuardedBackend(Dialer()).connect_unix_socket("/run/docker.sock")


async def test_retries_of_the_library_pass_the_gate_each_time() -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) < 3 else ["10.0.0.1"]

    dialer = Dialer([Place("site.test", dead)], resolve=resolve)
    backend = GuardedBackend(dialer)
    async with httpcore2.AsyncConnectionPool(retries=1, network_backend=backend) as pool:
        with pytest.raises(httpcore2.ConnectError):
            await pool.request("GET", f"http://site.test:{dead}/")

    assert asked == ["site.test", "site.test"]


async def test_a_refusal_is_not_tried_again() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    backend = GuardedBackend(Dialer(resolve=resolve))
    async with httpcore2.AsyncConnectionPool(retries=3, network_backend=backend) as pool:
        with pytest.raises(AddressRefused):
            await pool.request("GET", "http://site.test/")

    assert asked == ["site.test"]


async def test_who_does_not_answer_in_time_is_a_timeout() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise TimeoutError

    backend = GuardedBackend(Dialer(resolve=resolve))

    with pytest.raises(httpcore2.ConnectTimeout):
        await backend.connect_tcp("site.test", 80, timeout=1)


async def test_the_failures_of_the_library_have_the_names_that_callers_know() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise TimeoutError if host == "slow.test" else OSError("nowhere")

    transport = GuardedTransport(Dialer(resolve=resolve), ssl.create_default_context())
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectTimeout):
            await client.get("http://slow.test/")
        with pytest.raises(httpx2.ConnectError, match="nowhere"):
            await client.get("http://gone.test/")
