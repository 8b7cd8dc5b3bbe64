"""Attachments: add and read."""

from dataclasses import dataclass

from portico.bridge.core.attachments import Attachment, Digest, flaws_of_attachment
from portico.bridge.core.errors import raise_if_invalid
from portico.bridge.core.messages import label_of
from portico.bridge.core.projects import ProjectId
from portico.bridge.ports import Attachments
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder, in_view_context
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    open_project: OpenProject
    attachments: Attachments
    taint: TaintRecorder
    clock: Clock

    async def __call__(  # noqa: PLR0917 # what is said of it beside its content
        self,
        caller: Principal,
        project: ProjectId,
        name: str,
        media_type: str,
        content: bytes,
        label: Label | None = None,
    ) -> Attachment:
        """As it was given, whether or not the same is there already: that would tell of others.
        Raises `NotPermitted`, `InvalidBridgeInput`, `ProjectNotFound`, `Archived`, `WriteDown`,
        `BelowContainer`, `AboveClearance`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_attachment(name, media_type, len(content)))
        caller, inside = await self.open_project.to_write(caller, project)
        mark = await self.taint.at(caller)
        labelled = label_of(label, inside=inside.label, mark=mark.label, clearance=caller.clearance)
        attachment = Attachment(
            digest=Digest.of(content),
            label=labelled.label,
            name=name,
            media_type=media_type,
            size=len(content),
            untrusted=mark.untrusted,
            by=caller.id,
            at=self.clock.now(),
        )
        await self.attachments.put(caller, attachment, content)
        return attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAttachment:
    attachments: Attachments
    taint: TaintRecorder

    async def __call__(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        """The least secret one of this content: it is the same, and its reader has read no more.
        Raises `NotPermitted`, `AttachmentNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller = in_view_context(caller, None)
        found, content = await self.attachments.get(caller, digest)
        await self.taint.read(caller, [found.label], untrusted=found.untrusted)
        return found, content
