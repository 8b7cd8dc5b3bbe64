"""Whether a call that broke off may have been made all the same."""

from typing import Final

from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
)
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError

_GOT_THERE: Final = (UpstreamTimedOut, UpstreamRefused, InputUnsupported, InputRefused)
"""A server that refuses may have begun, and an error of its own is no proof that it has not."""


def maybe_made(effect: Effect, error: PorticoError) -> bool:
    """Whatever only reads may be asked for again; of the rest, whatever got as far as a server."""
    if effect.reads_only:
        return False
    if isinstance(error, UpstreamDown):
        return error.reached
    return isinstance(error, _GOT_THERE)
