"""Something asked of the web, and what came back."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 30.0
    """For all of it, redirects included."""
    largest: int = 5_000_000
    """Bytes of the answer, after it was unpacked."""
    redirects: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    status: int
    url: str
    """Where it came from in the end."""
    headers: Mapping[str, str]
    body: bytes
