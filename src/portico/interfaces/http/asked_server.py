"""The web server, which tells somebody else as well that it was asked to end."""

from collections.abc import Callable
from types import FrameType

import uvicorn


class AskedServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, asked: Callable[[], None]) -> None:
        super().__init__(config)
        self._asked = asked

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._asked()
        super().handle_exit(sig, frame)
