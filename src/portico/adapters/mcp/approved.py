"""Whether what stands in a file now can be what was approved: a secret may be another one, and
nothing else."""

import re
from typing import Final

from portico.adapters.mcp.wire import Broken
from portico.gateway.core.client_config_values import hides_a_secret, looks_secret, shown_url
from portico.gateway.core.config_documents import built_in_at, pieces
from portico.gateway.core.servers import FromEnvironment, FromFile

_AUTHORITY: Final = re.compile(r"://([^/?#\\]*)")
_HEADERS: Final = frozenset({"--header", "--headers", "-H"})


def check_address(shown: str, written: str, value: FromFile) -> None:
    """`written` as it stands in the file, its variables not filled in. Raises `Broken`."""
    if shown_url(written) != shown or _host(written) != _host(shown):
        raise _other("its address", value)


def check_argument(text: str, before: str, written: str, value: FromFile, home: str) -> None:
    """`text` with its variables filled in, `before` the argument in front of it. Raises
    `Broken`."""
    if text.startswith("-") and not _secret_option(text):
        raise _other("one of its arguments", value)
    # A file that holds nothing but the secret is one for secrets.
    if value.pointer and not _still_secret(written, before, value, home):
        raise _other("one of its arguments", value)


def _host(url: str) -> str:
    """With its port. Not what a parser makes of it: a password with a slash in it is where two of
    them come to different hosts."""
    found = _AUTHORITY.search(url)
    return "" if found is None else found[1].rpartition("@")[2]


def _secret_option(text: str) -> bool:
    """`--token=…`; any other option could be the one that runs code."""
    name, given, value = text.partition("=")
    return bool(given and value) and (name in _HEADERS or looks_secret("x", name))


def _still_secret(written: str, before: str, value: FromFile, home: str) -> bool:
    if value.spelling is None:
        return looks_secret(written, before)
    parts = pieces(written, value.spelling, built_in_at(value.path, home))
    rest = [part.default if isinstance(part, FromEnvironment) else part for part in parts]
    return hides_a_secret("".join(part for part in rest if isinstance(part, str)))


def _other(what: str, value: FromFile) -> Broken:
    return Broken(
        f"{what}, in {value.path}, is not what was approved any more",
        reached=False,
        fix="Approve it anew, or write into the file what stood there.",
    )
