"""An embedder that speaks OpenAI's `/v1/embeddings`: vectors of letters, three at a time.

It knows no meanings, only spellings; yours would ask a model here.

python letters_embedder.py PORT
"""

import json
import sys
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 256


def vector(text: str) -> list[float]:
    """Always the same for the same text: Portico keeps vectors by what they were made of."""
    counts = [0.0] * DIMENSIONS
    letters = f" {text.lower()} "
    for at in range(len(letters) - 2):
        digest = blake2b(letters[at : at + 3].encode(), digest_size=4).digest()
        counts[int.from_bytes(digest) % DIMENSIONS] += 1.0
    return counts


class Embedder(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [
            {"object": "embedding", "index": at, "embedding": vector(text)}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        answer = {"object": "list", "model": asked["model"], "data": data, "usage": usage}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Embedder).serve_forever()
