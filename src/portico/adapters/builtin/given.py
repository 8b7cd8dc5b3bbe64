"""What a tool of ours was given: checked against its schema before, read here by its kind."""

import binascii
from base64 import b64decode
from collections.abc import Mapping

from portico.adapters.builtin.errors import BadBody, OneOfTwo
from portico.kernel.json import JsonObject


def text(arguments: JsonObject, name: str, otherwise: str = "") -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else otherwise


def number(arguments: JsonObject, name: str, otherwise: int) -> int:
    value = arguments.get(name)
    return int(value) if isinstance(value, int | float) else otherwise


def texts(arguments: JsonObject, name: str) -> Mapping[str, str]:
    value = arguments.get(name)
    return {key: str(each) for key, each in value.items()} if isinstance(value, Mapping) else {}


def body(arguments: JsonObject) -> bytes:
    """From `text` or `base64`, or nothing at all. Raises `BadBody`, `OneOfTwo`."""
    if "text" in arguments and "base64" in arguments:
        raise OneOfTwo("text", "base64")
    try:
        if "base64" in arguments:
            return b64decode(text(arguments, "base64"), validate=True)
        return text(arguments, "text").encode()
    except UnicodeEncodeError as error:
        raise BadBody("there is half of a surrogate pair in it") from error
    except (binascii.Error, ValueError) as error:
        raise BadBody("it is not base64") from error
