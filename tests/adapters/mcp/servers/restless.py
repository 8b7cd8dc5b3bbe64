"""A server that says, whenever it is asked what it offers, that this has changed."""

from tests.adapters.mcp.servers.speech import Message, Speaker


class Restless(Speaker):
    def answer(self, request: Message) -> None:
        super().answer(request)
        if request["method"] == "tools/list":
            self.send({"method": "notifications/tools/list_changed"})


def main() -> None:
    Restless().run()
