"""Two voices of a debate that do not guess: they speak OpenAI's protocol and answer by arithmetic.

python counting_voice.py PORT
"""

import json
import re
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def by_division(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, int(number**0.5) + 1))


def by_fermat(number: int) -> bool:
    """Right for most numbers, and so less sure."""
    return number > 1 and all(pow(base, number, number) == base % number for base in (2, 3, 5))


VOICES: dict[str, tuple[Callable[[int], bool], float]] = {
    "sieve": (by_division, 0.99),
    "fermat": (by_fermat, 0.9),
}


def vote(model: str, question: str) -> dict[str, object]:
    """What a voice says: an answer, how sure it is, and why."""
    asked = re.search(r"(\d+) a prime", question)
    if asked is None:
        return {"answer": "no", "confidence": 0.5, "rationale": "I know nothing but primes."}
    method, sure = VOICES[model]
    answer = "yes" if method(int(asked[1])) else "no"
    return {"answer": answer, "confidence": sure, "rationale": f"{method.__name__} says so."}


class Voice(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # which models there are
        models = [{"id": name, "object": "model"} for name in VOICES]
        self.begin("application/json")
        self.wfile.write(json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:  # one question, answered in one piece
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = json.dumps(vote(asked["model"], json.dumps(asked["messages"])))
        delta = {"role": "assistant", "content": said}
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}],
        }
        self.begin("text/event-stream")
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Voice).serve_forever()
