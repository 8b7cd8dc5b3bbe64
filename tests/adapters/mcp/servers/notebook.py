"""A notebook: pages that can be listed, read and written, slowly, and what it was asked to do."""

import time

from tests.adapters.mcp.servers.speech import Message, Speaker, content

SLOWLY = 0.06


class Notebook(Speaker):
    def __init__(self) -> None:
        super().__init__()
        self.pages = {f"page-{number:04}": f"the text of {number}" for number in range(100)}
        self.made: list[str] = []
        self.tools = {
            "open": opened,
            "read": read,
            "write": write,
            "confide": confide,
            "made": made,
        }


def opened(book: Speaker, params: Message) -> Message:
    """Which page a word is on."""
    assert isinstance(book, Notebook)
    word = str(params["arguments"]["word"])
    book.made.append(f"open {word}")
    time.sleep(SLOWLY)
    page = f"page-{sum(map(ord, word)) % 100:04}"
    return {**content(f'{{"page": "{page}"}}'), "structuredContent": {"page": page}}


def read(book: Speaker, params: Message) -> Message:
    assert isinstance(book, Notebook)
    page = str(params["arguments"]["page"])
    book.made.append(f"read {page}")
    time.sleep(float(params["arguments"].get("seconds", SLOWLY)))
    return content(book.pages[page])


def write(book: Speaker, params: Message) -> Message:
    assert isinstance(book, Notebook)
    book.made.append("write")
    book.pages[params["arguments"]["page"]] = params["arguments"]["text"]
    return content("written")


def confide(book: Speaker, _params: Message) -> Message:
    """It wants to know something of its caller, and goes on without."""
    asked = {"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {}}}
    answer = book.ask("elicitation/create", asked)
    return content(f"told {answer.get('result', 'nothing')}")


def made(book: Speaker, _params: Message) -> Message:
    assert isinstance(book, Notebook)
    return content(f"{'; '.join(book.made)} | cancelled {len(book.cancelled)}")


def main() -> None:
    Notebook().run()
