"""A server written for an SDK so old that it ends when it is greeted in a way it does not know."""

import os
import sys
from pathlib import Path

from tests.adapters.mcp.servers.speech import Message, Speaker, say_to_people


class Old(Speaker):
    def result(self, request: Message) -> Message | None:
        if request["method"] == "server/discover":
            say_to_people("pydantic_core.ValidationError: server/discover")
            os._exit(1)
        return super().result(request)


def main() -> None:
    with Path(sys.argv[1]).open("a") as starts:
        starts.write("started\n")
    Old().run()
