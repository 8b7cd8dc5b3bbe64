"""Servers of tools, and what they may reach, as a gateway shows them."""

from typing import Any

GRANTS = {"read": [], "write": ["/srv/lab"], "network": "public", "reach": []}
CONFINED = {
    "hold": "boxed",
    "reaches": "network: public · writes /srv/lab · own home",
    "stated": False,
    "profile": GRANTS,
}
REVIEW, ACCEPT = "GET /servers/lab/review", "POST /servers/lab/accept"


def a_tool(name: str = "read", **changes: Any) -> dict[str, Any]:
    return {
        "tool": f"lab.{name}",
        "standing": "pending",
        "effect": "unknown",
        "proposed": "local_read",
        "why": "'read' reads",
        "refused": None,
        "tokens": 50,
        "description": "Reads a file.\nAnd more.",
        "changes": [],
    } | changes


def a_review(*tools: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": "lab",
        "origin": "api",
        "command": "npx lab",
        "confinement": CONFINED,
        "launch_pin": "p1",
        "launch_approved": True,
        "loaders": [],
        "pin": "p2",
        "listed": True,
        "tools": [*tools],
        "said": [],
    } | changes


def a_server(**changes: Any) -> dict[str, Any]:
    return {
        "name": "lab",
        "origin": "portico.toml",
        "enabled": True,
        "launch_approved": True,
        "approved": True,
        "failure": None,
        "tools": {"live": 2},
        "tokens": 100,
        "vitals": {"phase": "idle"},
        "confinement": CONFINED,
        "label": "team",
        "clearance": "confidential",
        "trusted": False,
    } | changes


def live(**effects: str) -> dict[str, Any]:
    lines = [{"tool": f"lab.{name}", "effect": effect} for name, effect in effects.items()]
    return {"data": lines, "next": None}


ACCEPTING: dict[str, Any] = {
    "POST /servers/lab/approve-launch": {},
    "POST /servers/lab/restart": {},
    ACCEPT: {"name": "lab"},
    "GET /servers/lab": {"name": "lab"},
    "GET /tools": live(read="local_read"),
}


def reviewed(*tools: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A gateway that does what is approved."""
    return ACCEPTING | {REVIEW: a_review(*tools, **changes)}
