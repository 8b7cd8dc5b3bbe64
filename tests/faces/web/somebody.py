"""Another person at the same console, with less than Ana has."""

from portico.guard.core.roles import Role
from portico.guard.manage_principals import PrincipalWish
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind
from tests.faces.web.conftest import Browser


async def somebody(
    console: Browser, name: str, *, role: Role = Role.MEMBER, clearance: str = "team"
) -> Browser:
    use = console.site.use
    ana = (await use.authenticate(console.site.key)).principal
    wish = PrincipalWish(
        kind=PrincipalKind.PERSON,
        name=name,
        roles=frozenset({role}),
        clearance=Label.parse(clearance),
    )
    made = await use.add_principal(ana, wish)
    key = await console.site.ask(
        "POST", "/api/v1/keys", {"name": f"{name}s", "principal": str(made.id)}
    )
    assert key.status == 201, key.json
    browser = Browser(console.app, console.site, console.house)
    await browser.log_in(key.json["key"])
    return browser
