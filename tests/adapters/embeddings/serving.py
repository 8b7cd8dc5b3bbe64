"""A real HTTP server on this machine, for as long as a test needs it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route


@contextmanager
def serving(routes: Sequence[Route]) -> Iterator[str]:
    """Its address."""
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    listening.listen()  # who comes before it is ready waits
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
