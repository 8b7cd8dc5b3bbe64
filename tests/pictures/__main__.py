"""Pictures of every screen, in both themes: python -m tests.pictures FOLDER [SCREEN ...]"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from tests.pictures.gallery import Gallery, gallery
from tests.scenarios.browsing import THEMES, Window, chromium, window

SCREENS: Final = {
    "inbox": "/inbox",
    "runs": "/runs",
    "run": "/runs/{filled.report}",
    "chat": "/chat/{filled.chat}",
    "bridge": "/bridge/{filled.project}/{filled.conversation}",
    "debates": "/debates",
    "debate": "/debates/{filled.debate}",
    "tools": "/tools",
    "graph": "/graph",
    "servers": "/servers",
    "server": "/servers/github",
    "agents": "/agents",
    "agent": "/agents/office",
    "metrics": "/figures",
    "audit": "/audit",
    "settings": "/settings",
    "keys": "/settings/keys",
    "welcome": "/welcome",
}
_SETTLED: Final = 1_500
"""Milliseconds for what is drawn by script: charts, the graph."""


def main(folder: Path, wanted: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    screens = {name: path for name, path in SCREENS.items() if not wanted or name in wanted}
    with chromium() as browser, gallery() as filled:
        with window(browser, filled.town.house, filled.key) as wide:
            for name, path in screens.items():
                _both(wide, filled, path, folder / name)
        if not wanted or "inbox" in wanted:
            with window(browser, filled.town.house, filled.key, phone=True) as phone:
                _both(phone, filled, "/inbox", folder / "inbox-390")


def _both(by: Window, filled: Gallery, path: str, name: Path) -> None:
    for theme in THEMES:
        by.dressed(theme)
        page = by.opens(path.format(filled=filled))
        by.live()
        picture = name.with_name(f"{name.name}-{theme}.png")
        _taken(page, picture)
        print(f"{picture}" + "".join(f"\n  ! {each}" for each in by.wrong))
        by.wrong.clear()


def _taken(page: Page, picture: Path) -> None:
    page.wait_for_timeout(_SETTLED)
    page.screenshot(path=picture)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots"), sys.argv[2:])
