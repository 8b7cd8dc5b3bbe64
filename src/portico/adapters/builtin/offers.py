"""All that the server of our own tools may offer, and the version of it."""

from typing import Final

from portico.adapters.builtin.check_permission import CHECK_PERMISSION
from portico.adapters.builtin.fetch import FETCH
from portico.adapters.builtin.list_files import LIST_FILES
from portico.adapters.builtin.make_folder import MAKE_FOLDER
from portico.adapters.builtin.metrics import METRICS
from portico.adapters.builtin.models_info import MODELS_INFO
from portico.adapters.builtin.move_file import MOVE_FILE
from portico.adapters.builtin.notify import NOTIFY
from portico.adapters.builtin.read_file import READ_FILE
from portico.adapters.builtin.remove_file import REMOVE_FILE
from portico.adapters.builtin.run_code import RUN_CODE
from portico.adapters.builtin.send_request import SEND_REQUEST
from portico.adapters.builtin.shell import SHELL
from portico.adapters.builtin.workflow_state import WORKFLOW_STATE
from portico.adapters.builtin.write_file import WRITE_FILE
from portico.gateway.core.servers import BUILTIN, Inside

VERSION: Final = "1"
"""Another one as soon as one of them can do more than it could: then it is approved anew. A word
in a description changes only the pin of that tool; and one that is new waits for approval by
itself, while those that were approved go on."""

LAUNCH: Final = Inside(BUILTIN, VERSION)

OFFERED: Final = (
    SHELL,
    READ_FILE,
    WRITE_FILE,
    LIST_FILES,
    MOVE_FILE,
    REMOVE_FILE,
    MAKE_FOLDER,
    FETCH,
    SEND_REQUEST,
    RUN_CODE,
    MODELS_INFO,
    WORKFLOW_STATE,
    METRICS,
    CHECK_PERMISSION,
    NOTIFY,
)

INSTRUCTIONS: Final = (
    "Tools of Portico itself. `shell` and the tools for files share one workspace, which is yours "
    "alone and stays; a path is relative to it. What `fetch` has brought is put there with "
    "`write_file`."
)
