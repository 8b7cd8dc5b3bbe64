"""What ends the truth of an answer that was read ahead of time."""

import json

from portico.gateway.core.calls import Answer
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import Act
from portico.kernel.effect import Effect
from portico.learning.core.prefetch.buffer import Held
from portico.learning.core.prefetch.switches import AheadMode, Switches


def switched_on(switches: Switches, server: Server, act: Act) -> bool:
    """Whether it may be made ahead of time by what somebody has switched on."""
    leaves = act.aim.outside or act.aim.effect.rank > Effect.LOCAL_READ.rank
    live = switches.mode_of(server) is AheadMode.LIVE
    return live and (not leaves or switches.external_for(server))


def touched(change: Act, held: Held) -> bool:
    """Whether what was read can be another after this: by the same principal, who may have changed
    it by another way; or by whomever, at the same server or at another that runs here too."""
    caller, place, read = change.caller, held.key.place, held.act.aim
    same = caller.id == place.principal or change.aim.server == read.server
    return caller.space == place.space and (same or (change.aim.here and read.here))


def size_of(answer: Answer) -> int:
    """What it takes up, in characters."""
    whole = [list(answer.content), answer.structured, answer.meta]
    return len(json.dumps(whole, default=dict))
