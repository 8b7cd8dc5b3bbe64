"""Every use case, put on its doors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.engine.core.store import StoreStatus
from portico.engine.do_once import DoOnce
from portico.engine.ports import Receipts
from portico.engine.show_status import ShowStatus
from portico.faces.http.use_cases import UseCases
from portico.guard.authenticate import Authenticate
from portico.guard.change_keys import ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.invite import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.issue_key import IssueKey
from portico.guard.manage_principals import (
    AddPrincipal,
    ChangePrincipal,
    ListPrincipals,
    ShowPrincipal,
)
from portico.guard.manage_spaces import (
    DeleteSpace,
    ExportSpace,
    FoundSpace,
    RenameSpace,
    ShowSpace,
)
from portico.guard.ports import KeyRing, Keys, Principals, Spaces, Together
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What all of them need from outside: given once, shared by all."""

    key_ring: KeyRing
    keys: Keys
    principals: Principals
    spaces: Spaces
    receipts: Receipts
    together: Together
    clock: Clock
    entropy: Entropy
    pepper: bytes
    store_status: Callable[[], Awaitable[StoreStatus]]
    version: str
    base_url: str


def assemble(doors: Doors) -> UseCases:
    keys, principals, spaces = doors.keys, doors.principals, doors.spaces
    clock, entropy, pepper = doors.clock, doors.entropy, doors.pepper
    add_principal = AddPrincipal(principals=principals, clock=clock, entropy=entropy)
    return UseCases(
        authenticate=Authenticate(key_ring=doors.key_ring, clock=clock, pepper=pepper),
        do_once=DoOnce(receipts=doors.receipts),
        found_space=FoundSpace(spaces=spaces, clock=clock, entropy=entropy, pepper=pepper),
        show_space=ShowSpace(spaces=spaces),
        rename_space=RenameSpace(spaces=spaces),
        export_space=ExportSpace(spaces=spaces),
        delete_space=DeleteSpace(spaces=spaces),
        add_principal=add_principal,
        list_principals=ListPrincipals(principals=principals),
        show_principal=ShowPrincipal(principals=principals),
        change_principal=ChangePrincipal(
            principals=principals, keys=keys, together=doors.together, clock=clock
        ),
        invite_person=InvitePerson(
            add_principal=add_principal,
            keys=keys,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        invite_again=InviteAgain(
            principals=principals,
            keys=keys,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        accept_invitation=AcceptInvitation(
            keys=keys, together=doors.together, clock=clock, entropy=entropy, pepper=pepper
        ),
        issue_key=IssueKey(
            keys=keys, principals=principals, clock=clock, entropy=entropy, pepper=pepper
        ),
        list_keys=ListKeys(keys=keys),
        show_key=ShowKey(keys=keys),
        rotate_key=RotateKey(
            keys=keys,
            principals=principals,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        revoke_key=RevokeKey(keys=keys, principals=principals, clock=clock),
        show_status=ShowStatus(store_status=doors.store_status),
        version=doors.version,
        base_url=doors.base_url,
    )
