import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from eventcargo import DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.models.base_rates import Rates, ValueScales
from eventcargo.models.density import label_probabilities
from eventcargo.models.training.trainer import TrainConfig, Training
from eventcargo.models.transformer.model import Transformer, TransformerConfig, transformer_size
from eventcargo.models.transformer.values import ValueInput

VOCABULARY = Vocabulary(("a",))
SHAPE = TransformerConfig(width=8, layers=1, heads=1, feedforward=8)


def batch_of(*rows: tuple[float, ...]) -> Batch:
    """A batch of sequences given by the values of their events."""
    sequences = [
        EventSequence(f"{i}", ("a",) * len(row), (0.0,) * len(row), (), tuple((value,) for value in row))
        for i, row in enumerate(rows)
    ]
    data = EventDataset.from_sequences(sequences, value_names=["mileage"])
    return Batches(data, VOCABULARY, 32).take(np.arange(len(rows)))


def inputs_of(
    *values: float, middle: float = 0.0, spread: float = 1.0, change: float = 1.0
) -> list[list[float]]:
    """Level, change and "not recorded" at every position of one column."""
    made = ValueInput(1, 8)
    made.measure_by(ValueScales(np.array([middle]), np.array([spread]), np.array([change])))
    found: list[list[float]] = made.inputs(torch.tensor(values)[None, :, None])[0].tolist()
    return found


def reading(names: tuple[str, ...] = ("mileage",)) -> Transformer:
    """A model with label heads that are not zero any more."""
    model = Transformer(SHAPE, VOCABULARY, ("bad",), value_names=names).eval()
    torch.nn.init.ones_(model.end_head.weight)
    return model


def ends(model: Transformer, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        found = model.densities(batch, labels_at=batch.mask).labels
    assert found is not None
    return found[:, 0]


def test_a_level_is_measured_from_the_middle_in_units_of_the_spread() -> None:
    levels = [row[0] for row in inputs_of(100.0, 150.0, 50.0, middle=100.0, spread=25.0)]
    assert levels == pytest.approx([0.0, math.asinh(2), math.asinh(-2)])


def test_a_change_is_that_since_the_event_before() -> None:
    changes = [row[1] for row in inputs_of(5.0, 5.0, 11.0, 8.0, change=3.0)]
    assert changes == pytest.approx([0.0, 0.0, math.asinh(2), math.asinh(-1)])


def test_what_is_not_recorded_is_zero_and_said() -> None:
    assert inputs_of(2.0, math.nan, 2.0)[1:] == [[0.0, 0.0, 1.0], [pytest.approx(math.asinh(2)), 0.0, 0.0]]


def test_the_largest_values_are_squashed_too() -> None:
    largest = float(np.finfo(np.float32).max)
    assert np.abs(inputs_of(largest, -largest, spread=1e-9, change=1e-9)).max() < 100


def test_columns_are_measured_each_by_its_own_scales() -> None:
    made = ValueInput(2, 8)
    made.measure_by(ValueScales(np.array([0.0, 5.0]), np.array([1.0, 2.0]), np.ones(2)))
    levels = made.inputs(torch.tensor([[[1.0, 9.0]]]))[0, 0, :2]
    assert levels.tolist() == pytest.approx([math.asinh(1), math.asinh(2)])


@pytest.mark.parametrize("changed", [(9.0, 2.0), (1.0, 9.0), (1.0, math.nan)])
def test_values_change_what_a_model_says(changed: tuple[float, float]) -> None:
    model = reading()
    one, other = ends(model, batch_of((1.0, 2.0))), ends(model, batch_of(changed))
    assert not torch.allclose(one[-1], other[-1], atol=1e-4)


def test_later_values_change_nothing_before_them() -> None:
    model = reading()
    torch.nn.init.ones_(model.label_head.weight)
    one, other = ends(model, batch_of((1.0, 2.0))), ends(model, batch_of((1.0, 9.0)))
    assert torch.equal(one[:2], other[:2])
    assert not torch.equal(one[2:], other[2:])


def test_company_and_padding_change_nothing() -> None:
    model = reading()
    alone, together = ends(model, batch_of((1.0,))), ends(model, batch_of((1.0,), (5.0, math.nan, 7.0)))
    assert torch.allclose(alone, together[:3], atol=1e-6)


def test_part_of_a_batch_keeps_its_values() -> None:
    batch = batch_of((1.0,), (2.0,), (3.0,))
    assert batch.rows(slice(1, None)).values[:, 1, 0].tolist() == [2.0, 3.0]


def test_values_begin_small() -> None:
    model = Transformer(transformer_size("tiny"), VOCABULARY, (), value_names=["mileage"])
    assert model.value_input is not None
    assert model.value_input.weight.std().item() == pytest.approx(0.02, rel=0.3)


def test_a_model_without_value_columns_has_no_part_for_them() -> None:
    assert not [name for name in reading(()).state_dict() if "value_input" in name]


def test_a_model_starts_from_the_scales_of_the_data() -> None:
    sequence = EventSequence("s", ("a",) * 3, (0.0, 1.0, 2.0), (), ((10.0,), (20.0,), (60.0,)))
    rates = Rates.of(EventDataset.from_sequences([sequence], value_names=["mileage"]), VOCABULARY)
    model = Transformer(SHAPE, VOCABULARY, (), value_names=["mileage"])
    model.start_from(rates.events, rates.labels, rates.time_scale, rates.values)
    assert model.value_input is not None
    assert [getattr(model.value_input, name).item() for name in ("middle", "spread", "change")] == [
        20,
        25,
        25,
    ]


def test_a_saved_model_keeps_columns_scales_and_answers(tmp_path: Path) -> None:
    model, batch = reading(), batch_of((3.0, math.nan, 70.0))
    assert model.value_input is not None
    model.value_input.measure_by(ValueScales(np.array([5.0]), np.array([2.0]), np.array([3.0])))
    model.save_pretrained(tmp_path)
    again = Transformer.from_pretrained(tmp_path)
    assert again.value_names == ("mileage",)
    assert torch.equal(ends(model, batch), ends(again, batch))


def test_a_model_without_value_columns_is_saved_as_before(tmp_path: Path) -> None:
    reading(()).save_pretrained(tmp_path)
    assert "value_names" not in json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert Transformer.from_pretrained(tmp_path).value_names == ()


@pytest.mark.parametrize(
    ("names", "message"),
    [((), r"1 value column, the model reads \[\]"), (("km", "heat"), r"\['km', 'heat'\]")],
)
def test_a_batch_of_other_columns_is_refused(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        reading(names).states(batch_of((1.0,)))


def worn(rng: np.random.Generator, name: str) -> EventSequence:
    """A sequence of random events that carries the label from 120,000 km on; a tenth is not recorded."""
    n, start = int(rng.integers(2, 6)), rng.uniform(0, 200_000)
    mileage = start + np.cumsum(rng.uniform(0, 500, n))
    mileage[rng.random(n) < 0.1] = np.nan
    events, times = tuple(map(str, rng.choice(list("abc"), n))), tuple(map(float, range(n)))
    return EventSequence(
        name, events, times, ("worn",) * (start > 120_000), tuple((m,) for m in mileage.tolist())
    )


def test_a_label_of_the_mileage_alone_is_learnt_with_values_and_not_without() -> None:
    rng = np.random.default_rng(100)
    sequences = [worn(rng, f"{i:04}") for i in range(600)]
    bare = [replace(sequence, values=()) for sequence in sequences]
    config, losses = TrainConfig(steps=60, checks=1, tokens=512, learning_rate=0.01), []
    for data in (
        EventDataset.from_sequences(sequences, value_names=["mileage"]),
        EventDataset.from_sequences(bare),
    ):
        training = Training(data, config, transformer_size("tiny"))
        training.run()
        losses.append(training.state.history[-1]["label_loss"])
    assert losses[0] < 0.35  # 0.12 when this was written
    assert losses[1] > 0.6  # nothing to know: the entropy of the label is 0.67


def test_label_probabilities_use_the_values() -> None:
    data = EventDataset.from_sequences(
        [
            EventSequence("s", ("a",), (0.0,), (), ((1.0,),)),
            EventSequence("t", ("a",), (0.0,), (), ((9.0,),)),
        ],
        value_names=["mileage"],
    )
    low, high = label_probabilities(reading(), data)[:, 0]
    assert low != high
