"""What a browser is sent, of every screen, and what each template was given."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import unquote

import anyio.to_thread
from jinja2 import UndefinedError

from portico.interfaces.console import page
from portico.interfaces.console.page import render
from tests.debate.virtual_time import in_no_time
from tests.interfaces.http.asgi import Answer
from tests.snapshots.world import Look, World, furnished

_ID: Final = re.compile(r"([a-z]{3})_[0-9a-z]{26}")
_CHANGING: Final = re.compile(r"(?<=\?v=)[0-9a-f]+|(?<=name=\"once\" value=\")[0-9a-f]+")
"""The mark of a file's content, and what makes a form count once."""
_ENDINGS: Final = {"text/html": "html", "application/json": "json", "text/csv": "csv"}
_WHOLE: Final = "settings-about"
"""The one page that is kept with the frame around it."""


@dataclass
class Drawn:
    screens: dict[str, str] = field(default_factory=dict)
    """By the name of the file."""
    given: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Templates with their values."""


def drawn() -> Drawn:
    """In a time of its own, and without threads: always the same, however busy the machine is."""
    with patch.object(anyio.to_thread, "run_sync", _at_once):
        return in_no_time(_drawn())


async def _at_once(work: Callable[..., Any], *given: Any, **_more: Any) -> Any:
    return work(*given)


async def _drawn() -> Drawn:
    made = Drawn()

    def heard(template: str, values: Mapping[str, Any]) -> bytes:
        made.given.append((template, values))
        try:
            return render(template, values)
        except UndefinedError as error:  # found by `template_reading` too, and others with it
            return f"{template}: {error}".encode()

    with patch.object(page, "render", heard):
        async with furnished() as world:
            pages = [(look, await _answer(world, look)) for look in world.looks]
    texts: dict[str, str] = {}
    for look, answer in pages:
        kind = answer.headers.get("content-type", "text/plain").partition(";")[0]
        name = _free(_name(look), texts, f".{_ENDINGS.get(kind, 'txt')}")
        texts[name] = f"{answer.status}\n{_CHANGING.sub('…', answer.body.decode())}"
    frame = {*texts[f"{_WHOLE}.html"].split("<main", 1)[0].splitlines()}
    frame |= {*texts[f"{_WHOLE}.html"].split("</main>", 1)[1].splitlines()}
    for name, text in texts.items():
        without = frame if name.endswith(".html") and _WHOLE not in name else set()
        made.screens[name] = _readable(text, without)
    return made


async def _answer(world: World, look: Look) -> Answer:
    who = world.people[look.who]
    if look.fields is None:
        return await who.get(look.path, part=look.part)
    return await who.post(look.path, dict(look.fields), *([(b"hx-request", b"true")] * look.part))


def _name(look: Look) -> str:
    path, _, query = _ID.sub(r"\1", look.path).partition("?")
    words = [path.strip("/").replace("/", "-") or "home"]
    words += [re.sub(r"[^\w=.,-]+", "-", unquote(query))[:40]] if query else []
    words += ["sent"] if look.fields is not None else []
    words += ["part"] if look.part else []
    words += [look.who] if look.who != "ana" else []
    return "+".join(words)


def _free(name: str, taken: Mapping[str, str], ending: str) -> str:
    numbers = ("", *(f"+{number}" for number in range(2, 100)))
    return next(each for number in numbers if (each := f"{name}{number}{ending}") not in taken)


def _readable(text: str, without: set[str]) -> str:
    """Without the lines of the frame, and without empty ones."""
    lines = [line.rstrip() for line in text.splitlines() if line not in without]
    return "\n".join([*filter(None, lines), ""])
