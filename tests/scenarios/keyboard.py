"""A person without a mouse: Tab, letters and Enter, and where that has led them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from playwright.sync_api import Locator, Page

from tests.scenarios.browsing import PATIENCE, Window

_MOST: Final = 90
"""Tabs: whoever needs more has no way there."""
_FOCUSED: Final = "found => found.includes(document.activeElement)"

Role = Literal["button", "checkbox", "combobox", "link", "radio", "searchbox", "textbox"]


@dataclass(frozen=True)
class Hands:
    window: Window

    @property
    def page(self) -> Page:
        return self.window.page

    def press(self, *keys: str) -> None:
        self.window.presses(*keys)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def go(self, letter: str, path: str) -> None:
        """By the menu's keys."""
        self.press("g", letter)
        self.arrive(path)

    def arrive(self, path: str) -> None:
        """Drawn, so that its keys are heard. `path` is what the address begins with."""
        where = re.compile(rf"^{re.escape(self.window.house.url + path)}(?:$|[?#/&])")
        self.page.wait_for_url(where, timeout=PATIENCE, wait_until="load")

    def skip_menu(self) -> None:
        """The first thing on every page leads past the menu."""
        self.press("Tab", "Enter")
        assert self.focused(self.page.locator("#main"))

    def tab_to(self, what: Locator) -> None:
        """However it is called: only Tab leads there."""
        for _ in range(_MOST):
            self.press("Tab")
            if self.focused(what):
                return
        raise AssertionError(f"No Tab leads to {what}: {self.where()}")

    def mark(self, what: Locator, key: str = "j") -> None:
        """Row by row, or link by link."""
        for _ in range(_MOST):
            if self.focused(what):
                return
            self.press(key)
        raise AssertionError(f"No {key} leads to {what}: {self.where()}")

    def focused(self, what: Locator) -> bool:
        return bool(what.evaluate_all(_FOCUSED))

    def until_focused(self, what: Locator) -> None:
        handle = what.element_handle(timeout=PATIENCE)
        self.page.wait_for_function("it => it === document.activeElement", arg=handle)

    def where(self) -> str:
        return str(self.page.evaluate("document.activeElement?.outerHTML.slice(0, 300)"))

    @contextmanager
    def without_reload(self) -> Iterator[None]:
        """What changes within is changed on the very page that was open."""
        self.page.evaluate("window.sameAsBefore = true")
        yield
        assert self.page.evaluate("window.sameAsBefore === true"), "the page was loaded again"
