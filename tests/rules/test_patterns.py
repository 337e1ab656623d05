import numpy as np
import pytest

from eventcargo.rules import Literal
from eventcargo.rules.patterns import LiteralPatterns, gain


@pytest.mark.parametrize("width", [2, 64, 70])
def test_sequences_with_the_same_literals_are_one_pattern(width: int) -> None:
    held = np.zeros((width, 5), bool)
    held[0], held[-1] = [True, True, True, False, True], [True, False, True, False, True]
    carried = np.array([True, False, True, True, False])
    literals = tuple(Literal("presence", (f"e{number}",)) for number in range(width))
    found = LiteralPatterns.collapse(literals, held, carried, elsewhere=(5, 7))
    assert found.held.shape == (width, 4)  # one of them for what is elsewhere
    shown = dict(
        zip(
            map(bytes, found.held.T.astype(bool)),
            zip(found.carrying, found.lacking, strict=True),
            strict=True,
        )
    )
    assert shown[bytes(held[:, 0])] == (2, 1)
    assert shown[bytes(held[:, 1])] == (0, 1)
    assert shown[bytes(width)] == (5, 7)


def test_a_rule_that_tells_all_saves_the_whole_entropy() -> None:
    assert gain(10, 0, (10, 30)) == pytest.approx(-(10 * np.log(0.25) + 30 * np.log(0.75)))


def test_a_rule_that_tells_nothing_saves_nothing() -> None:
    assert gain([5.0, 3.0], [15.0, 10.0], (10, 30)).tolist() == [-np.inf, -np.inf]
