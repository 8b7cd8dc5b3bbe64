"""Bugs to plant in the doors of debates, to see whether the oracle finds them; and walls to take
away."""

from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql

from portico.adapters.postgres.addresses import Addresses
from tests.adapters.postgres.debate_town import DEBATE_TABLES
from tests.storm.bridge_bugs import AsAnother, cleared_for_all
from tests.storm.bridge_walls_off import without_the_second_wall
from tests.storm.debate_house import DebateHouse


@dataclass(frozen=True)
class DebateBug:
    door: str
    name: str

    def in_(self, house: DebateHouse) -> DebateHouse:
        wrong: Any = AsAnother(getattr(house.doors, self.door), (self.name,), cleared_for_all)
        return replace(house, doors=replace(house.doors, **{self.door: wrong}))


DEBATE_BUGS = {
    "a page over all labels": DebateBug("blackboard", "page"),
    "one debate of any label": DebateBug("blackboard", "read"),
    "records of any label": DebateBug("outcomes", "known"),
    "a seat at any table": DebateBug("seats", "seat"),
    "a sum over all labels": DebateBug("purse", "project"),
}


def without_the_second_wall_of_debates(addresses: Addresses) -> None:
    without_the_second_wall(addresses)
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        for table in DEBATE_TABLES:
            off = sql.SQL("ALTER TABLE portico.{} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier(table)))
