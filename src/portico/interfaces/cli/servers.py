"""`portico servers`: add, list, review, approve, label, confine, remove."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from portico.gateway.core.launch import referred, value_json
from portico.gateway.core.servers import OURS, ConfinementMode
from portico.interfaces.cli.errors import ConfirmationRequired, InvalidUsage
from portico.interfaces.cli.secrets import login, login_config, logout
from portico.interfaces.cli.server import Server, api_path
from portico.interfaces.cli.terminal import PLAIN, At, Terminal
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.redaction import blacked_out

_LONGEST: Final = 120
"""Letters of what a tool says of itself, where many are shown."""
_REASON: Final = 200


def launch_of(
    command: Sequence[str],
    *,
    url: str | None,
    env: Sequence[str],
    header: Sequence[str],
    transport: str | None,
    folder: str | None,
) -> JsonObject:
    """Raises `InvalidUsage`."""
    if (url is None) == (not command):
        raise InvalidUsage("Name either a command, after --, or --url.")
    if url is not None:
        if env or folder:
            raise InvalidUsage("--env and --folder are for a command.")
        return _set(type="http", url=url, headers=_values(header, "--header"), transport=transport)
    if header or transport:
        raise InvalidUsage("--header and --transport are for --url.")
    return _set(
        type="stdio",
        command=command[0],
        arguments=[
            each if (found := referred(each)) is None else value_json(found) for each in command[1:]
        ],
        environment=_values(env, "--env"),
        folder=folder,
    )


def _set(**fields: JsonValue) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _values(pairs: Sequence[str], option: str) -> JsonObject:
    found: dict[str, JsonValue] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise InvalidUsage(f"{option} is NAME=VALUE, NAME=secret:NAME or NAME=$VARIABLE.")
        found[name.strip()] = _value(value)
        if isinstance(found[name.strip()], str) and blacked_out(pair) != pair:
            raise InvalidUsage(
                f"The value of {option} {name} looks like a secret, and would be kept as it is.",
                fix="Give it to Portico by `portico secrets set github`, and name where it is: "
                f"{option} '{name}=secret:github'.",
            )
    return found


def _value(text: str) -> JsonValue:
    if text.startswith("$"):
        return {"env": text[1:].strip("{}")}
    return text if (found := referred(text)) is None else value_json(found)


def server_row(server: Mapping[str, Any]) -> JsonObject:
    return {
        "name": server["name"],
        "state": state(server),
        "tools": server["tools"].get("live", 0) or sum(server["tools"].values()),
        "tokens": server["tokens"],
        "phase": server["vitals"]["phase"],
        "label": server["label"],
        "may_reach": server["confinement"]["reaches"],
        "origin": server["origin"],
    }


def state(server: Mapping[str, Any]) -> str:
    """In one word or two, the most urgent thing first."""
    if server.get("gone"):
        return "gone"
    if not server["enabled"]:
        return "off"
    if not server["launch_approved"]:
        return "waits for approval"
    if not server["approved"]:
        return "failed" if server["failure"] else "tools wait for approval"
    waiting = sum(server["tools"].get(standing, 0) for standing in ("new", "changed"))
    if waiting:
        return f"approved, {waiting} in quarantine"
    return "approved, failed last" if server["failure"] else "approved"


def failures(servers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Of those that should work and do not, why."""
    for server in servers:
        if server["failure"] and server["enabled"] and not server.get("gone"):
            reason = str(server["failure"])
            told = reason if len(reason) <= _REASON else f"{reason[:_REASON]}…"
            yield f"{server['name']} failed: {told} (portico servers show {server['name']})"


def server_facts(server: Mapping[str, Any]) -> JsonObject:
    vitals = server["vitals"]
    return {
        "name": server["name"],
        "state": state(server),
        "command": server["command"],
        "may_reach": server["confinement"]["reaches"],
        "origin": server["origin"],
        "label": server["label"],
        "clearance": server["clearance"],
        "trusted": server["trusted"],
        "approved_by": server["approved_by"],
        "approved_at": server["approved_at"],
        "identity": server["identity"],
        "protocol": server["era"],
        "listed_at": server["listed_at"],
        "failure": server["failure"],
        "tools": ", ".join(f"{count} {name}" for name, count in server["tools"].items()),
        "tokens": server["tokens"],
        "phase": vitals["phase"],
        "process": vitals["process"],
        "starts": vitals["starts"],
        **({"lacking": vitals["lacking"]} if vitals.get("lacking") else {}),
        "launch_pin": server["launch_pin"],
    }


def approved(review: Mapping[str, Any]) -> bool:
    waiting = any(each["standing"] == "pending" for each in review["tools"])
    return review["launch_approved"] and review["listed"] and not waiting


def offered_row(tool: Mapping[str, Any]) -> JsonObject:
    """A tool as somebody decides about it."""
    return {
        "tool": tool["tool"].partition(".")[2],
        "standing": tool["standing"],
        "proposed": tool["proposed"],
        "why": tool["refused"] or tool["why"],
        "says": _first_line(tool["description"]),
    }


def review_rows(review: Mapping[str, Any]) -> list[JsonObject]:
    """A line for each place that changed; a tool that came or went has one by itself."""
    launch: JsonObject = {"tool": "", "standing": "how it starts"}
    rows = [_change(launch, each, "command") for each in review.get("launch_changes", ())]
    for tool in review["tools"]:
        named = {"tool": tool["tool"].partition(".")[2], "standing": tool["standing"]}
        changes = [_change(named, each) for each in tool["changes"]]
        if not changes and tool["standing"] not in {"live", "pending"}:
            says = _first_line(tool["description"]) if tool["standing"] == "new" else ""
            changes = [named | {"place": "", "before": "", "after": tool["refused"] or says}]
        rows.extend(changes)
    said: JsonObject = {"tool": "", "standing": "beside its tools"}
    return [*rows, *(_change(said, each) for each in review["said"])]


def _first_line(text: str) -> str:
    """Enough to know what it claims to be; `portico tools show` has all of it."""
    first = " ".join(next(iter(text.strip().splitlines()), "").split())
    return first if len(first) <= _LONGEST else f"{first[: _LONGEST - 2]} …"


def _change(
    named: Mapping[str, JsonValue], change: Mapping[str, Any], within: str = ""
) -> JsonObject:
    return {
        **named,
        "place": " ".join(filter(None, [within, change["path"]])),
        "before": change["before"],
        "after": change["after"],
    }


Review = dict[str, Any]

_TOOL_COLUMNS: Final = ["tool", "standing", "proposed", "why", "says"]
_MAY_START: Final = "The server may be started; its tools wait."
_MORE: Final = "--all takes what is proposed"
_RIGHTS: Final = "your files, your keys, your network."
_NO_BOX: Final = (
    "There is no box on this machine (portico doctor says why), and it will not start without "
    "one, unless you agree to that: --unboxed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    at: Terminal
    server: Server
    name: str
    yes: bool
    all_effects: bool
    only: Sequence[str] = ()
    """Let only these tools in, by their own names; the others stay as they are."""
    unsandboxed: bool = False
    """Whoever approves agrees that it runs without a box, where there is none."""

    def __call__(self) -> None:
        review = self._review()
        if review.get("gone"):
            # refused, in the server's own words
            self.server.post(api_path("servers", self.name, "restart"))
        started = not review["launch_approved"] or self.unsandboxed
        if started:
            self._let_start(review)
        if started or not review["listed"]:
            with self.at.working(f"starting {self.name}"):
                self.server.post(api_path("servers", self.name, "restart"))
            review = self._review()
        if self.only or self._waits(review):
            self._let_in(review, so_far=_MAY_START if started else None)
        else:
            self.at.say("Nothing waits for approval.")
            self._tell(review, self.server.get(api_path("servers", self.name)))

    def _review(self) -> Review:
        found: Review = self.server.get(api_path("servers", self.name, "review"))
        return found

    def _let_start(self, review: Review) -> None:
        self.at.say(f"This will be started, as it stands here:\n\n  {review['command']}\n")
        for variable in review["loaders"]:
            self.at.say(
                f"  {variable} decides which code runs, and may change without being noticed."
            )
        question = self._how_it_is_held(review["confinement"])
        if not self.yes and not self.at.confirm(question):
            raise ConfirmationRequired(question)
        body = {"launch_pin": review["launch_pin"], "unboxed": self.unsandboxed}
        self.server.post(api_path("servers", self.name, "approve-launch"), body)

    def _how_it_is_held(self, confinement: Mapping[str, Any]) -> str:
        """Says it; what then is to be asked."""
        if confinement["hold"] == ConfinementMode.UNBOXED or self.unsandboxed:
            self.at.alarm(f"  NOT BOXED: it will run with all rights of Portico: {_RIGHTS}")
            return f"Start {self.name} without a box?"
        if confinement["hold"] == ConfinementMode.REFUSED:
            self.at.say(f"  {_NO_BOX}\n")
        else:
            self.at.say(f"  It may reach: {confinement['reaches']}\n")
        return f"Start {self.name}?"

    def _waits(self, review: Review) -> bool:
        """Also what was let in as destructive for want of a decision, if all is to be decided."""
        tools = review["tools"]
        undecided = self.all_effects and _undecided(tools)
        at_rest = tools and all(each["standing"] in {"live", "refused"} for each in tools)
        return bool(undecided or review["said"] or not at_rest)

    def _let_in(self, review: Review, *, so_far: str | None) -> None:
        if not self.at.json:
            rows = [offered_row(each) for each in self._meant(review)]
            self.at.table(_TOOL_COLUMNS, rows, None, fold=["why", "says"])
        question = "Let these tools in with the proposed effects?"
        if not self.yes and not self.at.confirm(question):
            raise ConfirmationRequired(question, so_far=so_far)
        which = "all" if self.all_effects or not self.yes else "reads"
        body: Review = {"pin": review["pin"], "proposed": which}
        if self.only:
            body["effects"] = self._effects(review, everything=which == "all")
        accepted = self.server.post(api_path("servers", self.name, "accept"), body)
        self._tell(review, accepted)

    def _meant(self, review: Review) -> Sequence[Mapping[str, Any]]:
        """Raises `InvalidUsage`."""
        offered = {each["tool"].partition(".")[2]: each for each in review["tools"]}
        if missing := [name for name in self.only if name not in offered]:
            raise InvalidUsage(f"{self.name} does not offer {', '.join(missing)}.")
        return [offered[name] for name in self.only] if self.only else review["tools"]

    def _effects(self, review: Review, *, everything: bool) -> Mapping[str, str]:
        """What was decided of a tool that is as it was stays decided."""
        return {
            each["tool"].partition(".")[2]: each["effect"]
            if each["standing"] == "live" and each["effect"] != Effect.UNKNOWN
            else each["proposed"]
            if everything or Effect(each["proposed"]).is_read_only
            else Effect.UNKNOWN
            for each in self._meant(review)
        }

    def _tell(self, review: Review, server: Mapping[str, Any]) -> None:
        if self.at.json:
            self.at.data(server, "")
            return
        lines = list(self.server.pages("/tools", server=self.name, standing="live"))
        effects = {each["tool"]: each["effect"] for each in lines}
        now = [each | {"effect": effects.get(each["tool"])} for each in review["tools"]]
        more = [_MORE] if _undecided(now) else []
        granted = [": ".join([f"{self.name} is approved", *_granted(effects.values())])]
        self.at.data(None, "; ".join(granted + more))


def _undecided(tools: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        each["effect"] == Effect.UNKNOWN and each["proposed"] != Effect.UNKNOWN for each in tools
    )


def _granted(effects: Iterable[str]) -> list[str]:
    """`1 as read, 4 as destructive`, or nothing if there are none."""
    counted = Counter(_kind(Effect(each)) for each in effects)
    order = ["read", "write", "destructive"]
    told = ", ".join(f"{counted[kind]} as {kind}" for kind in order if counted[kind])
    return [told] if told else []


def _kind(effect: Effect) -> str:
    if effect.is_read_only:
        return "read"
    return "destructive" if effect.destroys else "write"


def label(
    name: str,
    label: str | None = None,
    /,
    *,
    clearance: str | None = None,
    trusted: Annotated[bool | None, Parameter(negative="--untrusted")] = None,
    at: At,
) -> None:
    """Show how secret a server's results are and what may be sent to it, or say so.

    Whoever is not cleared for its label does not see the server. To change it you must be cleared
    for what it was and for what it becomes.

    portico servers label wiki confidential --clearance confidential

    A compartment, as in confidential+finance, takes somebody who is cleared for it.

    Parameters
    ----------
    name
        Which one.
    label
        What its results carry: public, team, confidential, restricted, with compartments.
    clearance
        The most that may be sent to it.
    trusted
        Whether its results count as your own words, and not as a stranger's.
    """
    server, wish = Server(at.services), {"label": label, "clearance": clearance, "trusted": trusted}
    said = {field: value for field, value in wish.items() if value is not None}
    if said:
        found = server.put(api_path("servers", name, "label"), said)
    else:
        whole = server.get(api_path("servers", name))
        found = {field: whole[field] for field in wish}
    if at.json:
        at.data(found, "")
    else:
        at.details({"name": name, **found})
    if not Label.parse(found["clearance"]).covers(Label.parse(found["label"])):
        at.say(
            f"What it gives is {found['label']}, and it may be sent {found['clearance']} at most: "
            "a task that has read it asks before it sends anything there. To have it not ask: "
            f"portico servers label {name} --clearance {found['label']}"
        )


NOT_BOXED: Final = "NOT BOXED"
_SHOWN: Final = ("network", "reach", "write", "read")


def profile(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *,
    read: list[str] | None = None,
    write: list[str] | None = None,
    network: Literal["none", "public"] | None = None,
    reach: list[str] | None = None,
    only: bool = False,
    proposed: bool = False,
    default: bool = False,
    at: At,
) -> None:
    """Show what a server may reach, or say what it may.

    What it may reach is its own program, a home of its own, and what is said here; nothing else
    exists for it. What is said is added to what it may reach already, unless --only is said too;
    its process is ended.

    portico servers profile notes --write ~/notes --network none

    Parameters
    ----------
    name
        Which one.
    read
        A folder or a file that it may read; may be given several times.
    write
        A folder that it may also change; may be given several times.
    network
        public: any public address over HTTP and HTTPS. none: only what is named with --reach.
    reach
        A place as host:port, which may be this machine; may be given several times.
    only
        Exactly what is said with it, and nothing that it could reach before.
    proposed
        Take the tighter profile that is proposed for it.
    default
        Go back to what follows from how it is started.
    """
    server, stated = Server(at.services), [read, write, network, reach]
    given = any(each is not None for each in stated)
    if given + proposed + default > 1:
        raise InvalidUsage("Say what it may reach, or --proposed, or --default: one of the three.")
    if only and not given:
        raise InvalidUsage(
            "With --only say what it may reach: --read, --write, --reach, --network."
        )
    if default:
        server.delete(api_path("servers", name, "profile"))
    elif proposed:
        _put(server, name, _proposed(server, name))
    elif given:
        before = server.get(api_path("servers", name, "profile"))["profile"]
        kept = dict.fromkeys(("read", "write", "reach"), ()) if only else before
        said = {"read": _whole(read), "write": _whole(write), "reach": reach or []}
        after = {each: [*dict.fromkeys([*kept[each], *said[each]])] for each in said}
        _put(server, name, {**after, "network": network or before["network"]})
    _show(
        at, server.get(api_path("servers", name, "profile")), changed=given or proposed or default
    )


def _put(server: Server, name: str, profile: JsonObject) -> None:
    server.put(api_path("servers", name, "profile"), profile)


def _proposed(server: Server, name: str) -> JsonObject:
    found: JsonObject | None = server.get(api_path("servers", name, "profile"))["proposed"]
    if found is None:
        raise InvalidUsage(f"Nothing tighter is known for {name}.")
    return found


def _whole(paths: Sequence[str] | None) -> list[str]:
    """As this machine and this folder understand them."""
    if "" in (paths or ()):
        raise InvalidUsage("A path is empty. Is a variable in it not set?")
    return [str(Path(path).expanduser().absolute()) for path in paths or ()]


def _show(at: Terminal, found: Mapping[str, Any], *, changed: bool) -> None:
    if at.json:
        at.data(dict(found), "")
        return
    if found["hold"] == ConfinementMode.UNBOXED:
        at.alarm(f"{NOT_BOXED}: {found['name']} runs with all rights of Portico itself.")
    at.details(_facts(found))
    if found["proposed"] and found["profile"] != found["proposed"]:
        at.say(f"Something tighter is known to suffice: {_line(found['proposed'])}")
        at.say(f"  portico servers profile {found['name']} --proposed")
    if changed:
        at.say("It is started anew with the next call.")


def _facts(found: Mapping[str, Any]) -> JsonObject:
    consent = found["consent"]
    agreed = None if consent is None else f"{consent['by']}, {consent['at']}"
    return {
        "name": found["name"],
        "command": found["command"],
        "may_reach": found["reaches"],
        **{field: found["profile"][field] for field in _SHOWN},
        "home": "its own",
        "let_out_as": found["let_out"],
        "said_by": "somebody" if found["stated"] else "nobody: it follows from the command",
        **({} if agreed is None else {"unboxed_by": agreed}),
    }


def _line(profile: Mapping[str, Any]) -> str:
    named = (f"{field}: {_words(profile[field])}" for field in _SHOWN if profile[field])
    return " · ".join(named)


def _words(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


app = App(
    name="servers",
    help="Add, approve and look after servers of tools.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_COLUMNS: Final = ["name", "state", "label", "tools", "tokens", "phase", "origin", "may_reach"]


@app.command(name="list", sort_key=1)
def list_(*, at: At) -> None:
    """Every server, how it is, what it may reach, and what its tools would cost without a
    gateway."""
    found = Server(at.services).get("/servers")
    at.table(
        _COLUMNS,
        [server_row(each) for each in found],
        {"data": found},
        right=["tokens"],
        fold=["origin", "may_reach"],
        red=[NOT_BOXED],
    )
    for line in failures(found):
        at.say(line)
    if all(each["origin"] == OURS for each in found):
        at.say("No servers yet. Import those you have: portico init, or: portico servers add NAME")


@app.command(name="show", sort_key=2)
def show(name: str, /, *, at: At) -> None:
    """One server: what is started, what was approved, how it is."""
    found = Server(at.services).get(api_path("servers", name))
    if at.json:
        at.data(found, "")
    else:
        at.details(server_facts(found))


@app.command(name="add", sort_key=3)
def add(  # noqa: PLR0913 # an option each
    name: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    url: str | None = None,
    env: list[str] | None = None,
    header: list[str] | None = None,
    transport: Literal["streamable", "sse"] | None = None,
    folder: str | None = None,
    timeout: float | None = None,
    at: At,
) -> None:
    """Add a server: the command that starts it, or where it answers.

    It is not started before it is approved.

    portico servers add time -- uvx mcp-server-time@2026.10.19

    portico servers add tracker --url https://tools.example/mcp --header 'Authorization=$TOKEN'

    Parameters
    ----------
    name
        Small letters, digits and -.
    command
        What is started, after --.
    url
        Where it answers, if it is not started here.
    env
        NAME=VALUE, NAME=secret:NAME for what `portico secrets set` was given, or NAME=$VARIABLE
        to take it from the server's own environment; only what is named here is given to it.
    header
        NAME=VALUE, NAME=secret:NAME, 'NAME=Bearer secret:NAME' or NAME=$VARIABLE.
    transport
        How it is spoken to; found out if left away.
    folder
        Where it is started.
    timeout
        Seconds that one call may take.
    """
    launch = launch_of(
        command, url=url, env=env or [], header=header or [], transport=transport, folder=folder
    )
    made = Server(at.services).post(
        "/servers", {"name": name, "launch": launch, "timeout": timeout}
    )
    at.data(made, made["name"])
    at.say(f"Added, and not started. Look at it and approve it: portico servers approve {name}")


@app.command(name="approve", sort_key=4)
def approve(
    name: str,
    /,
    *,
    yes: bool = False,
    all_effects: Annotated[bool, Parameter(name="--all")] = False,
    tool: list[str] | None = None,
    unboxed: bool = False,
    at: At,
) -> None:
    """Allow a server to be started, look at what it offers, and let it in.

    Parameters
    ----------
    name
        Which one.
    yes
        Do not ask; lowers only the effects of tools proposed to be reads.
    all_effects
        Accept every proposed effect, not only the reads.
    tool
        Let only this tool in, by its own name; may be given several times. The others stay as
        they are.
    unboxed
        Agree that it runs without a box, where this machine has none: the command that is shown
        then has all your rights. Who agreed is recorded, and it holds for exactly this command.
    """
    Approval(
        at=at,
        server=Server(at.services),
        name=name,
        yes=yes,
        all_effects=all_effects,
        only=tool or (),
        unsandboxed=unboxed,
    )()


@app.command(name="diff", sort_key=5)
def diff(name: str, /, *, at: At) -> None:
    """What changed since a server was approved."""
    review = Server(at.services).get(api_path("servers", name, "review"))
    rows = review_rows(review)
    if rows or at.json:
        columns = ["tool", "standing", "place", "before", "after"]
        at.table(columns, rows, review, fold=["place", "before", "after"])
    elif approved(review):
        at.say("It is as it was approved.")
    else:
        at.say(f"It waits for approval. Look at all of it: portico servers approve {name}")


@app.command(name="enable", sort_key=6)
def enable(name: str, /, *, at: At) -> None:
    """Switch a server on."""
    _switch(at, name, "enable")


@app.command(name="disable", sort_key=7)
def disable(name: str, /, *, at: At) -> None:
    """Switch a server off: its tools are not found, its process is ended."""
    _switch(at, name, "disable")


@app.command(name="restart", sort_key=8)
def restart(name: str, /, *, at: At) -> None:
    """End a server, start it anew, and ask it what it offers."""
    with at.working(f"starting {name}"):
        found = Server(at.services).post(api_path("servers", name, "restart"))
    changed = "something changed" if found["changed"] else "nothing changed"
    at.data(found, f"{name}: {found['tools']} tools, {changed}")
    for unreadable in found["unreadable"]:
        at.say(f"left out: {unreadable}")


@app.command(name="logs", sort_key=9)
def logs(name: str, /, *, at: At) -> None:
    """What a server's process last wrote for people."""
    found = Server(at.services).get(api_path("servers", name, "logs"))
    at.data(found, "\n".join(found["lines"]) or "Nothing so far.")


app.command(profile, name="profile", sort_key=10)
app.command(label, name="label", sort_key=11)
app.command(login, name="login", sort_key=12)
app.command(logout, name="logout", sort_key=13)
app.command(login_config, name="login-config", sort_key=14)


@app.command(name="remove", sort_key=15)
def remove(name: str, /, *, yes: bool = False, at: At) -> None:
    """Take a server and its tools away.

    Parameters
    ----------
    name
        Which one; one that a file describes is removed there.
    yes
        Do not ask.
    """
    _ask(at, f"Remove {name}, and what was approved of it?", yes=yes)
    Server(at.services).delete(api_path("servers", name))
    at.say(f"{name} is removed.")


def _switch(at: Terminal, name: str, act: str) -> None:
    found = Server(at.services).post(api_path("servers", name, act))
    at.data(found, f"{name} is {'on' if found['enabled'] else 'off'}")


def _ask(at: Terminal, question: str, *, yes: bool) -> None:
    if not yes and not at.confirm(question):
        raise ConfirmationRequired(question)
