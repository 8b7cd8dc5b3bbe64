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
    "vector_reach",
    "participant",
    "read_apart",
    "mention",
    "memory",
    "attachment",
    "lease",
    "work",
    "presence",
    "declassification",
]
