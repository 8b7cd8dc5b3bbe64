"""A table on the bridge, seen through the console."""

import re
from dataclasses import dataclass

from tests.interfaces.console.conftest import Browser
from tests.interfaces.http.table import Table, laid

_TAG = re.compile(r"<[^>]+>")


@dataclass
class Scene:
    """Ana, a person who is cleared for all, at the console; `scout` (confidential) and `robin`
    (team) are agents. All three take part in a conversation of the team."""

    console: Browser
    table: Table

    @property
    def project(self) -> str:
        return f"/bridge/{self.table.project}"

    @property
    def at(self) -> str:
        return f"{self.project}/{self.table.conversation}"

    async def says(self, text: str, **more: object) -> str:
        """By scout: the id of the message."""
        sent = await self.table.scout.says(self.table.conversation, text, **more)
        return str(sent["id"])

    async def also(self, title: str, label: str) -> str:
        """Another conversation of Ana's in the same project: where it is."""
        made = await self.table.ana.got(
            "POST",
            "/conversations",
            {"project": self.table.project, "title": title, "label": label},
        )
        return f"{self.project}/{made['id']}"


async def staged(console: Browser) -> Scene:
    return Scene(console, await laid(console.site))


def words(html: str) -> str:
    """What a person reads of it, in one line."""
    return " ".join(_TAG.sub(" ", html).split())
