"""Beginning one leg at once: out of the line, as DBOS's own threads do when their time to look
comes, or without its having stood there.

DBOS has no call for the first: its queues are looked at every so often and never woken. What is
used here of its inside is what its own look uses, and the version of it is pinned.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from dbos import DBOS, SetWorkflowID
from dbos._core import WorkflowHandleAsyncPolling, execute_dequeued_workflow
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue
from dbos._utils import GlobalParams, generate_uuid

_WIDE: Final = 10
"""A line where fewer may be at once is left to DBOS's threads: there one more would be too many."""


def has_room(name: str, most: int) -> bool:
    """Whether more could be taken out of that line here, so that nobody is likely to wait in it."""
    dbos: DBOS = _get_dbos_instance()
    return most >= _WIDE and dbos._active_workflows_set.count_for_queue(name) < most


def begin_one(leg: Callable[[str], Coroutine[Any, Any, None]], name: str) -> bool:
    """Carry one out that has never stood in line; False if it has, or somebody has begun it.

    In DBOS's own loop: in any other it would put its threads in place of that loop's own.
    """

    async def begin() -> bool:
        with SetWorkflowID(name):
            begun = await DBOS.start_workflow_async(leg, name)
        return not isinstance(begun, WorkflowHandleAsyncPolling)

    dbos: DBOS = _get_dbos_instance()
    begun: bool = dbos._background_event_loop.submit_coroutine(begin())
    return begun


def take_one(name: str) -> None:
    """Whoever is first in the line of this name, if there is room here. One at a time, so that its
    threads, who count for themselves, come to no more than one beyond what may be at once."""
    dbos: DBOS = _get_dbos_instance()
    queue: Queue | None = dbos._sys_db.get_queue(name)
    most = 0 if queue is None else queue._worker_concurrency or 0
    if queue is None or queue._has_partition_limits() or most < _WIDE:
        return
    running = dbos._active_workflows_set.count_for_queue(name)
    owner = generate_uuid()
    legs, _ = dbos._sys_db.start_queued_workflows(
        queue,
        GlobalParams.executor_id,
        GlobalParams.app_version,
        None,
        max(running, most - 1),
        owner_xid=owner,
    )
    for status in dbos._sys_db.get_workflow_statuses(legs):
        execute_dequeued_workflow(dbos, status, owner)
