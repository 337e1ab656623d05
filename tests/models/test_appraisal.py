import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from eventcargo import EventDataset, Vocabulary
from eventcargo.batches import Batches
from eventcargo.errors import DataError
from eventcargo.models.appraisal import (
    appraise,
    ask,
    calibration_error,
    crossed,
    label_quality,
    overall_quality,
)
from eventcargo.models.calibration import Answers
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.training.validation import set_aside
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.quality import LabelQuality, Quality
from eventcargo.simulation import simulate

RATES = np.array([0.2, 0.5])


def rows_of(truth: np.ndarray, logits: np.ndarray, rates: np.ndarray = RATES) -> tuple[LabelQuality, ...]:
    names = tuple(f"L{at}" for at in range(truth.shape[1]))
    return label_quality(names, np.full(len(names), 30), rates, truth, logits, logits)


@pytest.fixture
def mixed() -> tuple[np.ndarray, np.ndarray]:
    """A label that is known well, and one that is guessed."""
    truth = np.zeros((100, 2), bool)
    truth[:20, 0], truth[::2, 1] = True, True
    logits = np.column_stack([np.where(truth[:, 0], 4.0, -4.0), np.resize([1.0, 1.0, -1.0, -1.0], 100)])
    return truth, logits


def test_a_label_as_good_as_its_base_rate_is_not_trusted(mixed: tuple[np.ndarray, np.ndarray]) -> None:
    good, guessed = rows_of(*mixed)
    assert (good.trusted, good.reason) == (True, "")
    assert not guessed.trusted
    assert "not clearly better than the base rate on 50 held-out examples" in guessed.reason


@pytest.mark.parametrize("groups", [None, np.arange(100) // 3])
def test_a_label_is_measured_where_it_is_known(
    mixed: tuple[np.ndarray, np.ndarray], groups: np.ndarray | None
) -> None:
    truth, logits = mixed
    known = truth | (np.random.default_rng(0).random(truth.shape) < 0.3)
    names, support = ("L0", "L1"), np.array([30, 30])
    rows = label_quality(names, support, RATES, truth, 2 * logits, logits, groups, known)
    for at, row in enumerate(rows):
        own, column = known[:, at], slice(at, at + 1)
        measured = (each[own, column] for each in (truth, 2 * logits, logits))
        own_groups = None if groups is None else groups[own]
        oracle = label_quality(names[column], support[column], RATES[column], *measured, own_groups)
        assert row == oracle[0]
    pairs = truth[known][:, None], 2 * logits[known][:, None], logits[known][:, None]
    overall, flat = overall_quality(rows, truth, 2 * logits, logits, known), overall_quality(rows, *pairs)
    assert overall["calibration_error"] == flat["calibration_error"]
    assert overall["raw_calibration_error"] == flat["raw_calibration_error"]


def test_a_label_is_trusted_by_its_lead_where_it_is_known() -> None:
    truth, known = np.arange(100)[:, None] == 0, np.arange(100)[:, None] < 2
    logits = np.where(truth | ~known, 4.0, -4.0)
    figures = np.array([9]), np.array([0.5]), truth, logits, logits
    assert label_quality(("a",), *figures, None, known)[0].trusted


def test_a_label_known_for_no_held_out_sequence_is_not_trusted() -> None:
    truth = np.zeros((10, 1), bool)
    nothing = np.zeros((10, 1), bool)
    row = label_quality(
        ("a",), np.array([9]), np.array([0.5]), truth, truth - 3.0, truth - 3.0, None, nothing
    )[0]
    assert (row.reason, row.log_loss) == ("no held-out example to judge it by", 0.0)


def test_a_label_without_held_out_examples_is_not_trusted() -> None:
    row = rows_of(np.zeros((10, 1), bool), np.full((10, 1), -3.0), np.array([0.1]))[0]
    assert (row.f1, row.auroc, row.average_precision) == (None, None, None)
    assert "no held-out example" in row.reason


def test_a_label_without_examples_is_not_trusted() -> None:
    truth = np.zeros((10, 1), bool)
    row = label_quality(("a",), np.array([0]), np.array([0.1]), truth, truth - 3.0, truth - 3.0)[0]
    assert row.reason == "no positive example"


def test_f1_auroc_and_average_precision_are_known_by_hand() -> None:
    truth = np.array([[True], [True], [False], [False]])
    logits = np.array([[2.0], [-1.0], [1.0], [-2.0]])
    row = rows_of(truth, logits, np.array([0.5]))[0]
    assert row.f1 == 0.5  # one hit, one miss, one false alarm
    assert row.auroc == 0.75
    assert row.average_precision == pytest.approx((1 + 2 / 3) / 2)


def test_log_losses_are_beside_those_of_the_base_rate() -> None:
    truth = np.array([[True], [False]])
    row = rows_of(truth, np.zeros((2, 1)), np.array([0.2]))[0]
    assert row.log_loss == pytest.approx(np.log(2))
    assert row.base_log_loss == pytest.approx(-(np.log(0.2) + np.log(0.8)) / 2)


def test_what_calibration_changed_is_told() -> None:
    truth = np.array([[True], [False]] * 20)
    raw, logits = np.where(truth, 0.1, -0.1), np.where(truth, 5.0, -5.0)
    row = label_quality(("a",), np.array([9]), np.array([0.5]), truth, raw, logits)[0]
    assert row.raw_log_loss > row.log_loss
    assert row.raw_calibration_error > 0.4 > 0.01 > row.calibration_error


def test_frequencies_are_compared_with_chances_in_bins() -> None:
    truth = np.array([True, False, False, True])
    assert calibration_error(truth, np.array([0.05, 0.05, 0.95, 0.95])) == pytest.approx(0.45)
    assert calibration_error(truth, np.full(4, 0.5)) == 0.0
    assert calibration_error(np.zeros(0, bool), np.zeros(0)) == 0.0


def test_a_chance_of_one_has_a_bin() -> None:
    truth, probabilities = np.array([False, True]), np.array([1.0, 0.95])
    assert calibration_error(truth, probabilities) == pytest.approx(
        (1.0 + 0.95 - 1) / 2
    )  # the last, with .95


def test_means_are_over_labels_and_weighted_by_support(mixed: tuple[np.ndarray, np.ndarray]) -> None:
    truth, logits = mixed
    rows = rows_of(truth, logits)
    found = overall_quality(rows, truth, logits, logits)
    first, second = (row.f1 for row in rows)
    assert first is not None
    assert second is not None
    assert found["f1_macro"] == pytest.approx((first + second) / 2)
    assert found["f1_weighted"] == pytest.approx((20 * first + 50 * second) / 70)
    assert found["untrusted"] == 1


def test_labels_that_cannot_be_judged_are_not_in_the_means() -> None:
    truth = np.zeros((10, 2), bool)
    truth[:5, 0] = True
    logits = np.where(truth, 2.0, -2.0)
    assert overall_quality(rows_of(truth, logits), truth, logits, logits)["f1_macro"] == 1.0


def test_quality_is_read_as_it_was_written(mixed: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    rows = rows_of(*mixed)
    quality = Quality(rows, overall_quality(rows, mixed[0], mixed[1], mixed[1]), {"perplexity": 3.5})
    quality.write(tmp_path / "quality.json")
    assert Quality.read(tmp_path / "quality.json") == quality
    assert quality.untrusted == ("L1",)


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"format": "other"})])
def test_a_foreign_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "quality.json").write_text(content)
    with pytest.raises(DataError, match=r"quality\.json .*train the model again"):
        Quality.read(tmp_path / "quality.json")


SHAPE = TransformerConfig(width=16, layers=1, heads=2, feedforward=16, max_length=64)


@pytest.fixture(scope="module")
def parts() -> tuple[EventDataset, EventDataset]:
    data = simulate("chain", sequences=800, labels=2, event_types=12, seed=100).data
    return set_aside(data, 0.3, seed=0)


@pytest.fixture
def model(parts: tuple[EventDataset, EventDataset]) -> Transformer:
    """An untrained Transformer on a fitted linear term: it adds nothing."""
    kept = parts[0]
    vocabulary = Vocabulary.from_dataset(kept)
    term = fit_linear(kept, vocabulary, SHAPE.max_length, LinearConfig(workers=1))
    return Transformer(SHAPE, vocabulary, kept.label_names, linear=term).eval()


def test_the_explicit_term_is_asked_beside_the_whole(
    model: Transformer, parts: tuple[EventDataset, EventDataset]
) -> None:
    with torch.no_grad():
        model.end_head.bias.fill_(1.0)
    answers = ask(model, parts[1])
    assert answers.linear is not None
    assert answers.whole - answers.linear == pytest.approx(1.0, abs=1e-5)
    assert answers.prefix.shape == answers.whole.shape
    assert np.array_equal(answers.truth, parts[1].label_matrix().toarray() > 0)


def test_a_transformer_that_spoils_the_term_is_gated(
    model: Transformer, parts: tuple[EventDataset, EventDataset]
) -> None:
    honest = appraise(model, *parts).overall
    with torch.no_grad():
        model.end_head.bias.fill_(4.0)  # far too sure of every label
    spoilt = appraise(model, *parts).overall
    assert model.gate.tolist() == [0.0, 0.0]
    assert spoilt["log_loss"] == honest["log_loss"]
    assert spoilt["raw_log_loss"] > 2 * honest["raw_log_loss"]


def test_appraising_twice_gives_the_same(
    model: Transformer, parts: tuple[EventDataset, EventDataset]
) -> None:
    first = appraise(model, *parts)
    assert appraise(model, *parts) == first


def test_a_label_that_is_only_guessed_is_marked_in_the_model(
    parts: tuple[EventDataset, EventDataset],
) -> None:
    kept, held = parts
    blind = Transformer(SHAPE, Vocabulary.from_dataset(kept), kept.label_names).eval()
    assert appraise(blind, kept, held).untrusted == blind.untrusted == kept.label_names


def test_good_labels_are_trusted(model: Transformer, parts: tuple[EventDataset, EventDataset]) -> None:
    assert appraise(model, *parts).untrusted == model.untrusted == ()


def test_perplexity_is_beside_that_of_singles_and_pairs(
    model: Transformer, parts: tuple[EventDataset, EventDataset]
) -> None:
    events = appraise(model, *parts).events
    assert 2 < events["bigram_perplexity"] <= 1.05 * events["unigram_perplexity"] < 20
    assert events["perplexity"] > events["unigram_perplexity"]  # untrained


def test_figures_come_from_a_calibration_of_the_other_half() -> None:
    answers = shy(2.0)
    odd = np.arange(4_000) % 2 == 1
    answers.whole[odd] *= 4.0  # the halves want opposite slopes: neither helps the other
    logits, prefix, helps = crossed(answers)
    assert not helps
    assert np.array_equal(logits, answers.whole)
    assert np.array_equal(prefix, answers.prefix)


def test_halves_keep_groups_whole() -> None:
    answers = replace(shy(2.0), groups=np.arange(4_000) // 2)
    odd = np.arange(4_000) // 2 % 2 == 1
    answers.whole[odd] *= 4.0  # as above, for neighbours that are one group
    assert not crossed(answers)[2]
    assert crossed(replace(answers, groups=None))[2]


def shy(factor: float) -> Answers:
    """Logits that are honest once they are multiplied by a factor."""
    honest = np.random.default_rng(1).normal(0, 2, (4_000, 2))
    truth = np.random.default_rng(2).random(honest.shape) < 1 / (1 + np.exp(-honest))
    return Answers(truth, None, honest / factor, honest / factor)


def test_slopes_are_used_where_they_help() -> None:
    logits, _, helps = crossed(shy(2.0))
    assert helps
    assert np.abs(logits / shy(2.0).whole - 2.0).max() < 0.3


def test_too_few_sequences_change_nothing(
    model: Transformer, parts: tuple[EventDataset, EventDataset]
) -> None:
    quality = appraise(model, parts[0], parts[1][:10])
    assert quality.overall["log_loss"] == quality.overall["raw_log_loss"]
    assert model.end_slope.tolist() == [1.0, 1.0]


def test_a_calibrated_model_is_read_as_it_was_saved(
    model: Transformer, parts: tuple[EventDataset, EventDataset], tmp_path: str
) -> None:
    with torch.no_grad():
        model.end_head.bias.fill_(4.0)
    appraise(model, *parts)
    model.mark_untrusted([1])
    model.save_pretrained(tmp_path)
    read = Transformer.from_pretrained(tmp_path)
    assert np.array_equal(ask(read, parts[1]).whole, ask(model, parts[1]).whole)
    assert read.untrusted == model.untrusted == (parts[0].label_names[1],)


def test_the_shape_of_the_model_does_not_matter(parts: tuple[EventDataset, EventDataset]) -> None:
    kept, held = parts
    dual = Transformer(replace(SHAPE, label_layers=1), Vocabulary.from_dataset(kept), kept.label_names)
    assert len(appraise(dual.eval(), kept, held).labels) == 2


def test_a_label_is_not_trusted_because_of_copies() -> None:
    truth = np.array([[True], [False], [False], [True]])
    logits = np.array([[1.0], [-1.5], [0.5], [-0.4]])
    copies, rates = np.repeat(np.arange(4), 50), np.array([0.5])
    row, grouped = (
        label_quality(
            ("bad",), np.array([100]), rates, truth[copies], logits[copies], logits[copies], groups
        )[0]
        for groups in (None, copies)
    )
    assert (row.trusted, grouped.trusted) == (True, False)


@pytest.fixture
def undecided() -> tuple[Transformer, EventDataset]:
    """A network that speaks about prefixes but not about ends, where its linear term decides alone."""
    data = simulate("chain", sequences=500, seed=100).data
    vocabulary = Vocabulary.from_dataset(data)
    term = fit_linear(data, vocabulary, max_length=64, config=LinearConfig(families=("presence",)))
    shape = TransformerConfig(width=16, heads=2, layers=1, feedforward=16, linear=True, max_length=64)
    model = Transformer(shape, vocabulary, data.label_names, linear=term).eval()
    torch.nn.init.normal_(model.label_head.weight, generator=torch.Generator().manual_seed(0))
    return model, data


def test_answers_on_a_prefix_are_those_within_the_whole_sequence(
    undecided: tuple[Transformer, EventDataset],
) -> None:
    model, data = undecided
    answers, lengths = ask(model, data), data.lengths + 2
    at = (np.random.default_rng(0).random(len(data)) * (lengths - 1)).astype(np.int64)
    for row in range(0, len(data), 20):
        batch = Batches(data, model.vocabulary, model.max_length).take(np.array([row]))
        where = np.arange(batch.ids.shape[1]) == at[row, None]
        with torch.inference_mode():
            logits = model.densities(batch, labels_at=where[None]).labels
        assert logits is not None
        assert logits.numpy() == pytest.approx(answers.prefix[[row]], abs=1e-4)


def test_the_network_is_not_asked_where_the_linear_term_decides_alone(
    undecided: tuple[Transformer, EventDataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, data = undecided
    asked: list[int] = []
    states = model.states
    monkeypatch.setattr(
        model, "states", lambda batch, **kinds: (asked.append(batch.ids.size), states(batch, **kinds))[1]
    )
    answers = ask(model, data)
    assert sum(asked) < 0.8 * (data.lengths + 2).sum()
    assert answers.linear is not None
    assert answers.whole == pytest.approx(answers.linear, abs=1e-6)
