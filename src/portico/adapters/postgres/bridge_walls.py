"""The first wall of the bridge: every statement says what its caller may see. The second is in the
tables, and knows nothing of this one."""

from typing import Final, LiteralString

from portico.adapters.postgres.rows import as_label
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.contexts import context_of
from portico.kernel.label import PUBLIC, Label, meet
from portico.kernel.principal import Principal

CLEAR: Final[LiteralString] = "%(level)s::smallint, %(compartments)s::text[]"
"""What the functions of the database are told."""
WALL: Final[LiteralString] = f"{CLEAR}, %(everyone)s"
WHOLE: Final[LiteralString] = "%(whole_level)s::smallint, %(whole_compartments)s::text[]"
"""Without regard to how much of it they want to see now."""
_MARK: Final[LiteralString] = """
    SELECT level, compartments FROM portico.taint_context
     WHERE space_id = %(space)s AND context_id = %(context)s
"""


def first_wall(caller: Principal) -> tuple[Label, bool]:
    """The most secret that they may see, and whether also what is said in closed conversations
    without them: never. Proofs that the second wall stands alone put something else here."""
    return caller.clearance, False


def cleared(caller: Principal, upto: Label | None = None) -> dict[str, object]:
    whole, everyone = first_wall(caller)
    label = whole if upto is None else meet(whole, upto)
    return {
        "space": caller.space.value,
        "principal": caller.id.value,
        "level": int(label.level),
        "compartments": sorted(label.compartments),
        "whole_level": int(whole.level),
        "whole_compartments": sorted(whole.compartments),
        "everyone": everyone,
    }


async def mark_of(transactions: Transactions, caller: Principal) -> Label:
    """What their task has read, for whoever has to be told why they may not write."""
    asked = {"space": caller.space.value, "context": context_of(caller).value}
    [rows] = await transactions.looked_up(caller, (_MARK, asked))
    return as_label(rows[0]["level"], rows[0]["compartments"]) if rows else PUBLIC
