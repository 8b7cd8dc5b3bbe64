"""What only a browser can tell: whether everybody can read a screen (axe, by WCAG 2.2 AA), and how
long until a page is live. Without a browser nothing is told, and why."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from platformdirs import user_cache_path

from benchmarks.web_screens import Screen

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

_RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_THEMES: Final = ("dark", "light")
_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
"""It may be run as root, in a box without a graphics card; what it loads is our own."""
_PATIENCE: Final = 60_000
"""Milliseconds."""
_LIVE: Final = '#live[data-state="live"]'
_AXE: Final = "PORTICO_AXE"
_CACHE: Final = "PORTICO_TEST_CACHE"
# Before the page's own scripts: when the dot in the menu said that it is live.
_NOTE: Final = """
    new MutationObserver(() => {
        const dot = document.querySelector("#live");
        if (dot?.dataset.state === "live") window.liveAt ??= performance.now();
    }).observe(document, {subtree: true, childList: true, attributes: true});
"""

Progress = Callable[[str], None]


def lacking() -> str | None:
    """What there is not."""
    if find_spec("playwright") is None:
        return "Playwright is not installed"
    return None if _program() else f"none of {', '.join(_PROGRAMS)} is installed"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def found_axe(named: Path | None) -> Path | None:
    """As it is named; else in the environment, in a `node_modules` near, or where tests keep it."""
    if named is not None:
        return named if named.is_file() else None
    if told := os.environ.get(_AXE):
        return found_axe(Path(told))
    cache = Path(os.environ.get(_CACHE) or user_cache_path("portico-tests"))
    inside = Path("node_modules", "axe-core", "axe.min.js")
    near = [each / inside for each in (Path.cwd(), *Path.cwd().parents)]
    kept = sorted((cache / "npm").glob(f"axe-core-*/{inside}"), reverse=True)
    return next((each for each in (*near, *kept) if each.is_file()), None)


@dataclass(slots=True)
class Seen:
    violations: dict[str, list[str]] = field(default_factory=dict)
    """By screen and theme, where there are any."""
    checked: int = 0
    complaints: list[str] = field(default_factory=list)
    """On the browser's console."""
    live_ms: dict[str, float] = field(default_factory=dict)
    """By page: from the start of its navigation until it is live."""
    drawn_ms: dict[str, float] = field(default_factory=dict)
    """Until its document is read."""
    version: str = ""

    @property
    def axe_violations(self) -> int:
        return sum(map(len, self.violations.values()))


@dataclass(frozen=True, slots=True)
class Window:
    url: str
    context: "BrowserContext"
    page: "Page"
    seen: Seen
    broken: type[Exception]
    """What its library says whatever went wrong."""

    def until_live(self, pages: Mapping[str, str], times: int, progress: Progress) -> None:
        for name, path in pages.items():
            progress(f"waiting until it is live: {name}")
            self._loaded(path)
            told = [self._loaded(path) for _ in range(times)]
            self.seen.live_ms[name] = median(live for live, _ in told)
            self.seen.drawn_ms[name] = median(drawn for _, drawn in told)

    def _loaded(self, path: str) -> tuple[float, float]:
        self.page.goto(f"{self.url}{path}", timeout=_PATIENCE)
        self.page.wait_for_selector(_LIVE, state="attached", timeout=_PATIENCE)
        live, drawn = self.page.evaluate(
            "[window.liveAt, performance.getEntriesByType('navigation')[0].domInteractive]"
        )
        return float(live), float(drawn)

    def check(self, screens: Sequence[Screen], axe: str, progress: Progress) -> None:
        for theme in _THEMES:
            self.context.add_cookies([{"name": "portico_theme", "value": theme, "url": self.url}])
            for screen in screens:
                progress(f"checking {screen.name}, {theme}")
                self.page.goto(f"{self.url}{screen.path}", wait_until="load", timeout=_PATIENCE)
                self.seen.checked += 1
                if found := self._violations(axe):
                    self.seen.violations[f"{screen.name} ({theme})"] = found

    def _violations(self, axe: str) -> list[str]:
        self.page.evaluate(axe)
        found: dict[str, Any] = self.page.evaluate(
            "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", list(_RULES)
        )
        return [f"{each['id']}: {each['help']}" for each in found["violations"]]


@contextmanager
def window(url: str, cookie: str) -> Iterator[Window]:
    """Inside already, with the session of whoever has logged in."""
    from playwright.sync_api import Error, sync_playwright  # only where it is installed

    seen = Seen()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=list(_FLAGS))
        seen.version = browser.version
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
        )
        name, _, value = cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": url}])
        context.add_init_script(_NOTE)
        page = context.new_page()
        page.on(
            "console",
            lambda said: seen.complaints.append(said.text) if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        try:
            yield Window(url, context, page, seen, Error)
        finally:
            browser.close()
