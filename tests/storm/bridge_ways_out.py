"""Every way in which something can come out of the bridge, and what the oracle finds in it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from portico.kernel.errors import PorticoError
from tests.storm import ways_out_by_errors as errors
from tests.storm import ways_out_of_talk as talk
from tests.storm import ways_out_of_things as things
from tests.storm.bridge_lattice import CANARY
from tests.storm.bridge_tally import Judged
from tests.storm.bridge_told import as_text, refusal
from tests.storm.bridge_visit import Visit
from tests.storm.named import name_of

Way = Callable[[Visit], Awaitable[object]]

_WAYS: Sequence[Way] = (
    talk.list_projects,
    talk.show_project,
    talk.list_conversations,
    talk.show_conversation,
    talk.list_participants,
    talk.read_messages,
    talk.look_back,
    talk.tail_cursor,
    talk.show_message,
    talk.read_thread,
    talk.show_versions,
    talk.list_acknowledged,
    talk.list_declassifications,
    talk.inbox,
    talk.unread_total,
    talk.search_words,
    talk.search_meaning,
    talk.who_am_i,
    talk.name_people,
    things.recall,
    things.memory_history,
    things.list_memory,
    things.search_memory,
    things.fetch_attachment,
    things.list_leases,
    things.check_lease,
    things.show_work,
    things.list_work,
    things.list_presence,
    errors.errors_of_talk,
    errors.errors_of_things,
)
_COSTLY: Sequence[Way] = (
    talk.read_to_the_end,
    talk.mark_one,
    talk.propose_declassification,
    talk.wait_for_more,
    talk.follow,
    things.export,
)
"""Each asks the database many times, or writes."""
WAYS_OUT: Mapping[str, Way] = {name_of(way): way for way in (*_WAYS, *_COSTLY)}
CHANCES = [name_of(way) for way in (*_WAYS, *_WAYS, *_WAYS, *_COSTLY)]


async def visited(visit: Visit, name: str) -> Judged:
    calls, outcome = 1, "answered"
    try:
        told = await WAYS_OUT[name](visit)
        calls = visit.calls
    except PorticoError as error:
        told, outcome = refusal(error), error.code
    text = as_text(told)
    found = visit.world.book.leaks(
        text,
        way=name,
        who=str(visit.who.id),
        cleared=visit.cleared,
        asked=as_text(visit.asked),
    )
    return Judged(calls, outcome, len(CANARY.findall(text)), [*found, *visit.wrong])
