"""Names that an eye takes for each other have one skeleton."""

from collections import Counter

import pytest

from portico.gateway.core.look_alikes import look_alike, skeleton
from tests.gateway.core.catalogues import catalogues


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("github", "GitHub"),
        ("github", "g1thub"),
        ("github", "glthub"),
        ("gitlab", "git-lab"),
        ("gitlab", "git_lab"),
        ("gitlab", "gitIab"),
        ("paypal", "p\u0430yp\u0430l"),
        ("scope", "\u0455\u0441\u043e\u0440\u0435"),
        ("google", "g\u03bf\u03bfgle"),
        ("google", "g00gle"),
        ("read_file", "read.file"),
        ("read", "\uff52\uff45\uff41\uff44"),
        ("modern", "rnodern"),
        ("wiki", "vviki"),
        ("cafe", "café"),
        ("file", "ﬁle"),
        ("disk", "d\u0131sk"),
        ("hotel", "h\u0585tel"),
        ("yellow", "ye\u0142low"),
    ],
)
def test_what_looks_alike_is_alike(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("github", "gitlab"), ("slack", "slacks"), ("s3", "s4"), ("db-1", "db-2"), ("a", "b")],
)
def test_what_does_not_is_not(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


def test_the_other_is_named_and_a_name_is_not_its_own_other() -> None:
    assert look_alike("g1thub", ["slack", "github"]) == "github"
    assert look_alike("github", ["slack", "github"]) is None


def test_real_servers_have_no_two_tools_that_look_alike() -> None:
    for server, catalogue in catalogues().items():
        counted = Counter(skeleton(tool["name"]) for tool in catalogue["tools"])

        assert [name for name, count in counted.items() if count > 1] == [], server
