"""Tell whoever follows a run what has happened, in as few pieces as can be."""

from portico.agents.core.happening import ToolEnded
from portico.agents.core.trace import ToolUse
from portico.agents.leg import Leg
from portico.agents.ports import Talk
from portico.engine.execution import patiently
from portico.kernel.label import Label, join


async def tell_untold(talk: Talk, leg: Leg, label: Label) -> None:
    told, leg.untold = leg.untold, []
    await patiently(lambda: talk.tell(leg.writer, leg.run, *told, label=label))


async def tell_left_over(talk: Talk, leg: Leg) -> None:
    """Of the last turn, what a process that is gone had written down and not told yet: else the
    card of a call would stay open for ever."""
    last = max(leg.turns, default=0)
    uses = [use for (turn, _), use in sorted(leg.uses.items()) if turn == last]
    if not leg.broken_off or not uses:
        return
    told = await patiently(lambda: talk.ended_calls(leg.writer, leg.run))
    left = [use for use in uses if use.call not in told]
    if left:
        leg.untold.extend(map(tool_ended, left))
        await tell_untold(talk, leg, join(use.label for use in left))


def tool_ended(use: ToolUse) -> ToolEnded:
    return ToolEnded(
        turn=use.turn,
        call=use.call,
        tool=use.tool,
        text=use.text,
        failed=use.failed,
        seconds=use.took.total_seconds(),
    )
