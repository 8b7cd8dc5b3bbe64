"""The running server, as it is asked about agents and models: of a name that nothing has, it is
said which one may be meant."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import unquote

from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Refused, Server
from portico.kernel.errors import PorticoError

_NO_MODEL: Final = frozenset({"no_such_model", "provider_not_found", "bad_model"})


class AgentServer(Server):
    def lines(self, path: str) -> Iterator[str]:
        with self._hinting(path, None):
            yield from super().lines(path)

    def check_model(self, model: str) -> None:
        """Raises `Refused` if nobody provides it; what else is in the way shows when it is
        asked."""
        try:
            self.get(model_path(model))
        except Refused as error:
            if error.code in _NO_MODEL:
                raise

    def _ask(self, method: str, path: str, **sent: Any) -> Any:  # noqa: ANN401 # JSON, shown as it is
        with self._hinting(path, sent.get("json")):
            return super()._ask(method, path, **sent)

    @contextmanager
    def _hinting(self, path: str, body: object) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            with suppress(PorticoError):  # whoever may not list them is told less
                meant = self._meant(error, path, body)
                if meant:
                    error.fix = " ".join(filter(None, [f"Did you mean {meant}?", error.fix]))
            raise

    def _meant(self, error: Refused, path: str, body: object) -> str | None:
        """Among the names that there are."""
        wrong = ""
        names: Iterator[str] = iter(())
        if error.code == "agent_not_found":
            wrong = unquote(path.split("/")[2])
            names = (str(each["name"]) for each in self.pages("/agents"))
        elif wrong := _wrong_model(error, path, body):
            names = (str(each["model"]) for each in self.get("/models"))
        return next(iter(get_close_matches(wrong, names, n=1)), None) if wrong else None


def model_path(model: str) -> str:
    """Names of models have slashes."""
    return path_to("models", *model.split("/"))


def _wrong_model(error: Refused, path: str, body: object) -> str:
    amiss = error.code in _NO_MODEL or any(flaw.field == "model" for flaw in error.flaws)
    if not amiss:
        return ""
    if isinstance(body, Mapping):
        return str(body.get("model", ""))
    return unquote(path.removeprefix("/models/")) if path.startswith("/models/") else ""
