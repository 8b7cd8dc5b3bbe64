"""References and templates: read from their text, found in what is given, put in their place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.plan.plan import Given, Reference, Template
from portico.kernel.json import JsonValue, pointed

ID: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
INPUTS: Final = "inputs"
ITEM: Final = "item"
INDEX: Final = "index"
RESERVED: Final = frozenset({INPUTS, ITEM, INDEX})

_REFERENCE: Final = re.compile(rf"({ID})(?:\.(.+)|(\[.+))?", re.DOTALL)
_MEANT: Final = re.compile(rf"\$\{{\s*({ID})\s*[.\[}}]|\{{\{{\s*({ID})\s*[.\[}}]")
_OPENING: Final = re.compile(r"(\$+)\{")
_QUOTES: Final = "'\"`"


class Unreadable(ValueError):
    """Says why, to whoever knows the place."""


def read_reference(text: str, *, default: JsonValue = None, has_default: bool = False) -> Reference:
    """From `read.content[0].text` or `item[0]`. Raises `Unreadable`."""
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        what = f"{text[:60]!r} is not a step's id, or one with a dot and a path."
        function = " A function stands behind a pipe: read.json.list | length(@)."
        raise Unreadable(what + function if "(" in text else what)
    return Reference(found[1], (found[2] or found[3] or "").strip(), default, has_default)


def seems_to_refer(text: str) -> frozenset[str]:
    """Of a text that is taken as it stands: what it would refer to, were it a template."""
    return frozenset(found[1] or found[2] for found in _MEANT.finditer(text))


def read_template(text: str) -> Template:
    """`${…}` is a reference, `$${` stands for `${`, and so `$$${…}` is a `$` and a reference.
    Raises `Unreadable`."""
    parts: list[str | Reference] = []
    plain, at = "", 0
    while (opening := _OPENING.search(text, at)) is not None:
        dollars = len(opening[1])
        plain += text[at : opening.start()] + "$" * (dollars // 2)
        at = opening.end()
        if dollars % 2:
            end = _end(text, at)
            parts += [plain, read_reference(text[at:end])]
            plain, at = "", end + 1
        else:
            plain += "{"
    return Template(tuple(part for part in [*parts, plain + text[at:]] if part != ""))


def write_template(template: Template) -> str:
    written = ""
    for part in template.parts:
        if isinstance(part, str):
            written += _OPENING.sub(lambda found: f"{found[1] * 2}{{", part)
        else:
            dollars = len(written) - len(written.rstrip("$"))
            written += "$" * dollars + f"${{{part}}}"
    return written


def references(given: Given, place: str = "") -> Iterator[tuple[str, Reference]]:
    """Each that stands in it, with its place."""
    if isinstance(given, Reference):
        yield f"{place}/$from", given
    elif isinstance(given, Template):
        inside = (part for part in given.parts if isinstance(part, Reference))
        yield from ((f"{place}/$text", part) for part in inside)
    else:
        for name, inner in inside_of(given):
            yield from references(inner, pointed(place, name))


def inside_of(given: Given) -> Iterator[tuple[str, Given]]:
    """What stands directly in a list or an object, by name or number."""
    if isinstance(given, Mapping):
        yield from given.items()
    elif isinstance(given, Sequence) and not isinstance(given, str):
        yield from ((str(number), inner) for number, inner in enumerate(given))


def _end(text: str, at: int) -> int:
    """Where the brace is that ends a reference: braces and quotes of its path do not count."""
    depth, quote = 0, ""
    start = at
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter == "}" and not depth:
            return at
        else:
            depth += (letter == "{") - (letter == "}")
        at += 1
    raise Unreadable(f"The `${{` before {text[start : start + 20]!r} is never closed by `}}`.")
