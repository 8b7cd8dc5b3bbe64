"""What the guard refuses.

PorticoError
├── NotAuthenticated         no key, or one that opens nothing; never says which
├── NotPermitted             a key that opens this door, but not this one
├── Overreach                giving away more than one has oneself
├── OwnAccess                changing what oneself may do
├── KeyNotFound
├── KeyEnded                 rotating what no longer opens anything
├── NotAPerson               logging in to the console with the key of a program
├── PrincipalNotFound
├── PrincipalDisabled
├── NameTaken
├── InvitationUsed           a link that was good once
├── SpaceNotFound
├── NotConfirmed             deleting without saying the name
├── Refused                  policy says no, and which rule
├── InvalidRule              a rule that says nothing, or something else than was meant
├── RuleTaken
├── RuleNotFound
├── RuleOfTheFile            what stands in portico.toml is changed there
├── LimitReached             too often in too short a time
├── ContextNotFound          no such task, or somebody else's
├── ContextRefused           an agent's task is its key, and no other
├── ApprovalPending          somebody is asked, and has not answered yet
├── ApprovalRejected         somebody has said no
├── ApprovalNotFound
├── ApprovalOver             answered, expired or used already
├── ApprovalUncertain        the call was approved, and may have been made
├── ApprovedCallFailed       the call was approved, and could not be made
├── ArgumentsLost            what was approved cannot be read any more
├── TooManyPendingApprovals  as many wait for an answer as may, of one asker
├── AskedOtherwise           a request of the same waiter, for something else
├── BlackedOut               the mark of a secret, written where the secret stood
├── InvalidAnswer            neither yes nor no, in none of the words for it
├── PersonNeeded             only a person answers
├── OwnRequest               nobody answers what they ask themselves
├── IssuerUnavailable        nobody can say whether a token is genuine
├── LoginUnavailable         where people log in does not answer
├── GrantRefused             where people log in says no
├── LoginRefused             a login came to nothing
├── LoginUnknown             no such login under way, or not any more
├── BudgetNotFound
└── BudgetTaken
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from portico.kernel.errors import FieldError, Kind, PorticoError

NO_SCOPE: Final = "default:scope"
"""The rule by which a key without the scope is refused a tool."""


class NotAuthenticated(PorticoError):
    kind = Kind.DENIED
    code = "not_authenticated"
    title = "No valid key"
    fix = "Send a valid key as `Authorization: Bearer ptc_…`; `portico keys create` makes one."

    def __init__(self) -> None:
        super().__init__("The request carries no key that opens this door.")


class NotPermitted(PorticoError):
    kind = Kind.DENIED
    code = "not_permitted"
    title = "Not permitted"

    def __init__(self, name: str, scope: str) -> None:
        super().__init__(
            f"The key that {name!r} came with does not have the scope {scope}.",
            fix=f"Use a key with the scope {scope}, or ask an admin of this space for it.",
        )
        self.name = name
        self.scope = scope


class Overreach(PorticoError):
    kind = Kind.DENIED
    code = "overreach"
    title = "More than you have yourself"
    fix = "Give at most the scopes and the clearance that you have, or ask an admin to do it."

    def __init__(self, what: str) -> None:
        super().__init__(f"You cannot give what you do not have: {what}.")
        self.what = what


class OwnAccess(PorticoError):
    kind = Kind.DENIED
    code = "own_access"
    title = "Your own access"
    fix = "Ask another admin of this space, so that there is always one left."

    def __init__(self) -> None:
        super().__init__("Nobody changes their own roles and clearance, or disables themselves.")


class KeyNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "key_not_found"
    title = "No such key"
    fix = "List the keys there are: portico keys list"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no key {key_id[:64]!r} in this space.")
        self.key_id = key_id


class KeyEnded(PorticoError):
    kind = Kind.CONFLICT
    code = "key_ended"
    title = "The key has ended"
    fix = "Make a new one: portico keys create NAME"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"The key {key_id!r} is revoked or expired.")
        self.key_id = key_id


class NotAPerson(PorticoError):
    kind = Kind.DENIED
    code = "session_for_people"
    title = "Only people log in"
    fix = "Log in with a key of your own; `portico keys create NAME` makes one."

    def __init__(self, who: str) -> None:
        super().__init__(f"{who!r} is not a person, and the console is for people.")
        self.who = who


class PrincipalNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "principal_not_found"
    title = "No such principal"
    fix = "List who there is: portico people list"

    def __init__(self, who: str) -> None:
        super().__init__(f"There is no principal {who[:64]!r} in this space.")
        self.who = who


class PrincipalDisabled(PorticoError):
    kind = Kind.CONFLICT
    code = "principal_disabled"
    title = "The principal is disabled"
    fix = "Enable it first: portico people enable NAME"

    def __init__(self, who: str) -> None:
        super().__init__(f"{who!r} is disabled and cannot be given a key.")
        self.who = who


class NameTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "name_taken"
    title = "The name is taken"
    fix = (
        "Choose another; a key for whoever has it: portico keys create WHAT-FOR --to NAME; "
        "for a link that was lost: portico people invite NAME --again"
    )

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a principal named {name!r} in this space already.")
        self.name = name


class InvitationUsed(PorticoError):
    kind = Kind.CONFLICT
    code = "invitation_used"
    title = "The invitation is over"
    fix = "Ask whoever invited you for a new one: portico people invite NAME --again"

    def __init__(self) -> None:
        super().__init__("This invitation has been accepted already, or is more than a week old.")


class SpaceNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "space_not_found"
    title = "No such space"

    def __init__(self, space: str) -> None:
        super().__init__(f"There is no space {space!r}.")
        self.space = space


class NotConfirmed(PorticoError):
    kind = Kind.INVALID
    code = "not_confirmed"
    title = "Not confirmed"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Deleting the space {name!r} removes everything in it, for ever.",
            fix=f"Confirm with its name: {name}",
        )
        self.name = name


class Refused(PorticoError):
    kind = Kind.DENIED
    code = "refused"
    title = "Refused by policy"

    def __init__(
        self, tool: str, rule: str, reason: str, *, who: str, key: str | None = None
    ) -> None:
        whose = who if key is None else f"key:{key}"
        fix = f"See why: portico policy explain {whose} {tool}"
        if rule == NO_SCOPE:
            fix = "Come with a key that has it; an agent's run has what its starter's key has."
        super().__init__(f"{who!r} may not use {tool}: {reason} (rule {rule}).", fix=fix)
        self.tool = tool
        self.rule = rule
        self.reason = reason


class InvalidRule(PorticoError):
    kind = Kind.INVALID
    code = "bad_rule"
    type_name = "BadRule"
    title = "Not a rule"
    fix = "Say that part otherwise; `portico policy allow --help` tells what each takes."

    def __init__(self, name: str, flaws: Sequence[FieldError]) -> None:
        super().__init__(f"The rule {name[:64]!r} cannot be kept: {flaws[0].message}")
        self.field_errors = tuple(flaws)


class RuleTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "rule_taken"
    title = "The name is taken"
    fix = "Choose another, or remove that one first: portico policy remove NAME"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a rule {name[:64]!r} already.")
        self.name = name


class RuleNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "rule_not_found"
    title = "No such rule"
    fix = "List the rules there are: portico policy list"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no rule {name[:64]!r}.")
        self.name = name


class RuleOfTheFile(PorticoError):
    kind = Kind.CONFLICT
    code = "rule_of_the_file"
    title = "The rule stands in portico.toml"
    fix = "Take it out of [[policy.rules]] in portico.toml, and restart."

    def __init__(self, name: str) -> None:
        super().__init__(f"The rule {name[:64]!r} is no rule of this space: it is in the file.")
        self.name = name


class LimitReached(PorticoError):
    kind = Kind.EXHAUSTED
    code = "limit_reached"
    title = "Too many calls"

    def __init__(self, what: str, limit: int, retry_after: timedelta) -> None:
        seconds = max(1, round(retry_after.total_seconds()))
        super().__init__(
            f"There may be {limit} {what} in a minute, and there were.",
            fix=f"Try again in {seconds} s.",
        )
        self.retry_after = retry_after


class ContextNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "context_not_found"
    title = "No such task"
    fix = "Leave the header Portico-Context away, or open a task: portico contexts open"

    def __init__(self, context: str) -> None:
        super().__init__(f"There is no task {context[:64]!r} of yours.")


class ContextRefused(PorticoError):
    kind = Kind.DENIED
    code = "context_refused"
    title = "Not for agents"
    fix = "Leave the header Portico-Context away; a person or a worker can open tasks."

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is an agent, and its task is that of its key.")


class ApprovalPending(PorticoError):
    """Not a failure: the call is kept, and is made once somebody has said yes."""

    kind = Kind.CONFLICT
    code = "approval_pending"
    title = "Waiting for approval"

    def __init__(self, tool: str, approval: str, expires_at: datetime) -> None:
        super().__init__(
            f"{tool} needs somebody's approval, which has been asked for as {approval}.",
            fix=f"Make the same call again later, or ask for {approval}, to get its result.",
        )
        self.tool = tool
        self.approval = approval
        self.expires_at = expires_at


class ApprovalRejected(PorticoError):
    kind = Kind.DENIED
    code = "approval_rejected"
    title = "Not approved"
    fix = "Do not try to get the same in another way; ask whoever said no."

    def __init__(self, tool: str, approval: str, reason: str | None) -> None:
        super().__init__(f"{tool} was not approved ({approval}): {reason or 'no reason given'}.")
        self.approval = approval


class ApprovalNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "approval_not_found"
    title = "No such request"
    fix = "List what waits: portico approvals list"

    def __init__(self, approval: str) -> None:
        super().__init__(f"There is no request {approval[:64]!r} in this space.")


class ApprovalOver(PorticoError):
    kind = Kind.CONFLICT
    code = "approval_over"
    title = "Too late"

    def __init__(self, approval: str, status: str, by: str | None) -> None:
        whom = f" by {by}" if by else ""
        super().__init__(
            f"{approval} is {status}{whom} already.",
            fix="Make the call again to ask anew."
            if status in {"expired", "withdrawn"}
            else f"See it: portico approvals show {approval}",
        )
        self.status = status


class TooManyPendingApprovals(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_asked"
    type_name = "TooManyAsked"
    title = "Too many requests wait"

    def __init__(self, who: str, most: int) -> None:
        super().__init__(
            f"{most} requests of {who!r} wait for somebody's approval already.",
            fix="Have some of them answered: portico approvals list; or raise most_waiting in "
            "[approvals] of portico.toml.",
        )
        self.limit = most


class AskedOtherwise(PorticoError):
    kind = Kind.CONFLICT
    code = "asked_otherwise"
    title = "Something else was asked here"
    fix = "Fork the run from this step: what it wants now is then asked for by itself."

    def __init__(self, tool: str, approval: str) -> None:
        super().__init__(
            f"{approval} was asked at this place, and with other arguments for {tool[:200]}: an "
            "answer to that is none to this."
        )


class BlackedOut(PorticoError):
    kind = Kind.INVALID
    code = "blacked_out"
    title = "Not what was asked for"
    fix = "Write the value itself, or reject the request and have it asked for anew."

    def __init__(self, approval: str) -> None:
        super().__init__(
            f"The arguments for {approval} hold the mark that stands for a secret, and would be "
            "called with it."
        )


class OwnRequest(PorticoError):
    kind = Kind.DENIED
    code = "own_request"
    title = "Your own request"

    def __init__(self, approval: str, tool: str | None, who: str, options: str = "") -> None:
        """Without a tool it is something that no rule lets through."""
        rule = f", or, as an admin: portico policy allow {tool} --who {who}{options}"
        super().__init__(
            f"{approval} is your own request, and nobody answers their own.",
            fix=f"Ask somebody else, take it back (portico approvals withdraw {approval})"
            f"{'.' if tool is None else rule}",
        )


class RuleAsksOn(PorticoError):
    kind = Kind.CONFLICT
    code = "rule_asks_on"
    title = "A rule goes on asking"

    def __init__(self, rule: str) -> None:
        super().__init__(
            f"The rule {rule} asks, and goes on asking whatever another one allows: an answer for "
            "longer would change nothing.",
            fix=f"Answer once, or have an admin change that rule: portico policy remove {rule}, or "
            "portico.toml, if it stands there.",
        )


class PersonNeeded(PorticoError):
    kind = Kind.DENIED
    code = "person_needed"
    title = "Only a person answers"
    fix = "Have a person answer it: portico approvals list"

    def __init__(self, who: str) -> None:
        super().__init__(f"{who!r} is not a person, and only people answer requests.")


class InvalidAnswer(PorticoError):
    kind = Kind.INVALID
    code = "bad_answer"
    type_name = "BadAnswer"
    title = "Not an answer"

    def __init__(self, text: str, known: Sequence[str]) -> None:
        super().__init__(
            f"{text[:40]!r} is not an answer.", fix=f"Answer one of: {', '.join(known)}"
        )


class ApprovalUncertain(PorticoError):
    kind = Kind.CONFLICT
    code = "approval_uncertain"
    title = "Nobody knows whether it was done"

    def __init__(self, tool: str, approval: str) -> None:
        super().__init__(
            f"{tool} was approved as {approval} and may have been done: we went away, or its "
            "server did, before the answer came.",
            fix=f"Look whether it was done, then say so: portico approvals resolve {approval} "
            "done | retry | skip",
        )
        self.approval = approval


class ApprovedCallFailed(PorticoError):
    kind = Kind.CONFLICT
    code = "approved_call_failed"
    title = "Approved, but not done"
    fix = "Make the same call again to ask anew."

    def __init__(self, tool: str, approval: str, why: str) -> None:
        super().__init__(f"{tool} was approved as {approval}, but was not called: {why}")
        self.approval = approval


class IssuerUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "issuer_unavailable"
    title = "The token cannot be checked"
    fix = "Try again in a moment; if it lasts, look at oauth.issuers and at the server's log."

    def __init__(self) -> None:
        super().__init__("The keys of whoever made this token cannot be fetched just now.")


class LoginUnavailable(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "login_unavailable"
    title = "Logging in is not possible just now"
    fix = "Try again in a moment."

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where[:200]} does not answer as it should: {reason}.")


class GrantRefused(PorticoError):
    kind = Kind.DENIED
    code = "grant_refused"
    title = "The login was refused"
    fix = "Log in again."

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where[:200]} refuses: {reason[:200]}.")
        self.reason = reason[:200]


class LoginRefused(PorticoError):
    kind = Kind.DENIED
    code = "login_refused"
    title = "The login came to nothing"

    def __init__(self, server: str, reason: str, *, fix: str | None = None) -> None:
        super().__init__(
            f"Nobody is logged in to {server!r}: {reason}.",
            fix=fix or f"Begin again: portico servers login {server}",
        )
        self.server = server
        self.reason = reason


class LoginUnknown(PorticoError):
    kind = Kind.NOT_FOUND
    code = "login_unknown"
    title = "No such login"
    fix = "Begin again: portico servers login NAME"

    def __init__(self) -> None:
        super().__init__("This login was finished already, or begun more than ten minutes ago.")


class ArgumentsLost(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "arguments_lost"
    title = "The arguments cannot be read"
    fix = (
        "Make the same call again to ask anew; "
        "keep the old keys of the vault when it gets new ones."
    )

    def __init__(self, approval: str) -> None:
        super().__init__(f"The arguments of {approval} were sealed with a key that is not here.")


class BudgetNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "budget_not_found"
    title = "No such budget"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no budget or reservation {name[:200]!r} in this space.")


class BudgetTaken(PorticoError):
    kind = Kind.CONFLICT
    code = "budget_taken"
    title = "The budget is there already"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a budget or reservation {name[:200]!r} already.")
