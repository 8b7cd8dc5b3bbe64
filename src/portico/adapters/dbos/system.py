"""What every use of DBOS here agrees on: names, the form of what it stores, its own tables.

It stores ids and nothing else: its tables know no spaces.
"""

import logging
from typing import Final

from dbos import DBOSConfig
from dbos._serialization import DBOSPortableJSON

from portico.adapters.postgres.addresses import as_url

APPLICATION: Final = "portico"
VERSION: Final = "1"
"""Of how legs are stored. Left to itself DBOS would hash the program, and whatever was running
when Portico was upgraded would stay where it is for ever."""
LEG: Final = "portico.leg"
_SELDOM: Final = 0.5
"""Seconds between two looks for notices that are to be sent. None ever are, and left to itself it
looks a hundred times a second."""
SERIALIZER: Final = DBOSPortableJSON
"""Its own choice would be pickle: whoever can write the table could run code."""

logging.getLogger("dbos").addHandler(logging.NullHandler())  # else it makes one of its own


def configuration(engine: str, executor: str, pool_size: int) -> DBOSConfig:
    return {
        "name": APPLICATION,
        "system_database_url": as_url(engine),
        "sys_db_pool_size": pool_size,
        "application_version": VERSION,
        "executor_id": executor,
        "serializer": SERIALIZER,
        "run_migrations": False,
        "notification_coalesce_sec": _SELDOM,
        "log_level": "ERROR",
    }
