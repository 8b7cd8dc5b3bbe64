"""Settings and keys: a page a subject."""

from typing import Final

from portico.interfaces.console.screens.settings import about, keys, people, policy, secrets, you

routes: Final = [
    *you.routes,
    *keys.routes,
    *people.routes,
    *policy.routes,
    *secrets.routes,
    *about.routes,
]
