"""A real browser on a running Portico: Debian's Chromium, driven by Playwright, checked by axe."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    sync_playwright,
)

from tests.installation import Installation
from tests.scenarios.node_packages import installed

THEMES: Final = ("dark", "light")
WIDE: Final = ViewportSize(width=1440, height=900)
PHONE: Final = ViewportSize(width=390, height=844)
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_FLAGS: Final = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
"""Run as root, in a box without a graphics card."""
PATIENCE: Final = 30_000
"""Milliseconds: the machine may be busy."""


@contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "There is no Chromium here: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Window:
    """One person's browser, logged in, with what went wrong in it."""

    house: Installation
    context: BrowserContext
    page: Page
    wrong: list[str] = field(default_factory=list)

    def opens(self, path: str) -> Page:
        """The page there, once it is drawn and hears what happens."""
        self.page.goto(f"{self.house.url}{path}", wait_until="load", timeout=PATIENCE)
        return self.page

    def live(self) -> None:
        """Until the page hears what happens."""
        self.page.wait_for_selector('#live[data-state="live"]', timeout=PATIENCE)

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for(timeout=PATIENCE)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def dressed(self, theme: str) -> None:
        self.context.add_cookies([{"name": "portico_theme", "value": theme, "url": self.house.url}])

    def violations(self) -> list[str]:
        """What axe finds on the page as it is now (WCAG 2.2 AA)."""
        return self._violations("tag", *_RULES)

    def contrast_violations(self) -> list[str]:
        """What is left to look at on the same page in the other theme."""
        return self._violations("rule", "color-contrast")

    def _violations(self, kind: str, *rules: str) -> list[str]:
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_axe())
        found: dict[str, Any] = self.page.evaluate(
            "only => axe.run(document, {runOnly: only})", {"type": kind, "values": rules}
        )
        return [_in_words(each) for each in found["violations"]]


@contextmanager
def window(
    browser: Browser, house: Installation, key: str | None = None, *, phone: bool = False
) -> Iterator[Window]:
    with logged_out(browser, house, phone=phone) as made:
        made.opens("/login")
        made.page.fill("#key", key or house.key)
        made.page.press("#key", "Enter")
        made.page.wait_for_selector("nav.side")
        yield made


@contextmanager
def logged_out(browser: Browser, house: Installation, *, phone: bool = False) -> Iterator[Window]:
    context = browser.new_context(
        viewport=PHONE if phone else WIDE,
        reduced_motion="reduce",
        bypass_csp=False,
    )
    context.set_default_timeout(PATIENCE)
    made = Window(house, context, context.new_page())
    made.page.on("console", lambda message: _note(made, message))
    made.page.on("pageerror", lambda error: made.wrong.append(f"error: {error}"))
    try:
        yield made
    finally:
        context.close()


def _note(made: Window, message: ConsoleMessage) -> None:
    """Whatever a browser complains of: scripts, policies, what could not be loaded."""
    if message.type in {"error", "warning"}:
        made.wrong.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


def _in_words(violation: dict[str, Any]) -> str:
    nodes: Sequence[dict[str, Any]] = violation["nodes"]
    where = json.dumps([node["target"] for node in nodes[:3]])
    return f"{violation['id']}: {violation['help']} at {where} {nodes[0]['html'][:200]}"


@cache
def _axe() -> str:
    return (installed("axe-core", "4.14.0") / "axe.min.js").read_text(encoding="utf-8")
