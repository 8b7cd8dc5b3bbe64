"""Taking one leg out of the line at once, as DBOS's own threads do when their time to look comes.

DBOS has no call for this: its queues are looked at every so often and never woken. What is used
here of its inside is what its own look uses, and the version of it is pinned.
"""

from typing import Final

from dbos import DBOS
from dbos._core import execute_dequeued_workflow
from dbos._dbos import _get_dbos_instance
from dbos._queue import Queue
from dbos._utils import GlobalParams, generate_uuid

_WIDE: Final = 10
"""A line where fewer may be at once is left to DBOS's threads: there one more would be too many."""


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
