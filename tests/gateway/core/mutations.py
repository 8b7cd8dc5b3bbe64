"""One change to one place of a JSON value, and back again."""

import json
import unicodedata
from collections.abc import Iterator
from random import Random
from typing import Any

Place = tuple[Any, Any]
"""Something with places, and one of them."""


def places(value: Any) -> Iterator[Place]:
    """Every one inside it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def mutations(item: Any, random: Random) -> list[Any]:
    """Other values for the same place; only such as JSON writes in another way."""
    match item:
        case bool():
            return [not item, int(item), str(item).lower(), None]
        case int():
            return [item + 1, -item, str(item), float(item), bool(item), None]
        case float():
            return [item + 0.5, int(item), str(item), None]
        case None:
            return ["null", False, 0, {}]
        case str():
            return [*_texts(item, random), None, [item]]
        case list():
            return _lists(item, random)
        case _:
            return _objects(item, random)


def differs(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


def _texts(text: str, random: Random) -> list[Any]:
    cut = random.randrange(len(text) + 1)
    return [
        f"{text[:cut]} {text[cut:]}",
        f"{text[:cut]}\u200b{text[cut:]}",
        f"{text}\n",
        text.swapcase(),
        text.replace("a", "\u0430", 1),
        text.replace("o", "\u03bf", 1),
        text.replace(" ", "\u00a0", 1),
        unicodedata.normalize("NFD", f"{text}é"),
        text[:cut],
        f"{text}\\",
    ]


def _lists(items: list[Any], random: Random) -> list[Any]:
    mixed = random.sample(items, len(items))
    return [[*items, None], [*items, *items[:1]], items[1:], items[:-1], mixed, items[::-1], {}]


def _objects(members: dict[str, Any], random: Random) -> list[Any]:
    keys = list(members) or [""]
    key = random.choice(keys)
    without = {name: item for name, item in members.items() if name != key}
    return [
        {**members, "added": True},
        {**members, "": None},
        without,
        {**without, f"{key} ": members.get(key)},
        {**without, key.replace("e", "\u0435") + "_": members.get(key)},
        [members],
        json.dumps(members),
    ]
