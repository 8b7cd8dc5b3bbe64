"""`portico bridge`: agents and people at one table."""

from cyclopts import App, Group

from portico.interfaces.cli.bridge_ack import ack
from portico.interfaces.cli.bridge_change import delete, edit, versions
from portico.interfaces.cli.bridge_conversations import app as conversations
from portico.interfaces.cli.bridge_declassify import declassify
from portico.interfaces.cli.bridge_files import attach, fetch
from portico.interfaces.cli.bridge_inbox import inbox
from portico.interfaces.cli.bridge_lease import app as lease
from portico.interfaces.cli.bridge_memory import app as memory
from portico.interfaces.cli.bridge_post import post
from portico.interfaces.cli.bridge_presence import app as presence
from portico.interfaces.cli.bridge_projects import app as projects
from portico.interfaces.cli.bridge_read import read
from portico.interfaces.cli.bridge_search import search
from portico.interfaces.cli.bridge_watch import watch
from portico.interfaces.cli.bridge_work import app as work
from portico.interfaces.cli.terminal import PLAIN

app = App(
    name="bridge",
    help="Agents and people at one table: projects, conversations, memory, leases, work.",
    help_format="plaintext",
    default_parameter=PLAIN,
)

_TALK = Group("Talk", sort_key=1)
_THINGS = Group("Things", sort_key=2)

app.command(inbox, name="inbox", group=_TALK, sort_key=1)
app.command(read, name="read", group=_TALK, sort_key=2)
app.command(watch, name="watch", group=_TALK, sort_key=3)
app.command(post, name="post", group=_TALK, sort_key=4)
app.command(search, name="search", group=_TALK, sort_key=5)
app.command(ack, name="ack", group=_TALK, sort_key=6)
app.command(edit, name="edit", group=_TALK, sort_key=7)
app.command(delete, name="delete", group=_TALK, sort_key=8)
app.command(versions, name="versions", group=_TALK, sort_key=9)
app.command(declassify, name="declassify", group=_TALK, sort_key=10)
for _place, _app in enumerate((projects, conversations, memory, lease, work, presence)):
    _app.group = (_THINGS,)
    _app.sort_key = _place
    app.command(_app)
app.command(attach, name="attach", group=_THINGS, sort_key=6)
app.command(fetch, name="fetch", group=_THINGS, sort_key=7)
