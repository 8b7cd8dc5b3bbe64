"""What the database itself holds of logins: nothing that can be read, and nothing for others."""

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.transaction import SET_CONTEXT, context
from portico.guard.core.oauth_logins import LoginPlace, digest_of
from tests.contracts.doors import Doors
from tests.contracts.test_logins import a_town, begun, tokens

pytestmark = [pytest.mark.postgres]


@pytest.fixture
async def places(doors: Doors) -> tuple[LoginPlace, LoginPlace]:
    """Ana's and Ben's, who are logged in and about to do so again."""
    _, ana, ben = await a_town(doors)
    for place, name in ((ana, "ana"), (ben, "ben")):
        await doors.logins.put(place, tokens(name))
        await doors.logins.put_attempt(digest_of(name), begun(place))
    return ana, ben


@pytest.mark.usefixtures("places")
async def test_no_token_and_no_secret_can_be_read_in_the_database(
    embedded_database: Addresses,
) -> None:
    with psycopg.connect(str(embedded_database.owner)) as owner:
        rows = owner.execute(
            "SELECT sealed FROM portico.login UNION ALL SELECT sealed FROM portico.login_attempt"
        ).fetchall()

    assert len(rows) == 4
    for (sealed,) in rows:
        assert b"access" not in sealed
        assert b"hush" not in sealed


async def test_the_wall_hides_everybody_elses_logins(
    embedded_database: Addresses, places: tuple[LoginPlace, LoginPlace]
) -> None:
    ana, _ = places

    with psycopg.connect(embedded_database.app) as app:
        everybody = [
            app.execute(f"SELECT count(*) FROM portico.{table}".encode()).fetchone()
            for table in ("login", "login_attempt")
        ]
        app.execute(SET_CONTEXT, context(ana.holder))
        own = [
            app.execute(f"SELECT DISTINCT principal_id FROM portico.{table}".encode()).fetchall()
            for table in ("login", "login_attempt")
        ]
        changed = app.execute("UPDATE portico.login SET sealed = 'x'").rowcount

    assert everybody == [(0,), (0,)]
    assert own == [[(ana.principal.value,)]] * 2
    assert changed == 1


async def test_what_is_copied_from_one_person_to_another_opens_for_neither(
    doors: Doors, embedded_database: Addresses, places: tuple[LoginPlace, LoginPlace]
) -> None:
    ana, ben = places
    with psycopg.connect(str(embedded_database.owner)) as owner:
        owner.execute(
            "UPDATE portico.login SET sealed = (SELECT sealed FROM portico.login"
            " WHERE principal_id = %s) WHERE principal_id = %s",
            [ana.principal.value, ben.principal.value],
        )

    assert await doors.logins.get(ana) == tokens("ana")
    assert await doors.logins.get(ben) is None
