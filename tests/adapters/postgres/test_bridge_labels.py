"""A space has so many labels in use and no more: each counter has a place for each of them."""

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.bridge.core.errors import TooManyLabels
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root
from tests.contracts.bridge_talk import a_conversation, at, edited, say
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

FULL = """
    INSERT INTO portico.bridge_label (space_id, number, level, compartments)
    SELECT %s, number, 3, ARRAY['c' || number] FROM generate_series(2, 8192) number
"""


async def test_one_label_more_than_there_can_be_is_refused_and_those_in_use_go_on(
    doors: Doors, embedded_database: Addresses
) -> None:
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    said = await say(doors, root, talk, "one", label=TEAM)
    with psycopg.connect(str(embedded_database.admin), autocommit=True) as admin:
        admin.execute(FULL, [root.space.value])

    with pytest.raises(TooManyLabels) as refused:
        await say(doors, root, talk, "two", label=FINANCE)
    with pytest.raises(TooManyLabels):
        await doors.messages.edit(root, edited(said.message, "three", FINANCE), at(3))

    assert refused.value.label == FINANCE
    assert (await say(doors, root, talk, "four", label=TEAM)).place == 2
