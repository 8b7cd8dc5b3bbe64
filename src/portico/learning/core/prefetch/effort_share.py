"""How much of the time goes into something: a share of it, and a little that was saved up."""

from dataclasses import dataclass


@dataclass(slots=True)
class EffortShare:
    """Times are seconds."""

    share: float
    left: float
    most: float
    """That may be saved up."""
    _seen: float | None = None

    def may(self, now: float) -> bool:
        gone = 0.0 if self._seen is None else max(0.0, now - self._seen)
        self._seen = now
        self.left = min(self.most, self.left + gone * self.share)
        return self.left > 0

    def spent(self, seconds: float) -> None:
        self.left -= seconds
