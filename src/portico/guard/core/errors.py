"""What the guard refuses.

PorticoError
├── NotAuthenticated    no key, or one that opens nothing; never says which
├── NotPermitted        a key that opens this door, but not this one
├── Overreach           giving away more than one has oneself
├── OwnAccess           changing what oneself may do
├── KeyNotFound
├── KeyEnded            rotating what no longer opens anything
├── PrincipalNotFound
├── PrincipalDisabled
├── NameTaken
├── InvitationUsed      a link that was good once
├── SpaceNotFound
└── NotConfirmed        deleting without saying the name
"""

from portico.kernel.errors import Kind, PorticoError


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
    fix = "Choose another; for a link that was lost: portico people invite NAME --again"

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
