"""The frontier as a drawing for the docs: accuracy against calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

WIDE: Final = 720
HIGH: Final = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 20, 20, 44
_LEAST_ROOM: Final = 0.5
_FIRST: Final = 0.8
_COLOURS: Final = {"vote": "#1460aa", "debate": "#aa5a14"}
_HEAD: Final = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" '
    'font-family="sans-serif" font-size="12" role="img">\n'
    "<title>Accuracy against calls, recorded MATH debates</title>\n"
    f'<rect width="{WIDE}" height="{HIGH}" fill="#fff"/>'
)
Place = Callable[[float, float], tuple[float, float]]


def plot(
    learnt: Sequence[tuple[str, float, float]], fixed: Mapping[str, tuple[float, float]]
) -> str:
    """`learnt`: a line's name, calls, accuracy; `fixed`: calls and accuracy by rule."""
    calls = [each[1] for each in learnt] + [each[0] for each in fixed.values()]
    right = [each[2] for each in learnt] + [each[1] for each in fixed.values()]
    low, high = min(right) - _LEAST_ROOM, max(right) + _LEAST_ROOM
    most = max(calls) + 0.3

    def place(call: float, accuracy: float) -> tuple[float, float]:
        across = _LEFT + (WIDE - _LEFT - _RIGHT) * (call - _FIRST) / (most - _FIRST)
        down = _TOP + (HIGH - _TOP - _BOTTOM) * (high - accuracy) / (high - low)
        return round(across, 1), round(down, 1)

    return "\n".join(
        [
            _HEAD,
            *_grid(place, most, (low, high)),
            *_lines(place, learnt),
            *_crosses(place, fixed),
            f'<text x="{WIDE / 2}" y="{HIGH - 8}" text-anchor="middle">calls</text>',
            "</svg>",
            "",
        ]
    )


def _grid(place: Place, most: float, between: tuple[float, float]) -> list[str]:
    low, high = between
    drawn = []
    for call in range(1, int(most) + 1):
        x, y = place(call, low)
        drawn.append(f'<path d="M{x} {_TOP}V{y}" stroke="#eee"/>')
        drawn.append(f'<text x="{x}" y="{y + 16}" text-anchor="middle">{call}</text>')
    for accuracy in range(int(low) + 1, int(high) + 1):
        x, y = place(_FIRST, accuracy)
        drawn.append(f'<path d="M{x} {y}H{WIDE - _RIGHT}" stroke="#eee"/>')
        drawn.append(f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{accuracy} %</text>')
    return drawn


def _lines(place: Place, learnt: Sequence[tuple[str, float, float]]) -> list[str]:
    drawn = []
    for name, colour in _COLOURS.items():
        spots = sorted(place(call, right) for line, call, right in learnt if line == name)
        path = " ".join(f"{x},{y}" for x, y in spots)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in spots]
        x, y = spots[-1]
        drawn.append(f'<text x="{x}" y="{y - 8}" fill="{colour}">portico {name}</text>')
    return drawn


def _crosses(place: Place, fixed: Mapping[str, tuple[float, float]]) -> list[str]:
    drawn = []
    for name, (call, right) in fixed.items():
        x, y = place(call, right)
        drawn.append(f'<path d="M{x - 4} {y - 4}l8 8m0-8l-8 8" stroke="#555" stroke-width="2"/>')
        drawn.append(f'<text x="{x - 8}" y="{y + 18}" text-anchor="middle">{name}</text>')
    return drawn
