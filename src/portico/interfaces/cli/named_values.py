"""NAME=VALUE, as values are given at the command line."""

import json
from collections.abc import Iterable
from typing import Any

from portico.interfaces.cli.errors import BadUsage


def named_values(pairs: Iterable[str]) -> dict[str, Any]:
    """A value that is JSON is taken as that, anything else as a text. Raises `BadUsage`."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise BadUsage(f"{pair!r} is not NAME=VALUE.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
