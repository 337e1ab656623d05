import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batches
from eventcargo.models import DensityModel, label_probabilities
from eventcargo.models.counts import Counts
from eventcargo.models.density import IMPOSSIBLE, check_labels, check_values, walk
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.simulation.exact import ExactConfig, ExactProcess

TINY = TransformerConfig(width=8, layers=1, heads=1, feedforward=8)


def _labelled(*labels: str) -> EventDataset:
    """A sequence for each label."""
    return EventDataset.from_sequences([EventSequence(name, ("a",), (0.0,), (name,)) for name in labels])


def test_counts_and_oracle_are_density_models(tiny: EventDataset) -> None:
    oracle = Oracle(ExactProcess.from_config(ExactConfig(), seed=100))
    assert isinstance(oracle, DensityModel)
    assert isinstance(Counts.fit(tiny), DensityModel)


def test_label_probabilities_are_those_at_eos(tiny: EventDataset) -> None:
    model = Counts.fit(tiny)
    [(_, batch)] = walk(model, tiny)
    logits = model.densities(batch, labels_at=batch.at_end).labels
    assert logits is not None
    assert np.allclose(label_probabilities(model, tiny), torch.sigmoid(logits).numpy(), atol=1e-7)


def test_label_probabilities_do_not_depend_on_the_batches(hundred: EventDataset) -> None:
    model = Counts.fit(hundred)
    assert np.array_equal(label_probabilities(model, hundred, tokens=7), label_probabilities(model, hundred))


def test_label_probabilities_of_no_sequences_are_an_empty_table(tiny: EventDataset) -> None:
    assert label_probabilities(Counts.fit(tiny), tiny[:0]).shape == (0, 2)


def test_walk_gives_every_row_once_and_in_order(hundred: EventDataset) -> None:
    seen = [row for rows, _ in walk(Counts.fit(hundred), hundred, tokens=20) for row in rows]
    assert seen == list(range(100))


def test_walking_leaves_gradients_as_they_are(hundred: EventDataset) -> None:
    assert not any(torch.is_inference_mode_enabled() for _ in walk(Counts.fit(hundred), hundred, tokens=20))


def test_label_probabilities_are_computed_without_gradients(
    tiny: EventDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    densities = Counts.densities

    def watched(*arguments: Any, **keywords: Any) -> Any:
        seen.append(torch.is_inference_mode_enabled())
        return densities(*arguments, **keywords)

    monkeypatch.setattr(Counts, "densities", watched)
    label_probabilities(Counts.fit(tiny), tiny)
    assert seen == [True]
    assert not torch.is_inference_mode_enabled()


def test_data_with_other_labels_are_refused_by_name(tiny: EventDataset) -> None:
    with pytest.raises(DataError, match=r"data have 3 labels, the model 2; they differ in \['oil'\]"):
        check_labels(Counts.fit(tiny), _labelled("brake", "fuel", "oil"))


def test_label_probabilities_refuse_data_with_other_labels(tiny: EventDataset) -> None:
    with pytest.raises(DataError, match="'oil'"):
        label_probabilities(Counts.fit(tiny), _labelled("oil"))


def test_labels_in_another_order_are_refused_and_it_is_said(tiny: EventDataset) -> None:
    fitted = Counts.fit(tiny)
    turned = Counts(fitted.tally, fitted.vocabulary, ("fuel", "brake"))
    with pytest.raises(DataError, match=r"they differ in .*their order"):
        check_labels(turned, tiny)


def test_data_without_labels_can_be_scored(tiny: EventDataset) -> None:
    bare = EventDataset.from_sequences([EventSequence("new", ("a",), (0.0,), ())])
    assert label_probabilities(Counts.fit(tiny), bare).shape == (1, 2)


def test_an_impossible_id_has_a_chance_of_exactly_zero() -> None:
    assert torch.softmax(torch.tensor([0.0, IMPOSSIBLE]), 0).tolist() == [1.0, 0.0]


def _driven(*names: str) -> EventDataset:
    """One sequence with these value columns."""
    sequence = EventSequence("s", ("a",), (0.0,), (), (tuple(range(len(names))),) if names else ())
    return EventDataset.from_sequences([sequence], value_names=names)


def _reading(*names: str) -> Transformer:
    return Transformer(TINY, Vocabulary(("a",)), (), value_names=names)


@pytest.mark.parametrize(
    ("given", "wanted"), [((), ("mileage",)), (("mileage",), ()), (("heat", "km"), ("km", "heat"))]
)
def test_data_with_other_value_columns_are_refused_with_both(
    given: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    message = f"have the value columns {list(given)}, the model was trained on {list(wanted)}; read the data"
    with pytest.raises(DataError, match=re.escape(message)):
        label_probabilities(_reading(*wanted), _driven(*given))


def test_data_with_the_value_columns_of_the_model_are_taken() -> None:
    check_values(_reading("mileage"), _driven("mileage"))


def test_a_model_that_ignores_values_takes_data_with_them(tiny: EventDataset) -> None:
    assert label_probabilities(Counts.fit(tiny), _driven("mileage")).shape == (1, 2)


def test_models_with_files_can_be_saved_and_others_say_why_not(hundred: EventDataset, tmp_path: Path) -> None:
    oracle = Oracle(ExactProcess.from_config(ExactConfig(), seed=1))
    transformer = Transformer(TINY, Vocabulary.from_dataset(hundred), hundred.label_names)
    assert [model.can_be_saved for model in (Counts.fit(hundred), transformer, oracle)] == [True, True, False]
    with pytest.raises(ConfigError, match="Oracle cannot be saved"):
        oracle.save_pretrained(tmp_path)


def test_a_model_without_a_linear_term_has_no_labels_of_it(hundred: EventDataset) -> None:
    counts = Counts.fit(hundred)
    batch = Batches(hundred, counts.vocabulary, counts.max_length).take(np.arange(2))
    assert not counts.linear_labels.any()
    assert counts.hiding_changes(batch) is None
    assert (counts.device.type, counts.n_bytes, counts.untrusted) == ("cpu", 0, ())
