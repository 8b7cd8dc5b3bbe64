"""A server with a tool whose answer is nested as deeply as `DEPTH` says."""

import os
import sys

from tests.adapters.mcp.servers.speech import Message, Speaker


class Deep(Speaker):
    def answer(self, request: Message) -> None:
        if request["method"] != "tools/call" or request["params"]["name"] != "deep":
            super().answer(request)
            return
        levels = int(os.environ["DEPTH"])
        nested = "[" * levels + "]" * levels
        sys.stdout.write(f'{{"id": {request["id"]}, "result": {{"content": {nested}}}}}\n')
        sys.stdout.flush()


def main() -> None:
    Deep().run()
