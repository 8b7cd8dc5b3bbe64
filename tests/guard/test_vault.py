"""The key of the vault is exchanged while others seal: nothing is lost, wherever it breaks off."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from portico.adapters.crypto import HEAD_BYTES, RingVault, head
from portico.guard.core.vault import VaultClosed, VaultKeys
from portico.guard.ports import Vault
from portico.guard.vault import BATCH, Rotated, RotateVault
from portico.testing.memory_store import SeededEntropy

ENTROPY = SeededEntropy("rotation")
OLD = VaultKeys.fresh(ENTROPY)
STRANGER = VaultKeys.fresh(ENTROPY)


class Interrupted(Exception): ...


class Kept:
    def __init__(self, keys: VaultKeys | None) -> None:
        self.keys = keys
        self.changes_left = 99

    async def read(self) -> VaultKeys | None:
        return self.keys

    async def change(self, to: Callable[[VaultKeys], VaultKeys]) -> VaultKeys:
        if not self.changes_left:
            raise Interrupted
        self.changes_left -= 1
        assert self.keys is not None
        self.keys = to(self.keys)
        return self.keys


class Rows:
    def __init__(self, *sealed: bytes) -> None:
        self.sealed = [*sealed]

    async def seal_anew(self, vault: Vault, current: str, known: Sequence[str], limit: int) -> int:
        heads = {head(key) for key in known} - {head(current)}
        stale = [n for n, each in enumerate(self.sealed) if each[:HEAD_BYTES] in heads][:limit]
        for number in stale:
            plain = vault.decrypt(self.sealed[number], b"row")
            assert plain is not None
            self.sealed[number] = vault.encrypt(plain, b"row")
        return len(stale)

    async def tally(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for each in self.sealed:
            key = each[2:HEAD_BYTES].decode()
            found[key] = found.get(key, 0) + 1
        return found


class Room:
    """Another process seals a row each time that it is waited for, with the keys of that time."""

    def __init__(self, keys: VaultKeys | None = OLD, count: int = 3) -> None:
        self.kept = Kept(keys)
        self.rows = Rows(*(RingVault(OLD).encrypt(b"%d" % n, b"row") for n in range(count)))
        self.count = count
        self.other = RingVault(keys)
        self.alone = asyncio.Lock()

    async def until_known(self) -> None:
        assert self.kept.keys is not None
        self.rows.sealed.append(self.other.encrypt(b"meanwhile", b"row"))
        self.other.use(self.kept.keys)
        self.rows.sealed.append(self.other.encrypt(b"meanwhile", b"row"))
        self.count += 2
        await asyncio.sleep(0)

    async def rotate(self, *, elsewhere: bool = False) -> Rotated:
        rotate = RotateVault(
            keys=self.kept,
            sealed=self.rows,
            vault_of=RingVault,
            fresh=lambda: VaultKeys.fresh(ENTROPY).current,
            until_known=self.until_known,
            alone=lambda: self.alone,
            elsewhere=elsewhere,
        )
        return await rotate()

    def opened(self) -> int:
        vault = RingVault(self.kept.keys)
        return sum(vault.decrypt(each, b"row") is not None for each in self.rows.sealed)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_everything_is_sealed_anew_and_the_old_key_is_forgotten() -> None:
    room = Room(count=2 * BATCH + 1)

    done = await room.rotate()

    assert room.kept.keys is not None
    assert [*room.kept.keys.ids()] == [done.key]
    assert done.key != OLD.current.id
    assert done.lost == 0
    assert room.opened() == room.count == len(room.rows.sealed)
    assert await room.rows.tally() == {done.key: room.count}


@pytest.mark.requirement("guard:vault:rotates")
@pytest.mark.parametrize("changes", range(4))
async def test_it_may_break_off_anywhere_and_is_ended_by_the_next(changes: int, room: Room) -> None:
    room.kept.changes_left = changes
    if changes < 3:
        with pytest.raises(Interrupted):
            await room.rotate()
        assert room.opened() == room.count
    room.kept.changes_left = 99

    done = await room.rotate()

    assert room.opened() == room.count
    assert await room.rows.tally() == {done.key: room.count}


async def test_what_a_strangers_key_has_sealed_stays(room: Room) -> None:
    room.rows.sealed.append(RingVault(STRANGER).encrypt(b"theirs", b"row"))

    done = await room.rotate()

    assert done.lost == 1
    assert room.opened() == room.count

    with pytest.raises(VaultClosed):
        await Room(None).rotate()


async def test_keys_that_are_somebody_elses_stay_and_it_is_told_which_are_done_with() -> None:
    new = VaultKeys.fresh(ENTROPY).current
    room = Room(OLD.announcing(new).led_by_newest())
    room.kept.changes_left = 0

    done = await room.rotate(elsewhere=True)

    assert done.left == (OLD.current.id,)
    assert await room.rows.tally() == {new.id: 3}


async def test_two_at_once_take_turns_and_nothing_is_lost(room: Room) -> None:
    done = await asyncio.gather(*(room.rotate() for _ in range(3)))

    assert room.opened() == room.count
    assert [each.lost for each in done] == [0, 0, 0]
    assert len({each.key for each in done}) == 3
    assert room.kept.keys is not None
    assert [*room.kept.keys.ids()] == [done[-1].key]


async def test_keys_that_somebody_changed_meanwhile_all_stay(room: Room) -> None:
    late = VaultKeys.fresh(ENTROPY).current
    sealed_with_it = RingVault(VaultKeys((late,))).encrypt(b"theirs", b"row")

    class Changed(Rows):
        async def seal_anew(
            self, vault: Vault, current: str, known: Sequence[str], limit: int
        ) -> int:
            assert room.kept.keys is not None
            if late not in room.kept.keys.keys:
                room.kept.keys = room.kept.keys.announcing(late)
                self.sealed.append(sealed_with_it)
                room.count += 1
            return await super().seal_anew(vault, current, known, limit)

    room.rows = Changed(*room.rows.sealed)

    done = await room.rotate()

    assert room.opened() == room.count
    assert done.lost == 0
    assert room.kept.keys is not None
    assert late in room.kept.keys.keys
