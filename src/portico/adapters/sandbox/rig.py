"""The lines between Portico and a launcher, strung before it is started."""

from contextlib import ExitStack

from portico.adapters.sandbox.descriptors import Descriptors
from portico.adapters.sandbox.talk import Lifeline, Talk


class Rig:
    """`undo` is what takes it down again if nothing comes of it."""

    def __init__(self, task: bytes, undo: ExitStack) -> None:
        self.descriptors = Descriptors()
        undo.callback(self.close)
        self.talk = Talk()
        self.lifeline = Lifeline()
        self.numbers = (
            self.descriptors.keep(self.talk.theirs()),
            self.descriptors.keep(self.lifeline.theirs()),
            self.descriptors.file("task", task),
        )
        """What the launcher is told to look at."""

    def close(self) -> None:
        self.descriptors.close()
        self.talk.close()
        self.lifeline.close()
