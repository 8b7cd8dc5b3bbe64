"""The gate, where the HTTP library opens its connections: it has no other way to open one."""

from collections.abc import Iterable
from typing import Any

import httpcore2

from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.errors import AddressRefused


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Redirects and retries come back here like everything else. A refusal goes through the library
    as it is, and is not tried again."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        library: Any = httpcore2.AnyIOBackend()  # a stand-in where anyio is missing; it is not
        self._library: httpcore2.AsyncNetworkBackend = library

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises `AddressRefused`."""

        async def connect(address: str, port: int) -> httpcore2.AsyncNetworkStream:
            try:
                return await self._library.connect_tcp(
                    address, port, local_address=local_address, socket_options=socket_options
                )
            except httpcore2.ConnectError as error:
                raise OSError(str(error)) from error

        try:
            return await self._dialer.through(host, port, connect, seconds=timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("nobody answered in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from error

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 # nothing is waited for
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 # as above
    ) -> httpcore2.AsyncNetworkStream:
        """Raises `AddressRefused`."""
        raise AddressRefused(path, "it is a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._library.sleep(seconds)
