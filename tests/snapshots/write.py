"""Writes what is kept anew: python -m tests.snapshots.write"""

import asyncio

from tests.snapshots.files import write
from tests.snapshots.help import helps
from tests.snapshots.listings import listings
from tests.snapshots.screens import drawn

if __name__ == "__main__":
    write("help", helps())
    write("mcp", asyncio.run(listings()))
    write("screens", drawn().screens)
