"""A server that answers the greeting and its list, and to calls nothing, ever; or not even that.
With `listless` it is the list that it never gives."""

import sys

from tests.adapters.mcp.servers.speech import Message, Speaker


class Hung(Speaker):
    def result(self, request: Message) -> Message | None:
        deaf = "deaf" in sys.argv
        unanswered = "tools/list" if "listless" in sys.argv else "tools/call"
        return None if deaf or request["method"] == unanswered else super().result(request)


def main() -> None:
    Hung().run()
