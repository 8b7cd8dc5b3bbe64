"""How far somebody has heard what a model says, of which some is told twice and some is void."""

from dataclasses import dataclass

from portico.agents.core.happening import TextAdded, ThoughtAdded


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Of its words; its thoughts are another one."""

    turn: int = 0
    attempt: int = 0
    length: int = 0
    fresh: str = ""
    """What of the last piece had not been heard before."""
    anew: bool = False
    """With the last piece it began again, and what had been heard of this turn is void."""

    def misses(self, piece: TextAdded | ThoughtAdded) -> bool:
        """Whether something before it has not been heard."""
        place, here = (piece.turn, piece.attempt), (self.turn, self.attempt)
        return place >= here and piece.offset > (self.length if place == here else 0)

    def after(self, piece: TextAdded | ThoughtAdded) -> "Spoken":
        place, here = (piece.turn, piece.attempt), (self.turn, self.attempt)
        if place < here:
            return Spoken(turn=self.turn, attempt=self.attempt, length=self.length)
        heard = self.length if place == here else 0
        return Spoken(
            turn=piece.turn,
            attempt=piece.attempt,
            length=max(heard, piece.offset + len(piece.text)),
            fresh=piece.text[max(heard - piece.offset, 0) :],
            anew=place > here and piece.turn == self.turn and self.length > 0,
        )
