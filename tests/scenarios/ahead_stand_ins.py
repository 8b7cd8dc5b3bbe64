"""What stands around calling ahead, and is not of interest here."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from portico.gateway.core.ahead.layer import Increment, Layer
from portico.gateway.core.ahead.predicted import Predicted
from portico.gateway.core.ahead.window import SeenCall
from portico.gateway.core.learnt import ToolPlace
from portico.guard.core.act import Act
from portico.guard.core.errors import KeyEnded
from portico.kernel.ids import ContextId
from portico.kernel.label import meet
from portico.kernel.principal import Principal
from tests.scenarios.ahead_scene import Scene


class OneProcess:
    """Nothing is changed elsewhere."""

    async def changed_since(self, act: Act, since: datetime) -> bool:
        return False


class Uncounted:
    """Takes what is counted, and nobody reads it."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return _uncounted


def _uncounted(*_: object, **__: object) -> None: ...


class AsTheyAreNow:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def no_more(
        self, worker: Principal, *, key: str | None, at: ContextId | None
    ) -> Principal:
        if (str(worker.id), key) in self._scene.revoked:
            raise KeyEnded(str(key))
        now = self._scene.as_now(worker)
        return replace(
            now,
            scopes=frozenset(now.scopes & worker.scopes),
            clearance=meet(now.clearance, worker.clearance),
            context=at,
        )


class Silent:
    """Foretells nothing: the world does, in its place."""

    def saw(self, call: SeenCall, layer: Layer) -> Sequence[Increment]:
        return ()

    def told(self, text: str) -> None: ...

    def ahead(
        self, layers: Sequence[Layer], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]:
        return ()

    def end(self, layer: Layer) -> Sequence[Increment]:
        return ()
