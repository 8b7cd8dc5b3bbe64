"""Heads, entries and verdicts where no database is: a JSON object a line."""

import json
from datetime import UTC, datetime

from portico.guard.core.audit_chain import Head, Link, Verdict
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject


def head_line(space: SpaceId, head: Head, at: datetime) -> str:
    told = {
        "at": at.astimezone(UTC).isoformat(),
        "space": str(space),
        "number": head.number,
        "hash": head.hash.hex(),
    }
    return json.dumps(told) + "\n"


def head_from(line: str) -> tuple[SpaceId, Head] | None:
    """None if it is not one."""
    try:
        told = json.loads(line)
        space, number = SpaceId.parse(told["space"]), told["number"]
        return space, Head(_number(number), bytes.fromhex(told["hash"]))
    except (ValueError, KeyError, TypeError, AttributeError, PorticoError):
        return None


def link_line(link: Link) -> str:
    told = {"number": link.number, "hash": link.hash.hex(), "entry": link.text.decode()}
    return json.dumps(told, ensure_ascii=False) + "\n"


def link_from(line: bytes) -> Link | None:
    """None if it is not one."""
    try:
        told = json.loads(line)
        return Link(_number(told["number"]), told["entry"].encode(), bytes.fromhex(told["hash"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def verdict_json(verdict: Verdict) -> JsonObject:
    return {
        "sound": verdict.sound,
        "checked": verdict.checked,
        "last": verdict.last.number,
        "hash": verdict.last.hash.hex(),
        "heads": verdict.heads,
        "compared": verdict.compared,
        "found": verdict.found,
        "findings": [
            {"fault": str(it.fault), "number": it.number, "told": it.told}
            for it in verdict.findings
        ],
    }


def _number(told: object) -> int:
    if type(told) is not int:
        raise TypeError(f"{told!r} is not a number")
    return told
