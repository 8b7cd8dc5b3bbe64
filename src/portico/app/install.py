"""`portico init`: a database, a space and a key, made once however often it is asked for."""

from collections.abc import Callable

from portico.adapters.postgres.checks import first_admin, space_name
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.store import PostgresSchema
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.adapters.system.files import write_private
from portico.adapters.system.secrets import make_pepper
from portico.app.agent_key import leave_agent_key
from portico.app.audit import open_audit
from portico.app.ground import Ground
from portico.app.secrets import SecretDoors
from portico.app.use_cases import use_cases
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.core.principals import Identity
from portico.guard.core.spaces import HOME
from portico.guard.keys import IssuedKey, KeyWish
from portico.guard.spaces import InstallHome, SpaceWish
from portico.interfaces.cli.house import Welcome
from portico.settings.edit import STARTER


async def install(
    ground: Ground, *, admin: str, recover: bool, progress: Callable[[str], None]
) -> Welcome:
    paths, store = ground.loaded.paths, ground.store
    if not paths.config_file.exists():
        write_private(paths.config_file, STARTER)
    await store.start(create=True, progress=progress)
    try:
        applied = [migration async for migration in ground.migrate()()]
        progress("making your space")
        async with PostgresSchema(store.owner_address).locked():  # one of a crowd makes it
            known = await first_admin(store.owner_address)
            first = known or await _found_home(ground, admin)
            lost = known is not None and (not await _key_opens(ground, recover=recover) or recover)
            if lost:
                await _recover(ground, first)
            await _leave_agent_key(ground, first)
        return Welcome(
            new=known is None,
            recovered=lost,
            space=await space_name(store.owner_address, first.space),
            admin=first.name,
            key_file=paths.key_file,
            agent_key_file=ground.agent_key_file,
            migrations=len(applied),
        )
    finally:
        await store.release()


async def _key_opens(ground: Ground, *, recover: bool) -> bool:
    """Whether the key file holds a key that works. Raises `PepperMissing`, unless told to recover:
    without the pepper no key of this installation can ever work again."""
    if recover and ground.loaded.settings.identity.pepper is None:
        make_pepper(ground.loaded.paths.pepper_file)
    try:
        key = ground.loaded.paths.key_file.read_text().strip()
    except OSError:
        return False
    async with open_pool(ground.store.addresses.app, 2) as pool:
        try:
            await use_cases(ground, Transactions(pool)).authenticate(key)
        except (NotAuthenticated, InvitationUsed):
            return False
    return True


async def _found_home(ground: Ground, admin: str) -> Identity:
    if ground.loaded.settings.identity.pepper is None:
        make_pepper(ground.loaded.paths.pepper_file)
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        found = InstallHome(
            spaces=PostgresSpaces(transactions),
            together=transactions.begin,
            audit=open_audit(ground, transactions).audit,
            clock=SystemClock(),
            entropy=system_entropy,
            pepper=ground.pepper(),
        )
        installed = await found(SpaceWish(name=HOME, admin=admin))
    _keep(ground, installed.key)
    SecretDoors(ground).open_vault(first=True)
    return installed.admin


async def _recover(ground: Ground, admin: Identity) -> None:
    """Whoever can read the database's password is its owner: a lost key is a new one away."""
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        _keep(ground, await use.issue_key(as_principal(admin), KeyWish(name="command line")))


async def _leave_agent_key(ground: Ground, admin: Identity) -> None:
    async with open_pool(ground.store.addresses.app, 2) as pool:
        use = use_cases(ground, Transactions(pool))
        await leave_agent_key(ground, use, as_principal(admin))


def _keep(ground: Ground, issued: IssuedKey) -> None:
    ground.save_key(issued.key.reveal())
