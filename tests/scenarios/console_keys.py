"""Hands on a keyboard, and somebody else who does things behind an open page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Page

from tests.scenarios.browsing import PATIENCE, Window
from tests.scenarios.console_town import PATIENCE as SECONDS
from tests.scenarios.console_town import Town

_MOST: Final = 150
"""Presses of Tab: a page on which something is further away cannot be used by keyboard."""
_SETTLED: Final = "since => performance.now() - since > 1000"


def tabs_to(ana: Window, what: str) -> None:
    """By Tab alone, from wherever the focus is."""
    for _ in range(_MOST):
        if ana.page.evaluate("what => document.activeElement.matches(what)", what):
            return
        ana.presses("Tab")
    raise AssertionError(f"Tab never comes to {what}")


def focused(ana: Window, what: str) -> None:
    """Until the page itself has put the focus there."""
    ana.page.wait_for_function("what => document.activeElement.matches(what)", arg=what)


def marks(ana: Window, row: str, key: str) -> None:
    """By j or k, from row to row."""
    within = "row => document.activeElement.closest(row) !== null"
    for _ in range(_MOST):
        ana.presses(key)
        if ana.page.evaluate(within, row):
            return
    raise AssertionError(f"{key} never comes to {row}")


def goes_on(ana: Window, to: str) -> None:
    """To what follows, by Tab and Enter."""
    tabs_to(ana, to)
    ana.presses("Enter")


def types(ana: Window, text: str) -> None:
    ana.page.keyboard.type(text)


def retypes(ana: Window, text: str) -> None:
    """In the field that has the focus, in place of what is there."""
    ana.presses("Control+a")
    types(ana, text)


def settled(ana: Window) -> None:
    """Until a key answers what is shown: what has just come is not answered by a stray press."""
    since = ana.page.evaluate("performance.now()")
    ana.page.wait_for_function(_SETTLED, arg=since)


def shows(ana: Window, what: str, text: str = "") -> None:
    ana.page.locator(what).filter(has_text=text).first.wait_for(timeout=PATIENCE)


def arrives(ana: Window, path: str) -> Page:
    """At an address that matches, with `**` for anything."""
    ana.page.wait_for_url(f"{ana.house.url}{path}", wait_until="load", timeout=PATIENCE)
    return ana.page


def watched(ana: Window, path: str) -> None:
    """Open and live, and marked: a page that is loaded again loses the mark."""
    ana.opens(path)
    ana.live()
    ana.page.evaluate("() => { window.watched = true; }")


def still_there(ana: Window) -> bool:
    """Whether it is the page that was opened, not loaded again since."""
    return bool(ana.page.evaluate("() => window.watched === true"))


def forgives(ana: Window, status: int, path: str) -> None:
    """The line that the browser itself writes about one refused request; nothing else."""
    its = [each for each in ana.wrong if f"status of {status} " in each and path in each]
    assert len(its) == 1, ana.wrong
    ana.wrong.remove(its[0])


@dataclass
class Bo:
    """Somebody else: nobody may approve what they asked for themselves."""

    town: Town
    key: str

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        with self.town.house.client(self.key) as client:
            answered = client.request(method, path, json=body, headers=headers, timeout=SECONDS)
        assert answered.is_success, (method, path, answered.text)
        return answered.json() if answered.content else None

    def plan(self, steps: Sequence[Mapping[str, Any]]) -> str:
        return str(self.ask("POST", "/workflows", {"plan": {"steps": steps}})["run"])

    def asks(self, steps: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """The run, and what it waits for somebody to approve."""
        run = self.plan(steps)

        def its(found: dict[str, Any]) -> list[dict[str, Any]]:
            return [each for each in found["data"] if each["run"] == run]

        found = self.town.until("/approvals?status=waiting&limit=100", its)
        return run, str(its(found)[0]["id"])
