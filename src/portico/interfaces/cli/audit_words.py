"""Entries of the audit, and what checking it came to, in words."""

from collections.abc import Iterator
from typing import Any

from portico.interfaces.cli.terminal import shown


def entry_line(entry: dict[str, Any]) -> str:
    act = entry["act"] if isinstance(entry["act"], dict) else {}
    told = [
        str(entry["number"]),
        shown(entry["at"]),
        shown(act.get("name", entry["by"])),
        shown(act.get("action")),
        shown(act.get("subject")),
        *(shown(act[name]) for name in ("rule", "reason") if act.get(name)),
        *map(shown, _changed(act.get("facts"))),
    ]
    return "  ".join(told).replace("\n", " ")


def _changed(facts: object) -> Iterator[str]:
    """What was answered, and what became of what."""
    if not isinstance(facts, dict):
        return
    if answer := facts.get("answer"):
        yield "no" if answer == "reject" else f"yes ({answer})"
    was, now = facts.get("was"), facts.get("now", facts)
    if isinstance(was, dict) and isinstance(now, dict):
        yield ", ".join(
            f"{name}: {old} → {now[name]}"
            for name, old in was.items()
            if name in now and now[name] != old
        )
    elif was is not None and now is not facts:
        yield f"{was} → {now}"


def verdict_lines(verdict: dict[str, Any]) -> Iterator[str]:
    checked = f"{verdict['checked']:,} entries checked"
    if verdict["sound"]:
        yield f"Sound: {checked}, the last is {verdict['last']}."
    else:
        count = verdict["found"]
        yield f"NOT SOUND: {checked}, {count:,} {'finding' if count == 1 else 'findings'}."
    for finding in verdict["findings"]:
        yield f"  {finding['number']}: {finding['fault']}. {finding['told']}"
    if (more := verdict["found"] - len(verdict["findings"])) > 0:
        yield f"  and {more:,} more"
    if verdict["compared"]:
        agreed = f"{verdict['heads']:,} of the {verdict['compared']:,}"
        yield f"It agrees with {agreed} heads that it was compared with."
    else:
        yield (
            "It was compared with no head that was kept elsewhere: nobody can tell whether its "
            "end was cut off, or all of it made anew."
        )


def bar(done: int, of: int) -> str:
    part = done / of if of else 1.0
    full = round(20 * part)
    return f"checking {'█' * full}{'·' * (20 - full)} {done:,} of {of:,}"
