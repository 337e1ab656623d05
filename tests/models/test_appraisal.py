from dataclasses import replace

import numpy as np
import pytest
import torch

from eventcargo import EventDataset, Vocabulary
from eventcargo.models.appraisal import appraise, ask, crossed
from eventcargo.models.calibration import Answers
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.training.validation import set_aside
from eventcargo.models.transformer.model import Transformer, TransformerConfig
from eventcargo.simulation import simulate

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
    assert answers.explicit is not None
    assert answers.whole - answers.explicit == pytest.approx(1.0, abs=1e-5)
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
    model.distrust([1])
    model.save_pretrained(tmp_path)
    read = Transformer.from_pretrained(tmp_path)
    assert np.array_equal(ask(read, parts[1]).whole, ask(model, parts[1]).whole)
    assert read.untrusted == model.untrusted == (parts[0].label_names[1],)


def test_the_shape_of_the_model_does_not_matter(parts: tuple[EventDataset, EventDataset]) -> None:
    kept, held = parts
    dual = Transformer(replace(SHAPE, label_layers=1), Vocabulary.from_dataset(kept), kept.label_names)
    assert len(appraise(dual.eval(), kept, held).labels) == 2
