"""What `just bench web` measures on a house that is served."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.web_assets import weight_of
from benchmarks.web_browser import Seen, found_axe, lacking, window
from benchmarks.web_house import House
from benchmarks.web_pages import Pages
from benchmarks.web_report import Measured
from benchmarks.web_screens import Screen, every_screen
from benchmarks.web_sizes import Sizes
from benchmarks.web_tabs import Watching
from benchmarks.web_visitor import Visitor

_BARE: Final = (Screen("healthz", "/healthz"), Screen("rest_runs", "/api/v1/runs?limit=50"))
"""What pages are told beside: nothing at all, and the same list without a page around it."""
_NOWHERE: Final = "axe-core was not found: name its axe.min.js by --axe, or by PORTICO_AXE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    house: House
    server: psutil.Process
    places: Mapping[str, str]
    """Ids of what is there, by what it stands for."""
    sizes: Sizes
    axe: Path | None
    progress: Callable[[str], None]

    def all(self, filled: Mapping[str, Any]) -> Measured:
        visitor = Visitor(self.house.url)
        cookie = visitor.log_in(self.house.key())
        screens = every_screen(self.places)
        pages, beside = self._pages(visitor, screens)
        run_page = visitor.get(f"/runs/{self.places['run']}").body
        weight = weight_of(run_page, lambda address: visitor.get(address).body)
        live = self._live(cookie)
        whole = pages.some(whole=True)
        seen, missing = self._seen(cookie, [each for each in screens if each.name in whole])
        return Measured(
            pages=pages,
            baseline=beside.drawn,
            weight=weight,
            live=live,
            seen=seen,
            lacking=missing,
            filled=filled,
        )

    def _pages(self, visitor: Visitor, screens: Sequence[Screen]) -> tuple[Pages, Pages]:
        """And what they are told beside, half of it before and half of it after them."""
        keyed = {"Authorization": f"Bearer {self.house.key()}"}
        cpu, many = self.house.cpu(self.server), self.sizes.requests
        pages, beside = Pages(visitor, cpu), Pages(Visitor(self.house.url, keyed), cpu)
        beside.measure(_BARE, -(-many // 2), self.progress)
        pages.measure(screens, many, self.progress)
        beside.measure(_BARE, -(-many // 2), self.progress)
        return pages, beside

    def _live(self, cookie: str) -> dict[str, Any]:
        """In a process of its own, so that nothing of this one is in its figures."""
        sizes = self.sizes
        watching = Watching(
            host="127.0.0.1",
            port=int(self.house.env["PORTICO_SERVER__PORT"]),
            cookie=cookie,
            run=self.places["open"],
            tabs=sizes.tabs,
            seconds=sizes.seconds,
            rate=sizes.rate,
            server=self.server.pid,
            home=str(self.house.home),
        )
        self.progress(f"{sizes.tabs} tabs hear what happens for {sizes.seconds} s")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.web_tabs"],
            input=watching.spelled(),
            env=dict(self.house.env),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def _seen(self, cookie: str, screens: Sequence[Screen]) -> tuple[Seen | None, dict[str, str]]:
        """By a browser, if there is one; and what there is not."""
        if (missing := lacking()) is not None:
            return None, {"axe_violations": missing, "until_live_ms": missing}
        its = self.places
        wanted = {
            "run of 13 steps": f"/runs/{its['run']}",
            "long run": f"/runs/{its['long']}",
            "long conversation": f"/bridge/{its['long_project']}/{its['long_talk']}",
        }
        script = found_axe(self.axe)
        lacks = {} if script else {"axe_violations": _NOWHERE}
        with window(self.house.url, cookie) as made:
            try:
                made.until_live(wanted, self.sizes.loads, self.progress)
                if script is not None:
                    made.check(screens, script.read_text(encoding="utf-8"), self.progress)
            except made.broken as error:  # what was measured before is told all the same
                lacks["browser"] = str(error).partition("\n")[0]
        return made.seen, lacks
