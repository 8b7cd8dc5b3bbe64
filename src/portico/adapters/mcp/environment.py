"""What a server finds in its environment: a few harmless things, and what was declared for it."""

from collections.abc import Iterable, Mapping
from typing import Final

_HARMLESS: Final = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NODE_EXTRA_CA_CERTS",
        "PATH",
        "REQUESTS_CA_BUNDLE",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)
"""Who and where one is, how one speaks, and whom this machine trusts. No proxies: their addresses
may hold passwords."""
OURS: Final = "PORTICO_"


def scrubbed(ours: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """Of our own environment, what every server is given; `also` what an operator added to that."""
    wanted = _HARMLESS | set(also)
    return {
        name: value
        for name, value in ours.items()
        if (name in wanted or name.startswith("LC_")) and not name.startswith(OURS)
    }
