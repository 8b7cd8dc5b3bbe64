"""What holds for every file of the console, whoever adds one, and for every page's questions."""

import asyncio
import hashlib
import json
import re
from pathlib import Path

import pytest

from portico.app.console import PATHS
from portico.engine.core.errors import RunNotFound
from portico.interfaces import console
from portico.interfaces.console.app import every_route
from portico.interfaces.console.screens.metrics import together

ROOT = Path(console.__file__).parent
VENDOR = ROOT / "static" / "vendor"
TEMPLATES = sorted(ROOT.glob("templates/**/*.html"))
OURS = [
    *TEMPLATES,
    *sorted(ROOT.glob("static/js/*.js")),
    *sorted(ROOT.glob("static/styles/*.css")),
]
LONGEST = 300
"""Of templates, scripts and style sheets; the budget holds how long a module may be."""
FORBIDDEN = {
    "an inline style": re.compile(r"\sstyle\s*="),
    "an inline handler": re.compile(r"<[^>]*\son[a-z]+\s*="),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)"),
    "a handler of htmx": re.compile(r"hx-on[:-]"),
    "an unescaped value": re.compile(r"\|\s*safe\b|autoescape"),
}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.requirement("console:files:small")
def test_no_file_is_long() -> None:
    lines = {named(file): len(file.read_text(encoding="utf-8").splitlines()) for file in OURS}

    assert {file: many for file, many in lines.items() if many > LONGEST} == {}


def test_no_template_has_what_the_policy_forbids() -> None:
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")

        assert [what for what, sign in FORBIDDEN.items() if sign.search(text)] == [], template


def test_only_the_renderer_of_markdown_makes_markup() -> None:
    made = {named(file) for file in ROOT.glob("**/*.py") if "Markup(" in file.read_text()}

    assert made <= {"markdown.py"}


def test_what_is_not_ours_is_as_it_was_published() -> None:
    """Each file by its hash, from a package at a version, with its licence beside it."""
    listed = json.loads((VENDOR / "vendored.json").read_text(encoding="utf-8"))
    there = {file.name for file in VENDOR.iterdir() if file.is_file()} - {"vendored.json"}

    assert {each["file"] for each in listed} == there
    for each in listed:
        content = (VENDOR / each["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"], each["file"]
        assert (VENDOR / each["licence_file"]).stat().st_size > 100
        assert each["licence"] in {"0BSD", "MIT", "OFL-1.1"}


def test_every_route_of_the_console_is_handed_to_it() -> None:
    """A path that the server does not know as the console's would ask for a bearer key."""
    for route in every_route():
        first = "/" + route.path.lstrip("/").split("/")[0]

        assert first in PATHS, route.path


async def given(value: str) -> str:
    await asyncio.sleep(0)
    return value


async def test_each_answer_is_told_in_its_place_or_the_first_refusal() -> None:
    under_way = asyncio.Event()

    async def never() -> str:
        await under_way.wait()
        return "never"

    async def refused() -> str:
        raise RunNotFound("run_1")

    assert await together(given("a"), given("b"), given("c")) == ("a", "b", "c")
    with pytest.raises(RunNotFound):
        await together(given("a"), never(), refused())
