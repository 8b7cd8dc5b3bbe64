"""A server that leaves alone what it does not know, instead of saying so."""

from tests.adapters.mcp.servers.speech import Message, Speaker


class Silent(Speaker):
    def result(self, request: Message) -> Message | None:
        result = super().result(request)
        return None if result is not None and "error" in result else result


def main() -> None:
    Silent().run()
