"""`portico agents chat`: a talk with an agent, at a terminal or through a pipe."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from portico.interfaces.cli.agent_follow import (
    WHILE_IT_WORKS,
    Left,
    Question,
    heard,
    is_command,
    started,
    watched,
)
from portico.interfaces.cli.agent_runs import run_and_agent
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.agent_talk import Talked
from portico.interfaces.cli.agent_words import plain
from portico.interfaces.cli.errors import AgentNotDone, BadUsage
from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.run_names import SHORT
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.errors import PorticoError

_PROMPT: Final = "you> "
_HELP: Final = f"""/model NAME   ask another model from now on; alone: which one is asked
/tools        what it may use
/new          forget what was said, and begin anew
/quit         leave, as Ctrl-D does
{WHILE_IT_WORKS}"""
_DONE: Final = frozenset({"completed", "stopped"})


def chat(  # noqa: PLR0913 # each an option
    name: str,
    message: str | None = None,
    /,
    *,
    model: str | None = None,
    continues: str | None = None,
    thoughts: bool = False,
    wait: bool = False,
    at: At,
) -> int:
    """Talk to an agent: its words as they come, its tools as it uses them, and what it asks to be
    allowed is asked right here. Through a pipe: one question, and its answer.

    portico agents chat helper "What is in my notes?"

    Parameters
    ----------
    name
        Which agent.
    message
        What to begin with. Without a terminal it may come from standard input.
    model
        Ask this one instead of the agent's own: provider:model.
    continues
        The run to go on with: its id, or six letters or more of its beginning or its end.
    thoughts
        Also show what the model thinks, where it says so.
    wait
        Without a terminal: if somebody has to approve something, until they have.
    """
    server = AgentServer(at.house)
    if continues is not None:
        continues, other = run_and_agent(server, continues)
        if other not in (None, name):
            at.say(f"That was a run of {other}: {name} goes on with what was said in it.")
    if model is not None:
        server.check_model(model)
    talk = _Talk(server, at, name, model=model, continues=continues, thoughts=thoughts)
    if not _somebody_there(at):
        return talk.once(_given(message), wait=wait)
    server.get(path_to("agents", name))
    return talk.go_on(message)


def _somebody_there(at: Terminal) -> bool:
    typing = sys.stdin.isatty() and sys.stdout.isatty()
    return typing and not at.json and not at.no_input


def _given(message: str | None) -> str:
    """Raises `BadUsage`."""
    text = message if message is not None or sys.stdin.isatty() else sys.stdin.read()
    if not text or not text.strip():
        raise BadUsage("Nothing was said to it.", fix='portico agents chat NAME "A question"')
    return text


@dataclass
class _Talk:
    server: AgentServer
    at: Terminal
    agent: str
    model: str | None
    continues: str | None
    thoughts: bool

    def once(self, message: str, *, wait: bool) -> int:
        """Raises `AgentWaits`, `AgentNotDone`."""
        run = started(self.server, self._question(message))
        talked = Talked(self.at, thoughts=self.thoughts)
        heard(self.server, run, talked, wait=wait)
        ended = talked.ended
        if ended is None or ended["status"] not in _DONE:
            raise AgentNotDone(run, ended)
        if self.at.json:
            self.at.data({**ended, "run": run, "tools": talked.tools}, "")
        return Exit.OK

    def go_on(self, message: str | None) -> int:
        """Until whoever talks leaves."""
        with suppress(ImportError):
            import readline  # noqa: F401 # lines can be edited then
        self.at.say(f"Talking to {self.agent}. /help shows what else can be typed; Ctrl-D leaves.")
        while True:
            text = message if message is not None else self._asked()
            message = None
            if text is None:
                return self._left()
            try:
                if is_command(text):
                    if not self._told(text):
                        return self._left()
                elif text.strip():
                    self._answered(text)
            except Left as left:
                return self._gone(left)
            except PorticoError as error:
                self.at.fail(error)

    def _asked(self) -> str | None:
        print(file=sys.stderr)
        try:
            return input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            print(file=sys.stderr)
            return None

    def _answered(self, text: str) -> None:
        """Raises `Left`, and what the server refuses."""
        run = started(self.server, self._question(text))
        talked = Talked(self.at, thoughts=self.thoughts)
        watched(self.server, run, talked)
        self.continues = run
        ended = talked.ended
        if ended is not None and ended["status"] not in _DONE:
            self.at.fail(AgentNotDone(run, ended))

    def _told(self, text: str) -> bool:
        """Whether to go on after a word of command. Raises what the server refuses."""
        word, _, rest = text.partition(" ")
        match word:
            case "/quit" | "/exit" | "/leave":
                return False
            case "/model":
                if model := rest.strip():
                    self.server.check_model(model)
                    self.model = model
                self.at.say(f"Asking {self.model or 'the model of the agent'}.")
            case "/new":
                self.continues = None
                self.at.say("What was said is forgotten.")
            case "/tools":
                found = self.server.get(path_to("agents", self.agent))["tools"]
                self.at.say(plain("\n".join(found)) or "It has no tools.")
            case "/stop":
                self.at.say("Nothing is running.")
            case "/help":
                self.at.say(_HELP)
            case _:
                self.at.say(f"There is no command {word}.\n{_HELP}")
        return True

    def _question(self, message: str) -> Question:
        return Question(
            agent=self.agent, message=message, continues=self.continues, model=self.model
        )

    def _gone(self, left: Left) -> int:
        """In the middle of an answer."""
        short = left.run[-SHORT:]
        if left.stopping:
            self.at.say(f"It was told to stop: portico agents trace {short}")
            return Exit.INTERRUPTED
        self.at.say(
            f"It goes on by itself. What came of it: portico agents trace {short}; "
            f"to say something to it: portico agents say {short} MESSAGE; "
            f"to stop it: portico agents stop {short}"
        )
        return Exit.OK

    def _left(self) -> int:
        if self.continues is not None:
            short = self.continues[-SHORT:]
            self.at.say(f"To go on later: portico agents chat {self.agent} --continues {short}")
        return Exit.OK
