"""Run agents: chat, test, follow, list, steer, stop."""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal, NoReturn

from portico.agents.core.errors import AgentRunNotFound
from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.agent_events import ENDED, MOVED, WAITS, Talked
from portico.interfaces.cli.agent_files import AgentServer
from portico.interfaces.cli.agent_text import money, plain, run_row, tokens_of, trace_lines
from portico.interfaces.cli.approval_watch import SKIP, ApprovalKeys
from portico.interfaces.cli.errors import AgentNotDone, AgentWaits, Exit, InvalidUsage
from portico.interfaces.cli.keystrokes import Inbox, Keyboard
from portico.interfaces.cli.run_text import LATEST, SHORT, duration, find_run, named
from portico.interfaces.cli.server import Following, ReceivedEvent, Refused, Server, api_path
from portico.interfaces.cli.terminal import At, Terminal, moment
from portico.kernel.errors import PorticoError

_STOPPING: Final = "It stops as soon as it can; Ctrl-C again leaves without waiting for that."
_SAY: Final = "say> "
_LEAVES: Final = "\x04"
_COMMAND: Final = re.compile(r"/[A-Za-z?]+(\s|$)")
WHILE_IT_WORKS: Final = """While it works: type to say something to it; /stop or Ctrl-C stops it;
/leave or Ctrl-D leaves, and it goes on by itself."""
_AS_SKIPPED: Final = {"q": SKIP}
"""Who quits a request here does not quit the talk."""
_BROKE: Final = "error"
"""Said by the server where it cannot go on telling."""


class ListenerGone(Exception):
    """Whoever listened has gone; the run goes on, unless it was told to stop before."""

    def __init__(self, run: str, *, stopping: bool) -> None:
        super().__init__(run)
        self.run = run
        self.stopping = stopping


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more is told of it."""


News = ReceivedEvent | Over | PorticoError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    agent: str
    message: str
    continues: str | None = None
    model: str | None = None

    def body(self) -> dict[str, Any]:
        given = {"message": self.message, "continues": self.continues, "model": self.model}
        return {name: value for name, value in given.items() if value is not None}


def started(server: Server, question: Question) -> str:
    """The id of the run."""
    made = server.post(api_path("agents", question.agent, "runs"), question.body())
    return str(made["run"])


def heard(server: Server, run: str, talked: Talked, *, wait: bool) -> None:
    """Where nobody can be asked, to its end. Raises `AgentWaits` unless it is to wait."""
    try:
        for told in events(server, run, talked.at):
            talked.take(told)
            if told.type == WAITS and not wait:
                raise _waits(run, talked.at, told)
    except KeyboardInterrupt:
        talked.close_line()
        server.post(api_path("agents", "runs", run, "stop"))
        raise


def _waits(run: str, at: Terminal, told: ReceivedEvent) -> AgentWaits:
    waits = AgentWaits(run, told.data["tool"], told.data["approval"])
    if at.json:
        facts = {"tool": waits.tool, "approval": waits.approval}
        at.data({"run": run, "status": "waiting", **facts}, "")
    return waits


def is_command(text: str) -> bool:
    """`/stop` is one; what begins as a path does is not."""
    return _COMMAND.match(text) is not None


def events(server: Server, run: str, at: Terminal) -> Iterator[ReceivedEvent]:
    """All that is told of it, to its end. Raises `Refused` where no more can be told of it."""
    for told in Following(server, at.say)(api_path("agents", "runs", run, "events")):
        if told.type == _BROKE:
            raise Refused(503, told.data)
        yield told
        if told.type == ENDED:
            return


def watched(server: Server, run: str, talked: Talked) -> None:
    """At a terminal: what waits is asked for, and who types is heard. Raises `ListenerGone`."""
    inbox: Inbox[News] = Inbox()
    telling = threading.Thread(target=_telling, args=(server, run, talked.at, inbox), daemon=True)
    telling.start()
    keyboard = Keyboard(sys.stdin.fileno())
    with keyboard.open():
        _Watch(server, run, talked, inbox, keyboard).run()


def _telling(server: Server, run: str, at: Terminal, inbox: "Inbox[News]") -> None:
    try:
        for told in events(server, run, at):
            inbox.put(told)
        inbox.put(Over())
    except PorticoError as error:
        inbox.put(error)


@dataclass
class _Watch:
    server: Server
    run_id: str
    talked: Talked
    inbox: "Inbox[News]"
    keyboard: Keyboard
    stopping: bool = False
    answered: set[str] = field(default_factory=set)

    @property
    def at(self) -> Terminal:
        return self.talked.at

    def run(self) -> None:
        """Raises `ListenerGone`."""
        try:
            self._until_over()
        except KeyboardInterrupt:  # again, while it is being told to stop
            self._leave()

    def _until_over(self) -> None:
        while self.talked.ended is None:
            try:
                news = self.keyboard.key_or(self.inbox)
                if not self._happened(news):
                    return
                self._ask()
            except KeyboardInterrupt:
                self._stop()

    def _happened(self, news: "str | News") -> bool:
        """Whether more may come."""
        match news:
            case ReceivedEvent():
                self.talked.take(news)
            case Over():
                return False
            case PorticoError():
                raise news
            case str():
                self._typed(news)
        return True

    def _typed(self, key: str) -> None:
        """The first letter of something to say: the rest of the line is still being typed. Raises
        `ListenerGone`."""
        if key == _LEAVES:
            self._leave()
        if not key.isprintable() and key not in "\r\n":
            return
        first = key if key.isprintable() else ""
        self.talked.close_line()
        text = self.keyboard.line(_SAY, first)
        if text and is_command(text):
            self._told(text)
        elif text:
            self._send("messages", {"message": text})

    def _told(self, command: str) -> None:
        """Raises `ListenerGone`."""
        match command.split(maxsplit=1)[0]:
            case "/stop":
                self._stop()
            case "/leave" | "/quit" | "/exit":
                self._leave()
            case "/help":
                self.at.say(WHILE_IT_WORKS)
            case word:
                self.at.say(f"There is no {word} while it works.\n{WHILE_IT_WORKS}")

    def _leave(self) -> NoReturn:
        """Raises `ListenerGone`."""
        self.talked.close_line()
        raise ListenerGone(self.run_id, stopping=self.stopping)

    def _stop(self) -> None:
        """Raises `ListenerGone` the second time."""
        if self.stopping:
            self._leave()
        self.talked.close_line()
        self.stopping = True
        self.at.say(_STOPPING)
        self._send("stop")

    def _send(self, verb: str, body: object = None) -> None:
        try:
            self.server.post(api_path("agents", "runs", self.run_id, verb), body)
        except Refused as error:
            self.at.fail(error)

    def _ask(self) -> None:
        """Each request that it waits for, once."""
        for approval in [each for each in self.talked.waits.values() if each not in self.answered]:
            self.answered.add(approval)
            self._answer(approval)

    def _answer(self, approval: str) -> None:
        request = self.server.get(api_path("approvals", approval))
        if request["status"] != "waiting":
            return
        if request["asker"]["id"] == self.server.get("/me")["id"]:
            self.at.say("It is your own request: somebody else answers it.")
            return
        self.talked.close_line()
        keys = ApprovalKeys(self.server, self.at, self.keyboard)
        keys.show(request)
        while True:
            news = self.keyboard.key_or(self.inbox)
            if news == _LEAVES:
                self._leave()
            if isinstance(news, str):
                key = _AS_SKIPPED.get(news, news)
                if keys.pressed(key, request):
                    self._not_alone(skipped=key == SKIP)
                    return
            elif not self._happened(news) or self._elsewhere(news, approval):
                return

    def _not_alone(self, *, skipped: bool) -> None:
        """Nobody sits before a still screen without knowing what for."""
        if skipped:
            told = "It goes on once somebody answers: portico approvals watch"
            self.at.say(f"{told}\n{WHILE_IT_WORKS}")

    def _elsewhere(self, news: News, approval: str) -> bool:
        """Whether somebody else was first."""
        moved = isinstance(news, ReceivedEvent) and news.type in MOVED
        if not moved or approval in self.talked.waits.values():
            return False
        self.at.say("It waits for that no more.")
        return True


_NOT_TO_RESUME: Final = "run_not_over"
Status = Literal["running", "waiting", "completed", "stopped", "exhausted", "failed", "cancelled"]
_COLUMNS: Final = [
    "run", "agent", "status", "started", "took", "turns", "tools", "tokens", "money", "error",
    "asked",
]  # fmt: skip


def runs(  # noqa: PLR0913 # each an option
    agent: str | None = None,
    /,
    *,
    status: list[Status] | None = None,
    tool: str | None = None,
    error: str | None = None,
    text: str | None = None,
    since: str | None = None,
    until: str | None = None,
    mine: bool = False,
    limit: int = 20,
    at: At,
) -> None:
    """The latest runs of agents, newest first.

    Parameters
    ----------
    agent
        Only of this one.
    status
        Only those; may be given several times.
    tool
        Only those that used this tool: server.tool.
    error
        Only those that something went wrong in: a code.
    text
        Only those in which this was said, by anybody.
    since
        Only those that were started then or later: 2026-05-01, 2026-05-01T14:30, or so long ago:
        90m, 2h, 3d.
    until
        Only those that were started before then.
    mine
        Only those that you started.
    limit
        How many at most.
    """
    if limit < 1:
        raise InvalidUsage("--limit must be at least 1.")
    server = AgentServer(at.services)
    which = {
        "status": status,
        "tool": tool,
        "error": error,
        "text": text,
        "since": moment("--since", since),
        "until": moment("--until", until),
        "mine": "true" if mine else None,
    }
    pages = server.pages("/traces", limit=min(limit, 200), agent=agent, **which)
    found = list(islice(pages, limit))
    if not found and agent is not None:
        server.get(api_path("agents", agent))  # one that is not there has no runs for that reason
    right = ["took", "turns", "tools", "tokens", "money"]
    at.table(_COLUMNS, [run_row(each) for each in found], {"data": found}, right=right)
    if not found and any(value is not None for value in which.values()):
        at.say("None match.")
    elif not found:
        at.say(f"There are none. To begin one: portico agents chat {agent or 'NAME'}")


def trace(run: str, /, *, otlp: bool = False, at: At) -> None:
    """One run, turn by turn: what was said, which tools were used, and what that took.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    otlp
        As OpenTelemetry's JSON, for a collector of traces.
    """
    server = AgentServer(at.services)
    run_id = find_agent_run(server, run)
    if otlp:
        exported = server.get(api_path("traces", run_id, "export"))
        print(json.dumps(exported, ensure_ascii=False))
        return
    found = server.get(api_path("traces", run_id))
    at.data(found, "" if at.json else "\n".join(trace_lines(found)))


def say(run: str, message: str, /, *, at: At) -> None:
    """Say something to a run while it is on: its next turn takes it in.

    portico agents say w8xbqf "Only those of this year."

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    message
        What to say to it.
    """
    server = AgentServer(at.services)
    run_id = find_agent_run(server, run)
    said = server.post(api_path("agents", "runs", run_id, "messages"), {"message": message})
    at.data(said, f"{run_id} hears it before its next turn.")


def stop(run: str, /, *, at: At) -> None:
    """Have a run stop as soon as it can; what it has said by then is its answer.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    server = AgentServer(at.services)
    run_id = find_agent_run(server, run)
    server.post(api_path("agents", "runs", run_id, "stop"))
    at.data({"run": run_id}, f"{run_id} stops.")


def resume(run: str, /, *, at: At) -> None:
    """Take up a run again that failed: no model and no tool is asked again for what they gave.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    """
    server = AgentServer(at.services)
    run_id = find_agent_run(server, run)
    try:
        server.post(api_path("agents", "runs", run_id, "resume"))
    except Refused as error:
        if error.code == _NOT_TO_RESUME:
            short = run_id[-SHORT:]
            error.fix = f"To go on with what was said: portico agents chat NAME --continues {short}"
        raise
    at.data({"run": run_id}, f"{run_id} goes on.")


def resolve(run: str, step: str, outcome: Literal["done", "retry", "skip"], /, *, at: At) -> None:
    """Say what became of a call that was begun and of which nobody knows whether it was made.

    Parameters
    ----------
    run
        Its id, or six letters or more of its beginning or its end.
    step
        As `portico runs show` names it: call-2-0.
    outcome
        done: it was; retry: it was not, make it; skip: it was not, leave it.
    """
    server = AgentServer(at.services)
    run_id = find_agent_run(server, run)
    body = {"step": step, "outcome": outcome}
    server.post(api_path("agents", "runs", run_id, "resolve"), body)
    at.data({"run": run_id, **body}, f"{step} of {run_id}: {outcome}.")


def stats(
    what: Literal["tools", "models"] = "tools",
    /,
    *,
    agent: str | None = None,
    at: At,
) -> None:
    """How tools or models were doing in the runs of agents.

    Parameters
    ----------
    what
        tools or models.
    agent
        Only in runs of this one.
    """
    server = AgentServer(at.services)
    if what == "tools":
        found = server.get("/stats/tools", agent=agent)
        columns = ["tool", "uses", "failures", "early", "median", "p95", "codes"]
        rows = [
            each
            | {
                "median": duration(each["p50"]),
                "p95": duration(each["p95"]),
                "codes": ", ".join(f"{code} {count}" for code, count in each["codes"].items()),
            }
            for each in found["data"]
        ]
    else:
        found = server.get("/stats/models", agent=agent)
        columns = ["model", "turns", "read", "written", "money", "median", "p95", "tokens_a_second"]
        rows = [_model_row(each) for each in found["data"]]
    at.table(columns, rows, found, right=["median", "p95", "money"])
    if not rows:
        at.say("Nothing has been used yet.")


def find_agent_run(server: Server, text: str) -> str:
    """The run's whole id. Raises `AgentRunNotFound`, `InvalidUsage`."""
    return run_and_agent(server, text)[0]


def run_and_agent(server: Server, text: str) -> tuple[str, str | None]:
    """With the name of its agent, where a list had to be looked at. Raises the same."""
    agents: dict[str, str] = {}

    def latest() -> Iterator[str]:
        for each in islice(server.pages("/traces"), LATEST):
            agents[each["run"]] = each["agent_name"]
            yield each["run"]

    try:
        run = named(text, latest(), listed="portico agents runs")
    except RunNotFound:
        run = _in_no_list_of_agents(server, text)
    return run, agents.get(run)


def _in_no_list_of_agents(server: Server, text: str) -> str:
    """Raises `AgentRunNotFound`, `InvalidUsage`."""
    try:
        return find_run(server, text)
    except RunNotFound as error:
        raise AgentRunNotFound(text) from error


def _model_row(each: dict[str, Any]) -> dict[str, Any]:
    speed = each["tokens_a_second"]
    return each | {
        "read": each["input"],
        "written": each["output"],
        "money": money(each["money"]),
        "median": duration(each["p50"]),
        "p95": duration(each["p95"]),
        "tokens_a_second": None if speed is None else round(speed),
    }


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
    server = AgentServer(at.services)
    if continues is not None:
        continues, other = run_and_agent(server, continues)
        if other not in (None, name):
            at.say(f"That was a run of {other}: {name} goes on with what was said in it.")
    if model is not None:
        server.check_model(model)
    talk = _Talk(server, at, name, model=model, continues=continues, thoughts=thoughts)
    if not _somebody_there(at):
        return talk.once(_given(message), wait=wait)
    server.get(api_path("agents", name))
    return talk.go_on(message)


def _somebody_there(at: Terminal) -> bool:
    typing = sys.stdin.isatty() and sys.stdout.isatty()
    return typing and not at.json and not at.no_input


def _given(message: str | None) -> str:
    """Raises `InvalidUsage`."""
    text = message if message is not None or sys.stdin.isatty() else sys.stdin.read()
    if not text or not text.strip():
        raise InvalidUsage("Nothing was said to it.", fix='portico agents chat NAME "A question"')
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
            except ListenerGone as left:
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
        """Raises `ListenerGone`, and what the server refuses."""
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
                found = self.server.get(api_path("agents", self.agent))["tools"]
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

    def _gone(self, left: ListenerGone) -> int:
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


def try_out(
    name: str,
    message: str,
    /,
    *,
    model: str | None = None,
    wait: bool = False,
    at: At,
) -> int:
    """Ask an agent something once, and say how it did: what it answered, which tools it used, and
    what that took. It has not passed without an answer, nor if no use of a tool worked.

    portico agents test helper "Which files are there?" --json

    Parameters
    ----------
    name
        Which agent.
    message
        What to ask it.
    model
        Ask this one instead of the agent's own: provider:model.
    wait
        If somebody has to approve something, until they have.
    """
    server = AgentServer(at.services)
    if model is not None:
        server.check_model(model)
    began = time.monotonic()
    run = started(server, Question(agent=name, message=message, model=model))
    talked = Talked(at)
    heard(server, run, talked, wait=wait)
    seconds = time.monotonic() - began
    if talked.ended is None:
        raise AgentNotDone(run, None)
    verdict = _verdict(run, talked, seconds)
    if at.json:
        at.data(verdict, "")
    else:
        _tell(at, verdict)
    return Exit.OK if verdict["passed"] else Exit.FAILED


def _verdict(run: str, talked: Talked, seconds: float) -> dict[str, Any]:
    ended = talked.ended or {}
    answered = bool(str(ended["answer"]).strip())
    in_vain = bool(talked.tools) and len(talked.failed) >= len(talked.tools)
    return {
        "run": run,
        "passed": ended["status"] == "completed" and answered and not in_vain,
        "status": ended["status"],
        "answered": answered,
        "answer": ended["answer"],
        "tools": talked.tools,
        "failed": [{"tool": tool, "why": why} for tool, why in talked.failed],
        "notes": talked.notes,
        "tokens": tokens_of(ended["usage"]),
        "money": ended["money"],
        "seconds": round(seconds, 2),
        "error": ended["error_code"],
        "fix": ended["fix"],
    }


def _tell(at: At, verdict: dict[str, Any]) -> None:
    finished = verdict["status"] == "completed" and verdict["answered"]
    sign = "✓" if verdict["passed"] else "!" if finished else "✗"
    at.line(f"{sign} {verdict['status']} in {duration(verdict['seconds'])}", loud=True)
    for each in verdict["failed"]:
        at.line(f"! {plain(each['tool'])} failed: {each['why']}")
    at.details(
        {
            "tools": ", ".join(map(plain, verdict["tools"])) or "none",
            "tokens": verdict["tokens"],
            "money": money(verdict["money"]),
            **({"error": verdict["error"]} if verdict["error"] else {}),
            **({"fix": verdict["fix"]} if verdict["fix"] else {}),
            "trace": f"portico agents trace {verdict['run'][-6:]}",
        }
    )
