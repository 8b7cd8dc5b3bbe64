"""Which agents somebody wants to see."""

from portico.agents.core.agent import AgentFilter, AgentSpec
from portico.guard.core.rules import fits


def takes(which: AgentFilter, spec: AgentSpec) -> bool:
    """Words are looked for without regard to capitals; all that is asked for must be so."""
    text = None if which.text is None else which.text.casefold()
    return (
        (text is None or text in spec.name.casefold() or text in spec.description.casefold())
        and (which.tag is None or which.tag in spec.tags)
        and (which.model is None or which.model in (spec.model, *spec.fallbacks))
        and (which.tool is None or fits(which.tool, spec.tools))
    )
