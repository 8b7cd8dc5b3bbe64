"""The key of a client that comes over HTTP: its own, of an agent that is named after it."""

from types import TracebackType
from typing import Any, Self

from portico.interfaces.cli.house import House
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server


class ClientKey:
    """Made for as long as it takes to write it down: if that fails, nobody has it."""

    def __init__(self, house: House, client: str) -> None:
        self._server = Server(house)
        self._client = client
        self.id = ""
        self.text = ""

    def __enter__(self) -> Self:
        made = self._made()
        self.id, self.text = made["id"], made["key"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is not None:
            revoke(self._server, self.id)

    def _made(self) -> Any:  # noqa: ANN401 # JSON, as the server gives it
        wish = {"name": self._client, "agent": True}
        try:
            return self._server.post("/keys", wish)
        except Refused as refused:
            holder = self._agent() if refused.code == "name_taken" else None
            if holder is None:
                raise
        return self._server.post("/keys", {"name": self._client, "principal": holder})

    def _agent(self) -> str | None:
        """Who was connected before; a person of that name is nobody to give a program's key to."""
        for each in self._server.pages("/principals"):
            if each["name"] == self._client and each["kind"] == "agent":
                return str(each["id"])
        return None


def revoke(server: Server, key: str) -> None:
    server.delete(path_to("keys", key))
