"""The one question that each use case of the guard asks first."""

from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from portico.kernel.principal import Principal


def permit(caller: Principal, scope: Scope) -> None:
    """Raises `NotPermitted`."""
    if not caller.may(scope):
        raise NotPermitted(caller.name, scope)
