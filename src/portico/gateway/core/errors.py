"""What the gateway refuses.

PorticoError
├── InvalidToolRef       not of the form server.tool
├── InvalidServerName    a name that could be taken for another, or for none
├── InvalidLaunch        not a description of how a server is started or reached
├── ServerNotFound
├── ServerExists         the name is taken, or looks like one that is
├── ServerNotOurs        it comes from a file, and is changed there
├── ServerBuiltIn        it is a part of Portico, and stays
├── ServerNotApproved    nobody has allowed it to be started, or its tools to be used
├── ServerDisabled
├── ServerGone           its file does not ask for it any more
├── PinMoved             what was approved is not what is there now
├── NotStartedHere       it runs elsewhere, and nothing here holds it
├── UnboxedRefused       there is a box for it, and only the configuration lets it out
├── ToolNotFound         no such tool, as far as this caller can know
├── ToolQuarantined      it is not the tool that was approved
├── ToolRefused          its definition cannot be used, whoever approves it
├── ToolSaidNo           it ran, and says that it failed
├── WrongVerb            its effect wants another door
├── InvalidArguments     not what the tool's schema asks for
├── SchemaRefused        a schema too large, too deep or too costly to check against
├── UpstreamDown         the server did not start, or broke off
├── UpstreamWantsLogin   the server does not know who is calling
├── LoginNeeded          a person has to log in there, and how
├── NoLogins             nobody logs in to this server
├── UpstreamRefused      its own error, where that is no answer of a tool
├── UpstreamTimedOut
├── UpstreamBusy         too many processes, or too many calls to it at once
├── InputUnsupported     the server asks something that this caller cannot be asked
├── InputRefused         the caller was asked, and gave no answer
├── OfferNotFound        no such resource or prompt, as far as this caller can know
├── BegunBefore          a run had begun this call already, and nobody knows what became of it
├── ResultNotFound       no such result, not the caller's, or no longer kept
└── EmbedderUnavailable  no vectors can be made
"""

from collections.abc import Iterable
from datetime import datetime

from portico.kernel.errors import FieldError, Kind, PorticoError


class InvalidToolRef(PorticoError):
    kind = Kind.INVALID
    code = "bad_tool_ref"
    type_name = "BadToolRef"
    title = "Not the name of a tool"
    fix = "Write it as server.tool; `search_tools` and `portico tools list` show the names."

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} is not of the form server.tool.")
        self.text = text


class InvalidServerName(PorticoError):
    kind = Kind.INVALID
    code = "bad_server_name"
    type_name = "BadServerName"
    title = "Not a name for a server"
    fix = "Use small letters, digits and -, at most 32, beginning with a letter."

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text[:80]!r} cannot be a server's name: {reason}.")
        self.text = text


class InvalidLaunch(PorticoError):
    kind = Kind.INVALID
    code = "bad_launch"
    type_name = "BadLaunch"
    title = "Not a way to start or reach a server"
    fix = "Give a command with its arguments, or an address that begins with http."

    def __init__(self, reason: str) -> None:
        super().__init__(f"How the server is started or reached cannot be understood: {reason}.")
        self.reason = reason


class ServerNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "server_not_found"
    title = "No such server"
    fix = "See which there are: portico servers list"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no server {name[:80]!r}.")
        self.name = name


class ServerExists(PorticoError):
    kind = Kind.CONFLICT
    code = "server_exists"
    title = "The name is taken"
    fix = "Choose another name, or remove the other server first."

    def __init__(self, name: str, other: str) -> None:
        alike = "" if name == other else f", which looks like {other!r}"
        super().__init__(f"There is a server {name!r} already{alike}.")
        self.name = name
        self.other = other


class ServerNotOurs(PorticoError):
    kind = Kind.CONFLICT
    code = "server_not_ours"
    title = "The server is described in a file"

    def __init__(self, name: str, origin: str) -> None:
        super().__init__(
            f"{name!r} comes from {origin}, which Portico reads and never writes.",
            fix=f"Change it in {origin}: Portico notices.",
        )
        self.name = name
        self.origin = origin


class ServerBuiltIn(PorticoError):
    kind = Kind.CONFLICT
    code = "server_built_in"
    title = "The server is a part of Portico"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is a part of Portico, and cannot be taken out of it.",
            fix=f"Switch it off: portico servers disable {name}",
        )
        self.name = name


class ServerNotApproved(PorticoError):
    kind = Kind.DENIED
    code = "server_not_approved"
    title = "The server has not been approved"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Nobody has approved the server {name!r} as it is now.",
            fix=f"An operator looks at it and approves it: portico servers approve {name}",
        )
        self.name = name


class ServerDisabled(PorticoError):
    kind = Kind.CONFLICT
    code = "server_disabled"
    title = "The server is switched off"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The server {name!r} is switched off.",
            fix=f"Switch it on: portico servers enable {name}",
        )
        self.name = name


class ServerGone(PorticoError):
    kind = Kind.CONFLICT
    code = "server_gone"
    title = "The server is not asked for any more"

    def __init__(self, name: str, origin: str) -> None:
        super().__init__(
            f"{origin}, which described {name!r}, does not ask for it any more.",
            fix=f"Put it back into {origin}, or forget it: portico servers remove {name}",
        )
        self.name = name
        self.origin = origin


class PinMoved(PorticoError):
    kind = Kind.CONFLICT
    code = "pin_moved"
    title = "It has changed since it was looked at"
    fix = "Look at it again, and approve what is there now."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not any more what this approval was given for.")
        self.name = name


class NotStartedHere(PorticoError):
    kind = Kind.CONFLICT
    code = "not_started_here"
    title = "The server is not started here"
    fix = "Only what is started on this machine can be confined."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not a process of ours, and has no profile.")
        self.name = name


class UnboxedRefused(PorticoError):
    kind = Kind.CONFLICT
    code = "unboxed_refused"
    title = "There is a box for it"

    def __init__(self, name: str, let_out: str) -> None:
        super().__init__(
            f"This machine has a box for {name!r}, and only the configuration lets it out of it.",
            fix=f"Give it what it needs: portico servers profile {name} --write FOLDER; or name "
            f"exactly this command: portico config set box.unboxed {let_out}",
        )
        self.name = name


class ToolNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "tool_not_found"
    title = "No such tool"
    fix = "Ask `search_tools` for what the tool should do; it answers with names that exist."

    def __init__(
        self, name: str, near: Iterable[str] = (), *, why: str | None = None, fix: str | None = None
    ) -> None:
        """`why`: what is known of its server, of which there are no tools."""
        close = ", ".join(near)
        hint = f" Near it: {close}." if close else ""
        told = f" {why}." if why else ""
        super().__init__(f"There is no tool {name[:120]!r}.{told}{hint}", fix=fix)
        self.name = name


class ToolQuarantined(PorticoError):
    kind = Kind.DENIED
    code = "tool_quarantined"
    title = "The tool is not the one that was approved"

    def __init__(self, ref: str, server: str) -> None:
        super().__init__(
            f"{ref!r} has changed, or came, since its server was approved.",
            fix=f"An operator looks at what changed: portico servers diff {server}",
        )
        self.ref = ref


class ToolRefused(PorticoError):
    kind = Kind.CONFLICT
    code = "tool_refused"
    title = "The tool cannot be used"
    fix = "Only whoever makes its server can mend it. Leave it out, and approve the others."

    def __init__(self, ref: str, reason: str) -> None:
        super().__init__(f"{ref!r} cannot be let in: it {reason}.")
        self.ref = ref
        self.reason = reason


class ToolSaidNo(PorticoError):
    kind = Kind.CONFLICT
    code = "tool_failed"
    title = "The tool says that it failed"
    fix = "Read what it said, and give it something else."

    def __init__(self, ref: str, said: str | None = None, *, fix: str | None = None) -> None:
        """`said` is where its words are kept."""
        where = "." if said is None else f" [in full: {said}]"
        super().__init__(f"{ref} says that it failed{where}", fix=fix)
        self.ref = ref


class WrongVerb(PorticoError):
    kind = Kind.DENIED
    code = "wrong_verb"
    title = "The tool has another effect"

    def __init__(self, ref: str, effect: str, right: str) -> None:
        super().__init__(
            f"The effect of {ref} is {effect}: it is called with {right}.",
            fix=f"Call {right} with the same arguments.",
        )
        self.ref = ref
        self.right = right


class InvalidArguments(PorticoError):
    kind = Kind.INVALID
    code = "bad_arguments"
    type_name = "BadArguments"
    title = "The tool does not take these arguments"

    def __init__(self, ref: str, flaws: Iterable[FieldError], *, more: int = 0) -> None:
        self.field_errors = tuple(flaws)
        told = "; ".join(
            f"{flaw.field or 'arguments'}: {flaw.message}" for flaw in self.field_errors
        )
        rest = f"; and {more} more" if more else ""
        super().__init__(
            f"{ref} was not called, its arguments do not fit: {told}{rest}.",
            fix="`describe_tools` shows what it takes.",
        )
        self.ref = ref


class SchemaRefused(PorticoError):
    kind = Kind.INVALID
    code = "schema_refused"
    title = "The schema cannot be used"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The schema {reason}.")
        self.reason = reason


class UpstreamDown(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "upstream_down"
    title = "The tool's server does not answer"

    def __init__(
        self, server: str, reason: str, *, fix: str | None = None, reached: bool = False
    ) -> None:
        super().__init__(
            f"The server {server!r} does not answer: {reason}.",
            fix=fix or f"See what it last wrote: portico servers logs {server}",
        )
        self.server = server
        self.reason = reason
        self.reached = reached
        """Whether what was asked may have arrived there, and been done."""


class UpstreamWantsLogin(UpstreamDown):
    """With what it says to whoever it does not know, as HTTP has it."""

    code = "upstream_wants_login"
    title = "A server wants a login"

    def __init__(self, server: str, challenge: str) -> None:
        super().__init__(
            server,
            "it wants to know who is calling (HTTP 401)",
            fix=f"Log in: portico servers login {server}; or give it its credentials, as a header "
            "Authorization in its configuration.",
        )
        self.challenge = challenge


class LoginNeeded(PorticoError):
    """Not a failure: the link is for the person who is calling, and nobody else."""

    kind = Kind.DENIED
    code = "login_needed"
    title = "A login is needed"

    def __init__(self, server: str, who: str, url: str, expires_at: datetime) -> None:
        super().__init__(
            f"{who} is not logged in to the server {server!r}.",
            fix=f"Let the person who is asking open this link, log in, and then ask again: {url}",
        )
        self.server = server
        self.login_url = url
        self.expires_at = expires_at


class NoLogins(PorticoError):
    kind = Kind.CONFLICT
    code = "no_logins"
    title = "Nobody logs in to this server"

    def __init__(self, server: str) -> None:
        super().__init__(
            f"{server!r} does not say where people log in to it, or has its credentials already.",
            fix=f"Call it as it is, or say where: portico servers login-config {server} --issuer "
            "URL",
        )
        self.server = server


class UpstreamRefused(PorticoError):
    kind = Kind.INVALID
    code = "upstream_refused"
    title = "The server refuses what it was asked for"

    def __init__(self, server: str, number: int, message: str) -> None:
        super().__init__(
            f"The server {server!r} refuses: {message[:500] or f'error {number}'}.",
            fix="Look at what it offers, and ask for that.",
        )
        self.server = server
        self.number = number
        """The protocol's own number of the error."""


class UpstreamTimedOut(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "upstream_timed_out"
    title = "The tool took too long"

    def __init__(self, ref: str, seconds: float) -> None:
        super().__init__(
            f"{ref} had not answered after {seconds:g} s, and was given up.",
            fix="Ask for less, or raise gateway.call_timeout.",
        )
        self.ref = ref
        self.seconds = seconds


class UpstreamBusy(PorticoError):
    kind = Kind.EXHAUSTED
    code = "upstream_busy"
    title = "Too much is going on"
    fix = "Try again in a moment, or raise gateway.processes."


class InputUnsupported(PorticoError):
    kind = Kind.INVALID
    code = "input_unsupported"
    title = "The tool asks what this client cannot answer"

    def __init__(self, ref: str, wanted: str) -> None:
        super().__init__(
            f"{ref} asks its caller for {wanted}, and this client cannot be asked for that.",
            fix="Call it from a client that can, or give what it asks for in its arguments.",
        )
        self.ref = ref
        self.wanted = wanted


class OfferNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "offer_not_found"
    title = "No such resource or prompt"
    fix = "List them again: what a server offers changes, and is shown once it is approved."

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"There is no {what} {name[:200]!r}.")
        self.what = what
        self.name = name


class InputRefused(PorticoError):
    kind = Kind.CONFLICT
    code = "input_refused"
    title = "The caller did not answer what the tool asked"

    def __init__(self, wanted: str, reason: str) -> None:
        super().__init__(
            f"The caller was asked for {wanted}, and gave no answer: {reason[:200]}.",
            fix="Call again, and answer what the tool asks.",
        )
        self.wanted = wanted
        self.reason = reason


class BegunBefore(PorticoError):
    kind = Kind.CONFLICT
    code = "begun_before"
    title = "The call was begun before"
    fix = "Look whether it was made, and say so: portico workflows resolve RUN STEP"

    def __init__(self, tool: str, outcome: str | None) -> None:
        known = (
            "nobody knows what became of it" if outcome is None else f"the record says {outcome}"
        )
        super().__init__(f"{tool} was begun by this run before, and {known}.")
        self.tool = tool
        self.outcome = outcome


class ResultNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "result_not_found"
    title = "No such result"
    fix = "Results are kept for a day. Call the tool again."

    def __init__(self, result: str) -> None:
        super().__init__(f"There is no result {result[:60]!r} for you.")
        self.result = result


class EmbedderUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "embedder_unavailable"
    title = "No vectors can be made"
    fix = "See what is in use: portico embeddings status"
