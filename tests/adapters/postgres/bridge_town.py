"""The tables of the bridge, behind whose walls nobody looks."""

from typing import Final

BRIDGE_TABLES: Final = [
    "bridge_label",
    "project",
    "conversation",
    "message",
    "message_version",
    "message_ack",
    "message_vector",
    "embedding_progress",
    "participant",
    "read_message",
    "mention",
    "memory",
    "attachment",
    "lease",
    "work_item",
    "presence",
    "declassification",
]
