"""Takes one wall of the bridge away, to see what the others hold."""

import psycopg
import pytest
from psycopg import sql

from portico.adapters.postgres import bridge_walls
from portico.adapters.postgres.addresses import Addresses
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES
from tests.storm.walled_house import TOP

_SEES_ALL = """
    CREATE OR REPLACE FUNCTION portico.bridge_sees(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
    CREATE OR REPLACE FUNCTION portico.own_conversations()
        RETURNS uuid[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = portico, pg_temp
        AS 'SELECT coalesce(array_agg(c.conversation_id), ''{}'') FROM portico.conversation c';
"""
_MARK_OFF = """
    CREATE OR REPLACE FUNCTION portico.mark_covered(its_level smallint, its_compartments text[])
        RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
"""


def without_the_second_wall(addresses: Addresses) -> None:
    """No row-level security, and functions that ask nothing of their own."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        for table in BRIDGE_TABLES:
            off = sql.SQL("ALTER TABLE portico.{} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier(table)))
        admin.execute(_SEES_ALL.encode())


def without_the_first_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement says that its caller may see all, closed conversations too."""

    def all_of_it(caller: Principal) -> tuple[Label, bool]:  # anybody's
        return TOP, True

    monkeypatch.setattr(bridge_walls, "first_wall", all_of_it)


def without_the_wall_below(addresses: Addresses) -> None:
    """The database takes what is less secret than what its writer has read."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        admin.execute(_MARK_OFF.encode())
