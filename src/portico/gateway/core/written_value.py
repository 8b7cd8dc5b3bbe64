"""Where a value is, as an operator writes it: `secret:github`, `env:TOKEN`, `Bearer secret:x`."""

import re
from typing import Final

from portico.gateway.core.server import FromEnvironment, FromFile, FromSecret, Template, Value
from portico.guard.core.secrets import SecretRef, Source, parse_ref

_SCHEME: Final = re.compile(r"(?i)((?:bearer|basic|token) )(.+)")


def referred(text: str) -> Value | None:
    """None for what is no reference, and so stands for itself."""
    if (ref := parse_ref(text)) is not None:
        return _whole(ref)
    scheme = _SCHEME.fullmatch(text)
    if scheme is None or (ref := parse_ref(scheme[2])) is None:
        return None
    inside = FromEnvironment(ref.name) if ref.source is Source.ENVIRONMENT else FromSecret(str(ref))
    return Template((scheme[1], inside))


def _whole(ref: SecretRef) -> Value:
    if ref.source is Source.ENVIRONMENT:
        return FromEnvironment(ref.name)
    return FromFile(ref.name, "") if ref.source is Source.FILE else FromSecret(str(ref))
