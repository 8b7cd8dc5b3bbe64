"""Which texts of a description are secrets, so that they stay where they are.

A false alarm costs little: the text is read from its file when it is needed. What has no form and
no name that gives it away cannot be known here, which is why the values of an environment and of
headers are never taken over at all.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from portico.kernel.redaction import BLACK, Redaction, blacked_out

_LETTERS_AND_DIGITS: Final = re.compile(r"[A-Za-z0-9]{12,}")
_SWITCH: Final = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SWITCHES: Final = 3
_SCHEME_ALONE: Final = re.compile(r"(?i)(authorization\s*[:=]\s*)(?:bearer|basic|token)\s*\Z")
_SCHEME_AT_MOST: Final = re.compile(r"(?i)\A\s*(?:bearer|basic|token)\b")
_BY_NAME: Final = Redaction()


def looks_secret(text: str, before: str = "") -> bool:
    """`before` is the argument that stands before it: `--token`."""
    value_of_a_flag = before.startswith("-") and not text.startswith("-")
    if blacked_out(text) != text or (value_of_a_flag and _names_a_secret(before, text)):
        return True
    if "://" in text:
        return shown_url(text) != text
    return "/" not in text and _random(text)


def hides_a_secret(text: str) -> bool:
    """Of a text whose variables have been taken out of it."""
    return looks_secret(_SCHEME_ALONE.sub(r"\1", text))


def harmless(text: str) -> bool:
    """Of a text whose variables have been taken out of it: surely no secret is left."""
    rest = _SCHEME_AT_MOST.sub("", text)
    return not any(map(str.isalnum, rest)) or ("/" in rest and not looks_secret(rest))


def shown_url(url: str) -> str:
    """What can be told of an address: always the host that it leads to, whatever stands before or
    behind it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return BLACK
    path = "/".join(BLACK if _random(each) else each for each in blacked_out(parts.path).split("/"))
    given = parse_qsl(parts.query, keep_blank_values=True)
    told = [(name, BLACK if _secret_parameter(name, value) else value) for name, value in given]
    query = blacked_out(parts.query) if told == given else urlencode(told, safe="*${}:/")
    return urlunsplit(
        (parts.scheme, _place(parts.netloc), path, query, blacked_out(parts.fragment))
    )


def _place(netloc: str) -> str:
    """The host and its port, and of whoever comes there only the name."""
    who, at, host = netloc.rpartition("@")
    name, secret, _ = who.partition(":")
    return f"{name}:{BLACK}@{host}" if secret else f"{blacked_out(name)}{at}{host}"


def _secret_parameter(name: str, value: str) -> bool:
    return _names_a_secret(name, value) or _random(value)


def _names_a_secret(name: str, value: str) -> bool:
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).strip("-")
    return bool(value) and _BY_NAME.clean_json({bare: value}) != {bare: value}


def _random(text: str) -> bool:
    """Letters and digits in such disorder that nobody has named anything so."""
    return any(
        len(_SWITCH.findall(word)) >= _SWITCHES for word in _LETTERS_AND_DIGITS.findall(text)
    )
