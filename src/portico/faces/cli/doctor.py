"""Find what is wrong with this installation."""

import sys
from contextlib import suppress
from typing import Final

from portico.engine.core.health import State, worst
from portico.faces.cli.exits import Exit
from portico.faces.cli.terminal import At
from portico.kernel.errors import PorticoError

_MARKS: Final = {State.GOOD: "✓", State.MENDED: "✓", State.WARNING: "!", State.BROKEN: "✗"}


async def doctor(*, fix: bool = False, at: At) -> int:
    """Find what is wrong; --fix mends what it can. Exits with 1 if something is broken.

    Parameters
    ----------
    fix
        Mend what can be mended without asking: open files, missing migrations.
    """
    try:
        with at.working("looking around"):
            findings = [finding async for finding in at.house.diagnose()(mend=fix)]
    finally:
        with suppress(PorticoError):  # there may be none; that is among the findings
            await at.house.store().release()
    rows = [
        {"check": each.check, "state": each.state, "detail": each.detail, "fix": each.fix}
        for each in findings
    ]
    if at.json or not sys.stdout.isatty():
        at.table(["check", "state", "detail", "fix"], rows, {"checks": rows})
    else:
        for each in findings:
            at.data(None, f"{_MARKS[each.state]} {each.check.ljust(14)} {each.detail}")
            if each.fix:
                at.data(None, f"  {' ' * 14} fix: {each.fix}")
    return Exit.FAILED if worst(findings) is State.BROKEN else Exit.OK
