"""What servers and tools are called: in the house, in imported files, towards model vendors."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from itertools import chain, count
from typing import Final

from portico.gateway.core.errors import BadServerName
from portico.gateway.core.hidden_text import text_flaw
from portico.gateway.core.look_alikes import look_alike
from portico.gateway.core.tool import ToolRef

LONGEST_SERVER: Final = 32
LONGEST_VENDOR: Final = 48
"""Vendors take 64, and a client puts a prefix of its own in front."""

_SERVER: Final = re.compile(r"[a-z][a-z0-9-]*")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


def server_name(text: str) -> str:
    """The same text, if it can be a server's name. Raises `BadServerName`."""
    if hidden := text_flaw(text):
        raise BadServerName(text, f"it {hidden}")
    if len(text) > LONGEST_SERVER:
        raise BadServerName(text, f"it is longer than {LONGEST_SERVER} letters")
    if not _SERVER.fullmatch(text):
        raise BadServerName(text, "a name is made of a-z, 0-9 and -, and begins with a letter")
    return text


def slug(text: str, taken: Collection[str] = ()) -> str:
    """A server's name made from what a file calls it, unlike all of those taken."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not name:
        name = f"server-{_mark(text)}"
    elif not name[0].isalpha():
        name = f"s-{name}"
    name = name[:LONGEST_SERVER].rstrip("-")
    numbered = (f"{name[: LONGEST_SERVER - 5].rstrip('-')}-{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if _free(each, taken))


def vendor_name(ref: ToolRef, taken: Collection[str] = ()) -> str:
    """`server__tool`, as model vendors accept it. It depends on the tool alone, unless another
    tool, by an unlikely chance, has the name already."""
    plain = f"{ref.server}__{ref.name}"
    fitting = _UNFIT.sub("_", plain)
    if fitting == plain and len(plain) <= LONGEST_VENDOR and plain not in taken:
        return plain
    marked = (f"{fitting[: LONGEST_VENDOR - size - 1]}_{_mark(ref, size)}" for size in range(6, 40))
    return next(name for name in marked if name not in taken)


def vendor_names(refs: Iterable[ToolRef]) -> Mapping[ToolRef, str]:
    """The name that vendors are given of each tool; no two have the same."""
    named: dict[ToolRef, str] = {}
    taken: set[str] = set()
    for ref in sorted(set(refs)):
        named[ref] = vendor_name(ref, taken)
        taken.add(named[ref])
    return named


def _free(name: str, taken: Collection[str]) -> bool:
    return name not in taken and look_alike(name, taken) is None


def _mark(named: object, size: int = 6) -> str:
    return sha256(str(named).encode(errors="surrogatepass")).hexdigest()[:size]
