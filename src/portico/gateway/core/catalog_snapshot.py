"""A snapshot of the catalog: tools and their names."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import chain, count
from typing import Final, Self

from portico.gateway.core.errors import InvalidServerName, InvalidToolRef
from portico.gateway.core.untrusted_text import look_alike, text_flaw
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, order=True)
class ToolRef:
    """`server.tool`, the name of a tool everywhere in the house. A server's name has no dot."""

    server: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        server, _, name = text.partition(".")
        if not server or not name:
            raise InvalidToolRef(text)
        return cls(server, name)

    def __str__(self) -> str:
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a server says of a tool: `raw` is all of it as it came, and what the pin is over."""

    name: str
    title: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    raw: JsonObject


class ToolStatus(StrEnum):
    """May this be found and called, and if not, why not."""

    LIVE = "live"
    PENDING = "pending"
    """Its server has not been approved yet."""
    NEW = "new"
    """It came after its server was approved."""
    CHANGED = "changed"
    """Its definition is not the one that was approved."""
    REFUSED = "refused"
    """Its definition cannot be used: a name with hidden letters, a schema that is none."""
    GONE = "gone"
    """Its server does not have it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    ref: ToolRef
    definition: Definition
    """As last seen."""
    pin: str
    tokens: Tokens
    """Of its definition as a client without a gateway would be given it."""
    effect: Effect = Effect.UNKNOWN
    """What an operator accepted, for exactly the accepted definition."""
    accepted: Definition | None = None
    accepted_pin: str | None = None
    refused: str | None = None
    gone: bool = False

    @property
    def agreed(self) -> bool:
        """Seen now as it was when somebody approved it."""
        return self.accepted_pin == self.pin and not self.gone and self.refused is None


LONGEST_SERVER: Final = 32
LONGEST_VENDOR: Final = 48
"""Vendors take 64, and a client puts a prefix of its own in front."""

_SERVER: Final = re.compile(r"[a-z][a-z0-9-]*")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


def server_name(text: str) -> str:
    """The same text, if it can be a server's name. Raises `InvalidServerName`."""
    if hidden := text_flaw(text):
        raise InvalidServerName(text, f"it {hidden}")
    if len(text) > LONGEST_SERVER:
        raise InvalidServerName(text, f"it is longer than {LONGEST_SERVER} letters")
    if not _SERVER.fullmatch(text):
        raise InvalidServerName(text, "a name is made of a-z, 0-9 and -, and begins with a letter")
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
