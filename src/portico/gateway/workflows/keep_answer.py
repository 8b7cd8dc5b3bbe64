"""What a tool answered to a run, kept as the document that later steps refer to."""

from portico.engine.execution import patiently
from portico.gateway.core.call import Answer, ResultId
from portico.gateway.core.errors import ToolSaidNo
from portico.gateway.core.plan.output import UNKNOWN_DOCUMENT, step_document
from portico.gateway.core.reserved_metadata import admits
from portico.gateway.core.saved_workflow import ADMITTED
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.outputs import Kept
from portico.kernel.json import JsonObject


async def kept_answer(acting: Acting, tool: str, answer: Answer, keep_as: ResultId | None) -> Kept:
    """Also the words of one that failed. Raises `ToolSaidNo`, `KeyEnded`, `VaultClosed`."""
    document = step_document(answer)
    if answer.failed:
        document = {**document, "isError": True}
    if admits(answer):
        document = {**document, ADMITTED: True}
    asker = await patiently(acting.asker)
    kept = await patiently(lambda: acting.outputs.keep(asker, document, keep_as))
    if answer.failed:
        raise ToolSaidNo(tool, str(kept.result))
    return kept


async def kept_unknown(acting: Acting) -> Kept:
    """Of what was done while nobody heard the answer: nothing is made up in its place. Raises
    `KeyEnded`, `VaultClosed`."""
    asker = await patiently(acting.asker)
    return await patiently(lambda: acting.outputs.keep(asker, UNKNOWN_DOCUMENT, None))


def noted_of(kept: Kept) -> JsonObject:
    """As it stands in the journal."""
    admitted: JsonObject = {ADMITTED: True} if kept.admitted else {}
    return {"result": str(kept.result), "size": kept.size, **admitted}
