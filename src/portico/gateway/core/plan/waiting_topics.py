"""Under which topics a run hears what becomes of a request that it has made."""


def step_asked(topic: str) -> str:
    """The call that asked under it: `read` of `~approval:read:1`, `read[3]` also when it was tried
    again."""
    call = topic.removeprefix("~approval:").rpartition(":")[0]
    return call.partition("~")[0]


def later_topic(topic: str, look: int) -> str:
    """A topic is answered once; of a request there may be more to be told than that: that nobody
    knows whether it was made, and then what somebody says of it."""
    return topic if look == 1 else f"{topic}+{look}"
