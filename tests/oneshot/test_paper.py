"""The paper's procedure beside ours: its settings, and a plain transcription of its listing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eventcargo.batches import Batch, Batches
from eventcargo.models.oracle import Oracle
from eventcargo.oneshot.config import PAPER
from eventcargo.oneshot.contexts import Contexts
from eventcargo.oneshot.prefix import PrefixTest
from eventcargo.oneshot.scores import EventScores
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD
from eventcargo.simulation.exact import ExactConfig, ExactProcess

from ..reference.paper_phase1 import PaperScores, paper_contexts, paper_phase1


def test_the_papers_settings_are_its_own() -> None:
    assert (PAPER.context, PAPER.particles, PAPER.top_k, PAPER.top_p) == (15, 68, 35, 0.8)
    assert (PAPER.draws, PAPER.nucleus, PAPER.order, PAPER.error) == ("independent", "within", "observed", 0)


@pytest.fixture(scope="module")
def equally_long() -> tuple[Oracle, Batch]:
    """Sequences of 20 events each."""
    process = ExactProcess.from_config(ExactConfig(length_min=20), seed=100)
    model = Oracle(process)
    return model, Batches(process.sample(6, seed=103).data, model.vocabulary, 22).take(np.arange(6))


def _both(model: Oracle, batch: Batch) -> tuple[PaperScores, EventScores]:
    """The paper's procedure and ours on the same contexts."""
    config = replace(PAPER, context=4, particles=12)
    seeds = 50 + np.arange(len(batch.ids))
    contexts = Contexts(model, batch, np.arange(len(batch.ids)), seeds, config)
    drawn = torch.tensor(np.stack([contexts.draw(row, 12) for row in range(len(batch.ids))]))
    # without EOS and padding the listing's statistics run over events alone
    events = Batch(batch.ids[:, :-1], batch.times[:, :-1], batch.lengths, batch.labels)
    wanted = np.ones((len(batch.ids), len(model.label_names)), bool)
    return paper_phase1(model, events, drawn), PrefixTest(config).score(model, batch, wanted, seeds)


@pytest.mark.parametrize("name", ["strength", "effect", "effect_sd"])
def test_scores_are_those_of_the_papers_procedure(equally_long: tuple[Oracle, Batch], name: str) -> None:
    theirs, ours = _both(*equally_long)
    found = getattr(theirs, name)[ours.rows, ours.positions, ours.labels].numpy()
    assert np.allclose(getattr(ours, name), found, atol=2e-6)


def test_edges_are_those_of_the_papers_procedure(equally_long: tuple[Oracle, Batch]) -> None:
    theirs, ours = _both(*equally_long)
    found = theirs.edges[ours.rows, ours.positions, ours.labels].numpy()
    kept = PAPER_THRESHOLD.keep(ours)
    assert kept.any()
    assert (kept == found).all()


def test_contexts_are_drawn_as_by_the_papers_procedure(equally_long: tuple[Oracle, Batch]) -> None:
    model, batch = equally_long
    config = replace(PAPER, context=4, top_k=5)
    ours = Contexts(model, batch, np.arange(6), np.arange(6), config).draw(2, 4000)
    theirs = paper_contexts(model, batch, 4, 4000, 5, 0.8, 1)[2].numpy()
    shares = [
        np.stack([np.bincount(row, minlength=16) for row in drawn.T]) / 4000 for drawn in (ours, theirs)
    ]
    assert np.abs(shares[0] - shares[1]).max() < 0.04
