"""A server says that it offers something else by now, or was started anew: see what it is."""

import logging
from typing import Final

from portico.gateway.house import house
from portico.gateway.index_server import IndexServer
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId

_log: Final = logging.getLogger("portico.gateway")


async def look_again(
    index: IndexServer, space: SpaceId, server: str, login: PrincipalId | None
) -> None:
    """It is asked by the house, with the login of whoever it said so to, if it wants one; what
    others are shown by it is not known then."""
    try:
        await index(house(space, login), server, of_one=login is not None)
    except PorticoError as error:
        _log.warning("the server %s could not be asked what it offers: %s", server, error)
