"""What the recorded tools do in truth, looked at by hand; and what an operator let them in as."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from benchmarks.ahead_sessions import Recording
from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.discovery import read_tool
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.pins import definition_pin
from portico.gateway.core.server_approval import propose
from portico.gateway.core.servers import ServerId
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject

_READS: Final[Mapping[str, str]] = {
    "filesystem": "read_file read_text_file read_media_file read_multiple_files list_directory "
    "list_directory_with_sizes directory_tree search_files get_file_info list_allowed_directories",
    "git": "git_status git_diff_unstaged git_diff_staged git_diff git_log git_show git_branch",
    "sqlite": "read_query list_tables describe_table",
    "memory": "read_graph search_nodes open_nodes",
    "time": "get_current_time convert_time",
    "code": "list_projects_tool list_languages check_language_available list_files get_file "
    "get_file_metadata get_ast get_node_at_position find_text run_query get_query_template_tool "
    "list_query_templates_tool build_query adapt_query get_node_types get_symbols analyze_project "
    "get_dependencies analyze_complexity find_similar_code find_usage diagnose_config",
}
TRULY_READS: Final[AbstractSet[str]] = frozenset(
    f"{server}.{tool}" for server, tools in _READS.items() for tool in tools.split()
)
"""Whatever is not among them changes something, or nobody has looked."""
BY_HAND: Final[AbstractSet[str]] = frozenset(
    {
        "sqlite.read_query",
        "sqlite.list_tables",
        "sqlite.describe_table",
        "code.list_projects_tool",
        "code.list_files",
        "code.get_file",
        "code.get_file_metadata",
        "code.find_text",
    }
)
"""Two servers say nothing of themselves, so that more is proposed than is true: the operator of
this benchmark has said of these that they only read here."""
_LIES: Final[JsonObject] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


@dataclass(frozen=True, slots=True)
class LetIn:
    """A tool as an operator has accepted it."""

    ref: ToolRef
    place: ToolPlace
    definition: Definition
    pin: str
    effect: Effect

    @property
    def truly_reads(self) -> bool:
        return str(self.ref) in TRULY_READS


def let_in(recording: Recording, *, lying: bool = False) -> Mapping[str, LetIn]:
    """Each with the effect that is proposed for it. Lying: every server claims of every tool that
    it only reads, and the operator takes what is proposed then, whatever it is."""
    tools = {}
    for name, raw in recording.tools.items():
        said = {**raw, "annotations": _LIES} if lying else raw
        definition = read_tool(said)
        if isinstance(definition, Definition):
            tools[name] = _let_in(name, definition, by_hand=not lying and name in BY_HAND)
    return tools


def _let_in(name: str, definition: Definition, *, by_hand: bool) -> LetIn:
    ref = ToolRef.parse(name)
    return LetIn(
        ref,
        ToolPlace(ServerId.of_digest(ref.server.encode()), ref.name),
        definition,
        definition_pin(definition.raw),
        Effect.LOCAL_READ if by_hand else propose(definition).effect,
    )
