import numpy as np
import pytest

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.training.config import LossConfig
from eventcargo.models.training.validation import Validation, set_aside, weighted_f1
from eventcargo.models.transformer.model import Transformer, TransformerConfig

from ...repeats import torn


def test_the_share_asked_for_is_set_aside(hundred: EventDataset) -> None:
    kept, held = set_aside(hundred, 0.2, seed=0)
    assert (len(kept), len(held)) == (80, 20)
    assert not set(kept.sequence_ids.to_pylist()) & set(held.sequence_ids.to_pylist())


def test_nothing_is_set_aside_where_none_is_asked_for(hundred: EventDataset) -> None:
    kept, held = set_aside(hundred, 0.0, seed=0)
    assert (len(kept), len(held)) == (100, 0)


def test_the_seed_decides_who_is_set_aside(hundred: EventDataset) -> None:
    one, same, other = (set_aside(hundred, 0.2, seed)[1].sequence_ids.to_pylist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_the_only_example_of_a_label_is_trained_on() -> None:
    sequences = [EventSequence(f"s{i:02}", ("a",), (0.0,), (f"L{i:02}",)) for i in range(20)]
    kept, held = set_aside(EventDataset.from_sequences(sequences), 0.5, seed=0)
    assert kept.support.min() == 1
    assert len(held) == 0


def test_a_perfect_prediction_has_f1_one() -> None:
    truth = np.array([[True, False], [False, True]])
    assert weighted_f1(truth, truth) == 1.0


def test_f1_is_weighted_by_support() -> None:
    truth = np.array([[True, True], [True, False], [True, False]])
    assert weighted_f1(truth, np.array([[True, False]] * 3)) == pytest.approx(0.75)


def test_no_label_anywhere_gives_f1_zero() -> None:
    assert weighted_f1(np.zeros((2, 2), bool), np.ones((2, 2), bool)) == 0.0


def make(data: EventDataset) -> Transformer:
    shape = TransformerConfig(width=16, layers=1, heads=2, dropout=0.5)
    return Transformer(shape, Vocabulary(data.event_names), data.label_names)


def test_an_untrained_model_has_the_loss_of_a_coin(hundred: EventDataset) -> None:
    model = make(hundred)
    held = Validation(hundred, model, LossConfig(), 256).check(model)
    assert held.label_loss == pytest.approx(np.log(2))
    assert held.prefix_loss == pytest.approx(np.log(2))
    assert held.label_f1 == 0.0


def test_the_loss_weighs_its_parts_as_training_does(hundred: EventDataset) -> None:
    model = make(hundred)
    model.end_head.bias.data.fill_(1.0)
    held = Validation(hundred, model, LossConfig(event_weight=0.5, end_weight=0.8), 256).check(model)
    assert held.label_loss != pytest.approx(held.prefix_loss, abs=0.01)
    expected = 0.5 * held.event_loss + 0.2 * held.prefix_loss + 0.8 * held.label_loss
    assert held.loss == pytest.approx(expected)


def test_unknown_labels_are_not_checked(hundred: EventDataset) -> None:
    model = make(hundred)
    model.end_head.bias.data.fill_(1.0)
    carried = hundred.label_matrix().toarray() > 0
    known = hundred.knowing(carried | (np.arange(100) % 2 == 0)[:, None])
    held = Validation(known, model, LossConfig(), 256).check(model)
    rows = known.known_rows(0)
    alone = Validation(hundred.select(rows), model, LossConfig(), 256).check(model)
    assert held.label_loss == pytest.approx(alone.label_loss * rows.mean(), rel=1e-5)
    assert held.label_f1 == alone.label_f1


def test_the_room_for_a_network_is_measured_where_labels_are_known() -> None:
    """`x` tells the label wherever it is known."""
    kinds = [(("x",), ("odd",)), (("y",), ()), (("x",), ())] * 20
    data = EventDataset.from_sequences(
        [EventSequence(f"{at:02}", events, (0.0,), labels) for at, (events, labels) in enumerate(kinds)]
    )
    vocabulary = Vocabulary.from_dataset(data)
    known = np.arange(60)[:, None] % 3 < 2
    term = fit_linear(data.knowing(known), vocabulary, 64)
    term.weights.mul_(20.0)
    term.bias.mul_(20.0)
    model = Transformer(TransformerConfig(width=16, layers=1, heads=2), vocabulary, ("odd",), linear=term)
    assert Validation(data, model, LossConfig(), 256).has_room
    assert not Validation(data.knowing(known), model, LossConfig(), 256).has_room


def test_a_check_is_repeatable_and_leaves_the_mode_alone(hundred: EventDataset) -> None:
    model = make(hundred).train()
    holdout = Validation(hundred, model, LossConfig(), 256)
    assert holdout.check(model) == holdout.check(model)
    assert model.training


def test_groups_are_set_aside_as_a_whole(hundred: EventDataset) -> None:
    kept, held = set_aside(hundred.in_groups(np.arange(100) % 30), 0.2, seed=0)
    assert torn(kept, held) == set()
    assert len(held) == pytest.approx(20, abs=4)


def test_a_whole_group_stays_to_keep_a_positive_example() -> None:
    """Every sequence carries a label of its own, so none may be held out, nor may the rest of its group."""
    labels = [(f"label{i}",) if i % 2 else () for i in range(20)]
    sequences = [EventSequence(f"s{i:02}", ("a",), (0.0,), own) for i, own in enumerate(labels)]
    kept, held = set_aside(EventDataset.from_sequences(sequences).in_groups(np.arange(20) // 2), 0.5, seed=0)
    assert (len(kept), len(held)) == (20, 0)


def test_one_large_group_is_set_aside_rather_than_none(hundred: EventDataset) -> None:
    data = hundred.in_groups(np.arange(100) // 34)
    kept, held = set_aside(data, 0.05, seed=0)
    assert len(held) in (32, 34)
    assert torn(kept, held) == set()
