"""Look on at a workflow until it is over, in the way that fits where one looks."""

from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import Terminal
from portico.interfaces.cli.workflow_end import ended, left, still_waits
from portico.interfaces.cli.workflow_lines import told
from portico.interfaces.cli.workflow_news import Followed


def followed_to_the_end(
    server: Server, run: str, at: Terminal, *, events: bool = False, stay: bool = False
) -> int:
    """Raises `WorkflowNotDone`, `WorkflowWaits`."""
    from portico.interfaces.cli.workflow_watch import How, can_be_watched, watched

    followed = Followed.of(server, run)
    if can_be_watched(at):
        how = watched(followed, at)
        if how is not How.OVER:
            return left(followed, at, Exit.INTERRUPTED)
        return ended(followed, at)
    try:
        over = told(followed, at, events=events, stay=stay)
    except KeyboardInterrupt:
        return left(followed, at, Exit.INTERRUPTED)
    if not over:
        raise still_waits(followed)
    return ended(followed, at)
