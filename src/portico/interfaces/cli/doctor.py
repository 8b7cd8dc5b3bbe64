"""Find what is wrong with this installation."""

from contextlib import suppress
from typing import Final

from portico.engine.core.store import Finding, State, worst
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.errors import PorticoError

_MARKS: Final = {State.GOOD: "✓", State.MENDED: "✓", State.WARNING: "!", State.BROKEN: "✗"}


async def doctor(*, fix: bool = False, at: At) -> int:
    """Find what is wrong; --fix mends what it can. Exits with 1 if something is broken.

    Parameters
    ----------
    fix
        Mend what can be mended without asking: open files, missing migrations, what a killed
        server has left.
    """
    findings: list[Finding] = []
    in_turn = at.for_a_person  # the lines are the progress: what is broken may take long
    with at.alone():
        try:
            async for finding in at.house.diagnose()(mend=fix):
                findings.append(finding)
                if in_turn:
                    _show(at, finding)
        finally:
            with suppress(PorticoError):  # there may be none; that is among the findings
                await at.house.store().release()
    if not in_turn:
        rows = [
            {"check": each.check, "state": each.state, "detail": each.detail, "fix": each.fix}
            for each in findings
        ]
        at.table(["check", "state", "detail", "fix"], rows, {"checks": rows})
    return Exit.FAILED if worst(findings) is State.BROKEN else Exit.OK


def _show(at: Terminal, finding: Finding) -> None:
    at.line(f"{_MARKS[finding.state]} {finding.check.ljust(14)} {finding.detail}")
    if finding.fix:
        at.line(f"  {' ' * 14} fix: {finding.fix}")
