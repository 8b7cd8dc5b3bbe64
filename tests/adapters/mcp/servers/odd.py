"""Small servers, each odd in its own way; all but the one that cannot start speak the older era."""

import os
import signal
import sys
import threading
from pathlib import Path

from tests.adapters.mcp.servers.speech import Message, Speaker, say_to_people


def crashing() -> None:
    """A server that cannot start, and says why; the secret it was given is in its words."""
    sys.stderr.write(f"cannot log in with {os.environ.get('TOKEN', 'nothing')}\n")
    sys.exit(3)


def plain() -> None:
    """A server of the older era that does all that it is asked for."""
    say_to_people(f"started with {sys.argv[1:]}")
    Speaker().run()


class Silent(Speaker):
    def result(self, request: Message) -> Message | None:
        result = super().result(request)
        return None if result is not None and "error" in result else result


def silent() -> None:
    """A server that leaves alone what it does not know, instead of saying so."""
    Silent().run()


class Restless(Speaker):
    def answer(self, request: Message) -> None:
        super().answer(request)
        if request["method"] == "tools/list":
            self.send({"method": "notifications/tools/list_changed"})


def restless() -> None:
    """A server that says, whenever it is asked what it offers, that this has changed."""
    Restless().run()


class Hung(Speaker):
    def result(self, request: Message) -> Message | None:
        deaf = "deaf" in sys.argv
        unanswered = "tools/list" if "listless" in sys.argv else "tools/call"
        return None if deaf or request["method"] == unanswered else super().result(request)


def hung() -> None:
    """Answers the greeting and its list, and to calls nothing, ever; or not even that. With
    `listless` it is the list that it never gives."""
    Hung().run()


class Deep(Speaker):
    def answer(self, request: Message) -> None:
        if request["method"] != "tools/call" or request["params"]["name"] != "deep":
            super().answer(request)
            return
        levels = int(os.environ["DEPTH"])
        nested = "[" * levels + "]" * levels
        sys.stdout.write(f'{{"id": {request["id"]}, "result": {{"content": {nested}}}}}\n')
        sys.stdout.flush()


def deep() -> None:
    """A server with a tool whose answer is nested as deeply as `DEPTH` says."""
    Deep().run()


class Old(Speaker):
    def result(self, request: Message) -> Message | None:
        if request["method"] == "server/discover":
            say_to_people("pydantic_core.ValidationError: server/discover")
            os._exit(1)
        return super().result(request)


def old() -> None:
    """Written for an SDK so old that it ends when it is greeted in a way it does not know."""
    with Path(sys.argv[1]).open("a") as starts:
        starts.write("started\n")
    Old().run()


STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def parent() -> None:
    """Has children which do not want to end: one in its group, and one that left it."""
    import subprocess

    stubborn = "stubborn" in sys.argv
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    near = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN])
    far = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], start_new_session=True)
    Path(sys.argv[1]).write_text(f"{near.pid} {far.pid}")
    Speaker().run()
    if stubborn:
        near.wait()


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


def flooding() -> None:
    """A server that talks without end, to us and to people, and answers in between."""
    speaker = Flooding()
    speaker.tools["endless"] = endless
    if "stderr" in sys.argv:
        threading.Thread(target=speaker.shout, daemon=True).start()
    if "stdout" in sys.argv:
        threading.Thread(target=speaker.flood, daemon=True).start()
    speaker.run()
