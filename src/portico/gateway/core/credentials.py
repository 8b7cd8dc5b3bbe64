"""Which of what a server was given must not come back in what it says.

What was kept as a secret is one. The rest of an environment is not all secret: a server that was
told its region, its folder or its address says them in every answer, and would be of no use
without them. So a value is a credential if its name says so, or if nobody would write it for its
meaning.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from portico.gateway.core.client_files.secrecy import looks_secret
from portico.kernel.json import JsonValue

_NAMED: Final = re.compile(
    r"(?i)(?<![a-z])(?:auth|authorization|bearer|cookies?|credentials?|dsn|pat|pass|pepper|pwd|salt|sid)"
    r"(?![a-z])|key|passw|passphrase|secret|token"
)
_ORDINARY: Final = re.compile(r"[\w\s/\\:.,@=+~-]*")
_BETWEEN: Final = re.compile(r"[\W_]+")
_SWITCH: Final = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])|(?<=[a-z])(?=[A-Z])")
_LONGEST: Final = 24
_DIGITS: Final = 8


def credentials_in(name: str, value: str) -> Iterator[str]:
    """The value, or those parts of it; `name` is whatever it goes by."""
    address = _address(value)
    inside = _document(value)
    if address is not None:
        yield from _of_address(value, address)
    elif inside is not None:
        yield from _of_document(name, value, inside)
    elif _NAMED.search(name) or not _ordinary(value):
        yield from told(value)


def told(value: str) -> Iterator[str]:
    """A credential as a server might repeat it: without `Bearer`, without `token=`."""
    yield value
    words = value.split()
    if len(words) in {2, 3}:
        yield words[-1]
    if "=" in value:
        yield value.partition("=")[2]


def _of_address(value: str, address: SplitResult) -> Iterator[str]:
    found = [given for name, given in parse_qsl(address.query) if _tells(name, given)]
    found += [part for part in address.path.split("/") if looks_secret(part)]
    if address.password:
        found.append(address.password)
    yield from found
    if found:
        yield value


def _of_document(name: str, value: str, inside: JsonValue) -> Iterator[str]:
    found = [one for each, text in _texts(name, inside) for one in credentials_in(each, text)]
    yield from found
    if found:
        yield value


def _texts(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield name, value
        case Mapping():
            for each, item in value.items():
                yield from _texts(f"{name} {each}", item)
        case Sequence():
            for item in value:
                yield from _texts(name, item)
        case _:
            return


def _tells(name: str, value: str) -> bool:
    return bool(_NAMED.search(name)) or not _ordinary(value)


def _ordinary(value: str) -> bool:
    """A path, a place, a name, a number, a few words: pieces with some order in them."""
    if not _ORDINARY.fullmatch(value):
        return False
    return all(map(_orderly, filter(None, _BETWEEN.split(value))))


def _orderly(piece: str) -> bool:
    if piece.isdigit():
        return len(piece) <= _DIGITS
    return len(piece) <= _LONGEST and len(_SWITCH.findall(piece)) <= (3 if piece.isalpha() else 1)


def _address(value: str) -> SplitResult | None:
    try:
        return urlsplit(value) if re.match(r"[a-z][a-z0-9+.-]*://", value, re.IGNORECASE) else None
    except ValueError:
        return None


def _document(value: str) -> JsonValue:
    """None for what is no JSON of several parts."""
    if value[:1] not in {"{", "["}:
        return None
    try:
        found: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found
