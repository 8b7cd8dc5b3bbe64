"""What every store of attachments keeps to: a content is there once for each label."""

from dataclasses import replace

import pytest

from portico.bridge.core.attachment import Attachment, Digest
from portico.bridge.core.errors import AttachmentNotFound, WriteDown
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM, cleared_root
from tests.contracts.doors import REFUSED, Doors

CONTENT = bytes(range(256)) * 40


def an_attachment(
    by: Principal, content: bytes = CONTENT, *, name: str = "a.bin", label: Label = TEAM
) -> Attachment:
    return Attachment(
        digest=Digest.of(content),
        label=label,
        name=name,
        media_type="application/octet-stream",
        size=len(content),
        untrusted=True,
        by=by.id,
        at=BEGINNING,
    )


@pytest.mark.parametrize("content", [CONTENT, b""])
async def test_what_was_added_is_there_byte_by_byte(doors: Doors, content: bytes) -> None:
    root = await cleared_root(doors)
    added = an_attachment(root, content)

    await doors.attachments.put(root, added, content)

    assert await doors.attachments.get(root, added.digest) == (added, content)
    assert await doors.attachments.about(root, added.digest) == added


async def test_the_same_again_changes_nothing(doors: Doors) -> None:
    root = await cleared_root(doors)
    await doors.attachments.put(root, an_attachment(root), CONTENT)

    await doors.attachments.put(root, an_attachment(root, name="b.bin"), CONTENT)

    assert (await doors.attachments.about(root, Digest.of(CONTENT))).name == "a.bin"


async def test_of_the_same_content_the_least_secret_is_given(doors: Doors) -> None:
    root = await cleared_root(doors)
    for label in (SECRET, LAW, FINANCE):
        await doors.attachments.put(
            root, an_attachment(root, label=label, name=str(label)), CONTENT
        )

    async def got(clearance: Label) -> str:
        caller = replace(root, clearance=clearance)
        return (await doors.attachments.about(caller, Digest.of(CONTENT))).name

    assert await got(SECRET) == str(FINANCE)
    assert await got(LAW) == str(LAW)
    await doors.attachments.put(root, an_attachment(root, name="low"), CONTENT)
    assert await got(SECRET) == "low"


async def test_above_ones_clearance_there_is_nothing(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    await doors.attachments.put(root, an_attachment(root, label=FINANCE), CONTENT)

    for caller in (replace(root, clearance=LAW), other):
        with pytest.raises(AttachmentNotFound):
            await doors.attachments.get(caller, Digest.of(CONTENT))
        with pytest.raises(AttachmentNotFound):
            await doors.attachments.about(caller, Digest.of(CONTENT))


async def test_nothing_is_added_below_what_was_read_nor_above_ones_clearance(doors: Doors) -> None:
    root = await cleared_root(doors)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.attachments.put(root, an_attachment(root), CONTENT)
    low = replace(root, clearance=FINANCE)
    with pytest.raises(REFUSED):
        await doors.attachments.put(low, an_attachment(root, label=SECRET), CONTENT)


async def test_attachments_go_with_their_space(doors: Doors) -> None:
    root = await cleared_root(doors)
    await doors.attachments.put(root, an_attachment(root), CONTENT)

    await doors.spaces.delete(root)

    with pytest.raises(AttachmentNotFound):
        await doors.attachments.get(root, Digest.of(CONTENT))
    with pytest.raises(REFUSED):
        await doors.attachments.put(root, an_attachment(root), CONTENT)
