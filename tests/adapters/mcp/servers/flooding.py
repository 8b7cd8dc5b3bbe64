"""A server that talks without end, to us and to people, and answers in between."""

import sys
import threading

from tests.adapters.mcp.servers.speech import Message, Speaker


class Flooding(Speaker):
    def flood(self) -> None:
        while True:
            self.send({"method": "notifications/message", "params": {"data": "x" * 4000}})

    def shout(self) -> None:
        while True:
            sys.stderr.write("y" * 4000 + "\n")


def endless(_speaker: Speaker, _params: Message) -> Message:
    while True:
        sys.stdout.write("z" * 100_000)


def main() -> None:
    speaker = Flooding()
    speaker.tools["endless"] = endless
    if "stderr" in sys.argv:
        threading.Thread(target=speaker.shout, daemon=True).start()
    if "stdout" in sys.argv:
        threading.Thread(target=speaker.flood, daemon=True).start()
    speaker.run()
