from collections import Counter

import numpy as np
import pytest

from eventcargo.errors import ConfigError
from eventcargo.simulation.rulebook import BOUNDARY_SIZES, LARGEST_CONJUNCTION, Rulebook, draw_sizes
from eventcargo.simulation.rules import TrueRule


def draw(sizes: list[int], **changes: float) -> list[TrueRule]:
    settings = {"or_share": 0.25, "negated_share": 0.2, "hub_share": 0.6, "most_uses": 18} | changes
    book = Rulebook(np.random.default_rng(0), np.arange(5_000, dtype=np.int32), **settings)
    return [book.draw(size) for size in sizes]


SIZES = draw_sizes(np.random.default_rng(1), 269, 27).tolist()


def test_sizes_follow_the_real_histogram() -> None:
    drawn = Counter(draw_sizes(np.random.default_rng(0), 238_000, 73).tolist())
    for size in (1, 2, 3, 4, 5):
        assert drawn[size] / 1_000 == pytest.approx(BOUNDARY_SIZES[size], rel=0.05)


def test_sizes_are_cut_at_the_largest() -> None:
    assert draw_sizes(np.random.default_rng(0), 5_000, 27).max() == 27


def test_a_boundary_has_the_size_asked_for() -> None:
    assert [len(rule.signs) for rule in draw(SIZES)] == SIZES


def test_every_conjunction_starts_with_a_positive_event_of_its_own() -> None:
    rules = draw(SIZES)
    uses = Counter(event for rule in rules for event in rule.signs)
    assert all(uses[part.present[0]] == 1 for rule in rules for part in rule.conjunctions)


def test_large_boundaries_are_made_of_short_conjunctions() -> None:
    assert max(len(part) for rule in draw(SIZES) for part in rule.conjunctions) == LARGEST_CONJUNCTION


def test_without_or_share_small_boundaries_are_one_conjunction() -> None:
    assert {len(rule.conjunctions) for rule in draw([2, 4, 6], or_share=0.0)} == {1}


def test_with_full_or_share_every_rule_of_two_or_more_is_an_or() -> None:
    assert {len(rule.conjunctions) for rule in draw([4] * 40, or_share=1.0)} == {2, 3}


def test_the_share_of_negated_literals_is_the_one_asked_for() -> None:
    parts = [part for rule in draw([5] * 400, or_share=0.0, negated_share=0.3) for part in rule.conjunctions]
    assert sum(len(part.absent) for part in parts) / (4 * 400) == pytest.approx(0.3, abs=0.03)


def test_hubs_are_shared_up_to_the_limit_and_not_beyond() -> None:
    uses = Counter(event for rule in draw(SIZES) for event in rule.signs)
    assert max(uses.values()) == 18


def test_without_hubs_every_event_has_one_rule() -> None:
    uses = Counter(event for rule in draw(SIZES, hub_share=0.0) for event in rule.signs)
    assert max(uses.values()) == 1


def test_no_event_both_promotes_and_inhibits() -> None:
    signs: dict[int, set[int]] = {}
    for rule in draw(SIZES):
        for event, sign in rule.signs.items():
            signs.setdefault(event, set()).add(sign)
    assert max(len(found) for found in signs.values()) == 1


def test_too_few_event_types_are_refused_with_their_number() -> None:
    book = Rulebook(np.random.default_rng(0), np.arange(3, dtype=np.int32), 0.0, 0.0, 0.0, 2)
    with pytest.raises(ConfigError, match="too few causes for the rules: 3 event types"):
        book.draw(4)


def test_just_enough_event_types_are_allowed() -> None:
    book = Rulebook(np.random.default_rng(0), np.arange(4, dtype=np.int32), 0.0, 0.0, 0.0, 2)
    assert book.draw(4).conjunctions[0].present == (0, 1, 2, 3)
