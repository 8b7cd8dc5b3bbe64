"""A person without a mouse: Tab, letters and Enter, and where that has led them. What they look for
is named by a selector, or found by Playwright."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from playwright.sync_api import Locator, Page

from tests.scenarios.browsing import PATIENCE, Window

_MOST: Final = 150
"""Presses of a key: whoever needs more has no way there."""
_FOCUSED: Final = "found => found.some(each => each.contains(document.activeElement))"
_SETTLED: Final = "since => performance.now() - since > 1000"

Role = Literal["button", "checkbox", "combobox", "link", "radio", "searchbox", "textbox"]


@dataclass(frozen=True)
class Hands:
    window: Window

    @property
    def page(self) -> Page:
        return self.window.page

    def opens(self, path: str) -> Page:
        return self.window.opens(path)

    def press(self, *keys: str) -> None:
        self.window.presses(*keys)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def retype(self, text: str) -> None:
        """In the field that has the focus, in place of what is there."""
        self.press("Control+a")
        self.type(text)

    def go(self, letter: str, path: str) -> None:
        """By the menu's keys."""
        self.press("g", letter)
        self.arrive(path)

    def arrive(self, path: str) -> None:
        """Drawn, so that its keys are heard. `path` is what the address begins with, with `*` for
        whatever is in between."""
        begins = re.escape(self.window.house.url + path).replace(r"\*", "[^/]*")
        where = re.compile(rf"^{begins}(?:$|[?#/&])")
        self.page.wait_for_url(where, timeout=PATIENCE, wait_until="load")

    def skip_menu(self) -> None:
        """The first thing on every page leads past the menu."""
        self.press("Tab", "Enter")
        assert self.focused(self.page.locator("#main"))

    def tab_to(self, what: str | Locator) -> None:
        """However it is called: only Tab leads there, from wherever the focus is."""
        self.mark(what, "Tab")

    def choose(self, what: str | Locator) -> None:
        """By Tab and Enter."""
        self.tab_to(what)
        self.press("Enter")

    def mark(self, what: str | Locator, key: str = "j") -> None:
        """Row by row, or link by link."""
        for _ in range(_MOST):
            if self.focused(what):
                return
            self.press(key)
        raise AssertionError(f"No {key} leads to {what}: {self.where()}")

    def focused(self, what: str | Locator) -> bool:
        """It, or something inside it."""
        return bool(self._found(what).evaluate_all(_FOCUSED))

    def until_focused(self, what: str | Locator) -> None:
        """Until the page itself has put the focus there."""
        handle = self._found(what).element_handle(timeout=PATIENCE)
        self.page.wait_for_function("it => it === document.activeElement", arg=handle)

    def where(self) -> str:
        return str(self.page.evaluate("document.activeElement?.outerHTML.slice(0, 300)"))

    def see(self, what: str, text: str = "") -> None:
        self.page.locator(what).filter(has_text=text).first.wait_for(timeout=PATIENCE)

    def settle(self) -> None:
        """Until a key answers what is shown: what has just come is not answered by a stray
        press."""
        since = self.page.evaluate("performance.now()")
        self.page.wait_for_function(_SETTLED, arg=since)

    def watch(self, path: str) -> None:
        """Open and live, and marked: a page that is loaded again loses the mark."""
        self.opens(path)
        self.window.live()
        self._mark()

    def undisturbed(self) -> bool:
        """Whether it is the page that was marked, not loaded again since."""
        return bool(self.page.evaluate("window.sameAsBefore === true"))

    @contextmanager
    def without_reload(self) -> Iterator[None]:
        """What changes within is changed on the very page that was open."""
        self._mark()
        yield
        assert self.undisturbed(), "the page was loaded again"

    def forgive(self, status: int, path: str) -> None:
        """The line that the browser itself writes about one refused request; nothing else."""
        wrong = self.window.wrong
        its = [each for each in wrong if f"status of {status} " in each and path in each]
        assert len(its) == 1, wrong
        wrong.remove(its[0])

    def _mark(self) -> None:
        self.page.evaluate("() => { window.sameAsBefore = true; }")

    def _found(self, what: str | Locator) -> Locator:
        return self.page.locator(what) if isinstance(what, str) else what
