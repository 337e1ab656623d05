import numpy as np
import pytest

from eventcargo import EventDataset
from eventcargo.errors import DataError
from eventcargo.verdicts.config import JudgeConfig
from eventcargo.verdicts.evidence import Evidence

from .conftest import graph, sequences


def test_labels_of_the_graph_are_looked_up_by_name() -> None:
    data = sequences((("x",), ("a", "b"), 20), (("y",), ("b",), 30), (("z",), (), 30))
    evidence = Evidence(data, graph({"b": ["x", "y"]}), None, JudgeConfig())
    assert evidence.support.tolist() == [50]
    assert evidence.members == [[0, 1]]


@pytest.mark.parametrize(
    ("boundaries", "message"),
    [({"worse": ["x"]}, "the label 'worse'"), ({"bad": ["w"]}, "the event type 'w'")],
)
def test_a_graph_of_other_data_is_refused(
    clear: EventDataset, boundaries: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Evidence(clear, graph(boundaries), None, JudgeConfig())  # type: ignore[arg-type]


def test_a_label_of_too_few_sequences_is_not_told() -> None:
    data = sequences((("x",), ("a", "b"), 9), (("y",), ("b",), 1), (("z",), (), 30))
    evidence = Evidence(data, graph({"a": ["x"], "b": ["x"]}), None, JudgeConfig(doubt_below=10))
    assert [predictability is None for predictability in evidence.predictabilities] == [True, False]


def test_a_label_that_all_sequences_carry_is_not_told() -> None:
    data = sequences((("x",), ("a",), 50))
    assert Evidence(data, graph({"a": ["x"]}), None, JudgeConfig()).predictabilities == [None]


def hidden_pair() -> EventDataset:
    """a is too rare to be told; b and c go together more often than x says."""
    return sequences(
        (("x",), ("b", "c"), 60),
        (("x",), (), 60),
        (("y",), ("b", "c"), 60),
        (("y",), (), 60),
        (("y",), ("a",), 2),
    )


def test_labels_that_go_together_are_told_by_their_own_numbers() -> None:
    evidence = Evidence(hidden_pair(), graph({"a": ["x"], "b": ["x"], "c": ["x"]}), None, JudgeConfig())
    assert sorted(evidence.together) == [1, 2]
    assert evidence.label_name(evidence.together[1][0].other) == "c"


def test_what_accounts_for_few_sequences_is_left_out() -> None:
    config = JudgeConfig(min_share=0.9)
    evidence = Evidence(hidden_pair(), graph({"b": ["x"], "c": ["x"]}), None, config)
    assert evidence.together == {}


def test_event_types_beyond_the_boundary_are_told_by_the_number_of_their_label() -> None:
    data = sequences((("x",), ("b",), 100), (("y",), (), 100), (("z",), ("a",), 2))
    evidence = Evidence(data, graph({"a": ["z"], "b": ["z"]}), None, JudgeConfig())
    assert sorted(evidence.beyond) == [1]
    assert {data.event_names[found.other] for found in evidence.beyond[1]} == {"x", "y"}


def test_another_seed_gives_other_folds() -> None:
    data = sequences((("x",), ("bad",), 20), (("x",), (), 13), (("y",), (), 17))
    one, other = (Evidence(data, graph(), None, JudgeConfig(), seed).predictabilities[0] for seed in (0, 1))
    assert one is not None
    assert other is not None
    assert not np.array_equal(one.probabilities, other.probabilities)
