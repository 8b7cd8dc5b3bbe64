"""How much each sign counts: learnt from published plans, by `just bench suggest`.

UltraTool, whose licence is not clear, had no part in it.
"""

from types import MappingProxyType
from typing import Final

from portico.learning.core.suggest.signs import Sign, Weights

LIKELY: Final = Weights(MappingProxyType({Sign.EITHER: 0.8615, Sign.STEP: 0.3227}), 0.4965)
"""That a tool is in the plan, each by itself."""
UNPRECEDENTED: Final = Weights(MappingProxyType({Sign.EITHER: 0.2283, Sign.STEP: 0.7025}), 1.5)
"""The same where nothing like it was done before."""
NEXT: Final = Weights(
    MappingProxyType(
        {
            Sign.SEARCH: 0.2394,
            Sign.STEP: 0.3194,
            Sign.VOTE: 0.3572,
            Sign.FOLLOWS: 0.3854,
            Sign.AFTER: 0.6338,
            Sign.DONE: -1.0019,
        }
    )
)
"""That it comes next, one of them being it."""
