"""The places of the console, and the keys that lead there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    name: str
    key: str
    """Pressed after `g`."""
    icon: str
    """The path of a drawing, 24 by 24."""

    def holds(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    places: tuple[Place, ...]


GROUPS: Final = (
    Group(
        "Operate",
        (
            Place("/inbox", "Approvals", "i", "M4 13h4l2 3h4l2-3h4M5 5h14l1 8v6H4v-6z"),
            Place("/runs", "Runs", "r", "M6 4v16M6 8h8a4 4 0 0 1 4 4v8"),
            Place("/chat", "Chat", "c", "M4 5h16v11H9l-5 4z"),
            Place("/bridge", "Bridge", "b", "M4 7h16M4 12h10M4 17h7"),
            Place("/debates", "Debates", "d", "M7 8h10M7 12h6M4 4h16v13h-8l-5 4v-4H4z"),
        ),
    ),
    Group(
        "Build",
        (
            Place("/tools", "Tools", "t", "M14 6a4 4 0 0 0 4 4l-9 9-3-3 9-9"),
            Place("/graph", "Tool graph", "n", "M6 6l6 12M18 6l-6 12M6 6h12"),
            Place("/servers", "Servers", "s", "M4 5h16v6H4zM4 13h16v6H4z"),
            Place("/agents", "Agents", "a", "M12 3v4M6 9h12v9H6zM9 13h.01M15 13h.01"),
        ),
    ),
    Group(
        "Observe",
        (
            Place("/figures", "Metrics", "m", "M4 19V9M10 19V5M16 19v-7M21 19H3"),
            Place("/audit", "Audit", "u", "M6 3h9l4 4v14H6zM9 12h7M9 16h7"),
            Place(
                "/settings",
                "Settings & keys",
                "k",
                "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 12h2M18 12h2M12 4v2M12 18v2",
            ),
            Place("/welcome", "Welcome", "w", "M4 12l8-8 8 8M6 10v10h12V10"),
        ),
    ),
)

HELP: Final[Mapping[str, str]] = {
    "⌘K or Ctrl K": "search, or jump to a place",
    "g, then a letter": "go to a place: its letter is in the menu",
    "/": "into the search field of this page",
    "j and k": "to the next, to the one before",
    "enter": "open what is marked",
    "a": "approve what is marked",
    "x": "reject it",
    "e": "edit its arguments, then approve",
    "w": "why it is asked",
    "esc": "close, or leave the field",
    "?": "this list",
}
