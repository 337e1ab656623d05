from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import ConfigError
from eventcargo.batches import Batch, Batches
from eventcargo.models.density import COLUMNS_AT_ONCE, DensityModel, NextEvents
from eventcargo.models.oracle import Oracle
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.oneshot.contexts import (
    ContextConfig,
    Contexts,
    Proposals,
    propose,
    propose_among,
    uniforms,
)
from eventcargo.simulation.exact import ExactConfig, ExactProcess
from eventcargo.vocabulary import BOS, EOS, SPECIAL, UNK, Vocabulary

FIRST = len(SPECIAL)
ALL = ContextConfig(context=3, top_k=0, top_p=1.0, draws="independent")
MOST_PROBABLE = ContextConfig(context=3, top_k=1)


@pytest.fixture(scope="module")
def process() -> ExactProcess:
    return ExactProcess.from_config(ExactConfig(length_min=4), seed=100)


@pytest.fixture(scope="module")
def model(process: ExactProcess) -> Oracle:
    return Oracle(process)


@pytest.fixture(scope="module")
def batch(process: ExactProcess, model: Oracle) -> Batch:
    return Batches(process.sample(5, seed=101).data, model.vocabulary, model.max_length).take(np.arange(5))


def _contexts(model: Oracle, batch: Batch, config: ContextConfig, seed: int = 7) -> Contexts:
    rows = np.arange(len(batch.ids))
    return Contexts(model, batch, rows, seed + rows, config)


def _propose(*exposed: float, **settings: Any) -> dict[int, float]:
    """Chances of event types, numbered from 0, after the cuts."""
    logits = torch.tensor([[-1e4] * FIRST + [float(np.log(chance)) for chance in exposed]])
    found = propose(logits, ContextConfig(**settings))
    shares = np.diff(found.cumulative[0], prepend=0.0)
    return {
        int(i) - FIRST: round(float(share), 6)
        for i, share in zip(found.ids[0], shares, strict=True)
        if share > 0
    }


def test_top_k_keeps_the_most_probable_and_normalises() -> None:
    assert _propose(0.1, 0.4, 0.2, 0.3, top_k=2, top_p=1.0) == {1: round(4 / 7, 6), 3: round(3 / 7, 6)}


def test_the_most_probable_of_very_many_event_types_are_found() -> None:
    logits = torch.randn(6, 3_001, generator=torch.Generator().manual_seed(0))
    logits[0, -2:] = 9.0  # the last ones are in no group
    found = propose(logits, ContextConfig(top_k=20, top_p=1.0))
    for ids, row in zip(found.ids, logits, strict=True):
        expected = UNK + torch.argsort(row[UNK:], descending=True)[:20]
        assert ids.tolist() == sorted(expected.tolist())


@pytest.mark.parametrize("nucleus", ["reaching", "within"])
@pytest.mark.parametrize("spread", [0.5, 2.0, 4.0])
def test_the_nucleus_of_very_many_event_types_is_that_of_the_whole_sum(spread: float, nucleus: Any) -> None:
    """With a wide spread the most probable hold the mass, with a narrow one they are far from it."""
    draw = torch.Generator().manual_seed(0)
    logits = spread * torch.randn(20, 3 * COLUMNS_AT_ONCE + 5, generator=draw)
    found = propose(logits, ContextConfig(top_k=20, top_p=0.8, nucleus=nucleus))
    top = logits[:, UNK:].double().softmax(dim=1).topk(20).values
    held = top.cumsum(dim=1) - (top if nucleus == "reaching" else 0.0)
    expected = (held < 0.8).sum(dim=1).clamp(min=1)
    assert (np.diff(found.cumulative, prepend=0.0) > 0).sum(axis=1).tolist() == expected.tolist()


def test_the_nucleus_keeps_the_event_type_that_crosses_the_mass() -> None:
    assert set(_propose(0.1, 0.4, 0.2, 0.3, top_p=0.8)) == {1, 2, 3}  # 0.4 + 0.3 < 0.8 <= 0.4 + 0.3 + 0.2


def test_the_nucleus_within_the_mass_drops_the_event_type_that_crosses_it() -> None:
    assert set(_propose(0.1, 0.4, 0.2, 0.3, top_p=0.8, nucleus="within")) == {1, 3}


def test_a_mass_reached_exactly_needs_no_further_event_type() -> None:
    assert set(_propose(0.5, 0.25, 0.25, top_p=0.5)) == {0}


def test_a_mass_held_exactly_is_within_the_mass() -> None:
    assert set(_propose(0.5, 0.25, 0.25, top_p=0.75, nucleus="within")) == {0, 1}


def test_of_equally_probable_event_types_the_first_are_kept() -> None:
    assert set(_propose(*[0.125] * 8, top_p=0.5)) == {0, 1, 2, 3}


def test_one_event_type_is_kept_even_if_it_is_larger_than_the_mass() -> None:
    assert _propose(0.9, 0.1, top_p=0.5, nucleus="within") == {0: 1.0}


def test_the_mass_is_of_all_event_types_not_of_the_top_k() -> None:
    # the top 2 hold 0.7 in all; normalised first, 0.4 / 0.7 and 0.3 / 0.7, the first would reach 0.55 alone
    assert set(_propose(0.1, 0.4, 0.2, 0.3, top_k=2, top_p=0.55)) == {1, 3}


def test_no_cut_keeps_every_event_type() -> None:
    assert len(_propose(*[0.01] * 90, 0.1, top_k=0, top_p=1.0)) == 91


def test_no_cut_keeps_even_the_least_probable() -> None:
    assert len(_propose(1 - 1e-7, 1e-7, top_k=0, top_p=1.0)) == 2


def test_a_higher_temperature_is_more_even() -> None:
    found = _propose(0.8, 0.2, top_p=1.0, temperature=2.0)
    assert found[0] == pytest.approx(0.8**0.5 / (0.8**0.5 + 0.2**0.5), abs=1e-6)


def test_marks_are_never_proposed_however_probable() -> None:
    logits = torch.full((1, FIRST + 2), 0.0)
    logits[0, :3] = 50.0  # PAD, BOS, EOS
    found = propose(logits, ContextConfig(top_k=0, top_p=1.0))
    assert found.ids.tolist() == [[3, 4, 5]]
    assert np.allclose(found.cumulative, [[1 / 3, 2 / 3, 1]])


def test_the_models_logits_are_left_as_they_are() -> None:
    logits = torch.zeros((1, FIRST + 2))
    propose(logits, ContextConfig())
    assert (logits == 0).all()


def test_draws_invert_the_cumulative_chances() -> None:
    proposals = Proposals(np.array([[4, 7, 9]]), np.array([[0.25, 0.25, 1.0]]))
    assert proposals.draw(np.array([[0.0, 0.2499, 0.25, 0.9999]])).tolist() == [[4, 4, 9, 9]]


def test_an_event_is_drawn_given_the_events_before_it(
    process: ExactProcess, model: Oracle, batch: Batch
) -> None:
    drawn = _contexts(model, batch, MOST_PROBABLE).draw(0, 4)
    observed = batch.ids[0, 1:3] - FIRST
    expected = [process.first.argmax(), *process.following[observed].argmax(axis=1)]
    assert (drawn - FIRST == expected).all()


def test_ancestral_draws_are_given_what_was_drawn(process: ExactProcess, model: Oracle, batch: Batch) -> None:
    drawn = _contexts(model, batch, replace(MOST_PROBABLE, order="ancestral")).draw(0, 4)
    expected = [int(process.first.argmax())]
    for _ in range(2):
        expected.append(int(process.following[expected[-1]].argmax()))
    assert (drawn - FIRST == expected).all()


def test_ancestral_draws_leave_the_batch_as_it_is(model: Oracle, batch: Batch) -> None:
    before = batch.ids.copy()
    _contexts(model, batch, replace(ALL, order="ancestral")).draw(0, 4)
    assert (batch.ids == before).all()


@pytest.mark.parametrize("order", ["observed", "ancestral"])
@pytest.mark.parametrize("draws", ["stratified", "independent"])
def test_draws_follow_the_chances(
    process: ExactProcess, model: Oracle, batch: Batch, order: Any, draws: Any
) -> None:
    drawn = _contexts(model, batch, replace(ALL, order=order, draws=draws)).draw(0, 4000)
    shares = np.bincount(drawn[:, 0] - FIRST, minlength=len(process.first)) / 4000
    assert np.abs(shares - process.first).max() < 0.03


def test_ends_are_never_drawn(model: Oracle, batch: Batch) -> None:
    long = replace(ALL, context=4)  # the fifth event may be missing, but the first four are events
    assert _contexts(model, batch, long).draw(0, 500).min() >= FIRST


def test_stratified_draws_share_out_the_probability_evenly(
    process: ExactProcess, model: Oracle, batch: Batch
) -> None:
    drawn = _contexts(model, batch, replace(ALL, draws="stratified")).draw(0, 50)
    counts = np.bincount(drawn[:, 0] - FIRST, minlength=len(process.first))
    assert np.abs(counts - 50 * process.first).max() < 1 + 1e-6


def test_stratified_numbers_have_one_in_each_stratum() -> None:
    found = uniforms(3, 0, 16, 5, "stratified")
    assert (np.sort(found * 16 // 1, axis=1) == np.arange(16)).all()


def test_stratified_numbers_are_dealt_differently_at_each_position() -> None:
    found = uniforms(3, 0, 16, 5, "stratified")
    assert len({tuple(row.argsort()) for row in found}) == 5


@pytest.mark.parametrize("draws", ["stratified", "independent"])
def test_numbers_are_uniform(draws: str) -> None:
    found = np.stack([uniforms(seed, 0, 2, 4, draws) for seed in range(2000)])
    assert abs(found.mean() - 0.5) < 0.01
    assert abs(found.var() - 1 / 12) < 0.005


def test_numbers_stay_below_one() -> None:
    assert max(uniforms(seed, 0, 3, 40, "stratified").max() for seed in range(200)) < 1.0


def test_later_draws_differ() -> None:
    assert (uniforms(3, 0, 4, 5, "independent") != uniforms(3, 4, 4, 5, "independent")).all()


def test_as_many_again_fill_the_gaps() -> None:
    rounds = [uniforms(3, 0, 4, 5, "stratified"), uniforms(3, 4, 4, 5, "stratified")]
    rounds.append(uniforms(3, 8, 8, 5, "stratified"))
    together = np.sort(np.concatenate(rounds, axis=1), axis=1)
    assert np.allclose(np.diff(together, axis=1), 1 / 16)


def test_a_last_round_of_another_size_is_stratified_by_itself() -> None:
    found = uniforms(3, 64, 4, 5, "stratified")
    assert (np.sort(found * 4 // 1, axis=1) == np.arange(4)).all()


def test_negative_seeds_are_seeds() -> None:
    assert (uniforms(-3, 0, 4, 5, "independent") != uniforms(3, 0, 4, 5, "independent")).all()


@pytest.mark.parametrize("order", ["observed", "ancestral"])
def test_what_stands_beside_a_sequence_changes_nothing(model: Oracle, batch: Batch, order: Any) -> None:
    config = replace(ALL, order=order)
    beside = _contexts(model, batch, config).draw(3, 6, done=6)
    alone = batch.rows(np.array([3]))
    found = Contexts(model, alone, np.array([0]), np.array([7 + 3]), config).draw(0, 6, done=6)
    assert (found == beside).all()


class Whole(DensityModel):
    """A model that gives logits alone."""

    def __init__(self, model: Transformer) -> None:
        self.vocabulary, self.label_names, self.max_length = (
            model.vocabulary,
            model.label_names,
            model.max_length,
        )
        self._model = model

    def densities(self, batch: Batch, **where: Any) -> Any:
        return self._model.densities(batch, **where)


def _observed(starts: list[float]) -> tuple[Transformer, Batch]:
    """A random model of one value, and sequences of 100 events that start with these values."""
    names, rng = tuple(f"e{number}" for number in range(COLUMNS_AT_ONCE + 9)), np.random.default_rng(4)
    model = Transformer(transformer_size("tiny"), Vocabulary(names), ["x"], value_names=["heat"]).eval()
    draw = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=draw)
    ids = rng.integers(FIRST, FIRST + len(names), (len(starts), 102))
    ids[:, 0], ids[:, -1] = BOS, EOS
    values = rng.normal(size=(len(starts), 102, 1)).astype(np.float32)
    values[:, :2, 0] = np.array(starts)[:, None]
    times = np.arange(102, dtype=np.float32) * np.ones((len(starts), 1), np.float32)
    labels, lengths = np.zeros((len(starts), 1), np.float32), np.full(len(starts), 102)
    return model, Batch(ids, times, lengths, labels, values)


@pytest.mark.parametrize("starts", [[1.0] * 3, [1.0, 1.0, 2.0]], ids=["alike", "differently"])
def test_states_give_the_draws_that_logits_give(starts: list[float]) -> None:
    model, batch = _observed(starts)
    config, rows = ContextConfig(context=99, top_k=5), np.arange(len(starts))
    split = Contexts(model, batch, rows, rows, config)
    whole = Contexts(Whole(model), batch, rows, rows, config)
    assert all((split.draw(row, 16) == whole.draw(row, 16)).all() for row in rows.tolist())


@pytest.mark.parametrize("starts", [[1.0] * 3, [1.0, 1.0, -50.0]], ids=["alike", "differently"])
def test_what_comes_first_is_given_the_values_of_the_start(starts: list[float]) -> None:
    model, batch = _observed(starts)
    rows, config = np.arange(3), ContextConfig(context=2, top_k=1)
    logits = model.densities(batch, events_at=np.arange(102) == np.zeros((3, 1))).events
    assert logits is not None
    expected = (UNK + logits[:, UNK:].argmax(dim=1)).tolist()
    contexts = Contexts(model, batch, rows, rows, config)
    assert [int(contexts.draw(row, 1)[0, 0]) for row in rows.tolist()] == expected


@pytest.mark.parametrize("top_p", [0.05, 0.8])
def test_event_types_ruled_out_change_no_draw(top_p: float) -> None:
    """With the first, the nucleus is decided by the probabilities of all event types."""
    model, batch = _observed([1.0, 2.0])
    torch.nn.init.normal_(model.event_bias, std=5.0, generator=torch.Generator().manual_seed(8))
    config, rows = ContextConfig(context=9, top_k=20, top_p=top_p), np.arange(2)
    asked = np.ones((2, 9), bool)
    assert all(events.ids is not None for events in model.next_events(batch.rows(rows, 9), asked, 20))
    screened = Contexts(model, batch, rows, rows, config)
    whole = Contexts(Whole(model), batch, rows, rows, config)
    assert (screened.draw_all([0, 1], 64) == whole.draw_all([0, 1], 64)).all()


def test_event_types_ruled_out_count_towards_the_nucleus() -> None:
    """The three most probable ids hold .38, .23 and .14 of all, but .51, .31 and .19 among themselves."""
    logits = torch.full((1, FIRST + 103), -4.0)
    logits[0, -3:] = torch.tensor([1.0, 0.5, 0.0])
    ids, low = torch.arange(FIRST + 100, FIRST + 103), torch.full((101,), -90.0)
    config = ContextConfig(top_k=3, top_p=0.5)
    found = propose_among(NextEvents(logits[:, ids], ids, low, lambda: logits), config)
    expected = propose(logits, config)
    assert np.array_equal(found.ids, expected.ids)
    assert np.allclose(found.cumulative, expected.cumulative)


def test_event_types_ruled_out_are_not_asked_for_where_they_change_nothing() -> None:
    logits = torch.zeros(1, FIRST + 3)
    logits[0, -3:] = torch.tensor([1.0, 0.5, 0.0])
    ids, high = torch.arange(FIRST, FIRST + 3), torch.full((101,), -0.1)
    among = NextEvents(logits[:, ids], ids, high, lambda: pytest.fail("asked for"))
    found = propose_among(among, ContextConfig(top_k=3, top_p=0.5))
    assert np.allclose(found.cumulative, np.exp([[1.0, 0.5, 0.0]]).cumsum() / np.exp([1.0, 0.5, 0.0]).sum())


@pytest.mark.parametrize("order", ["observed", "ancestral"])
def test_draws_of_several_sequences_are_those_of_each(model: Oracle, batch: Batch, order: Any) -> None:
    contexts = _contexts(model, batch, replace(ALL, order=order))
    expected = [contexts.draw(row, 6, done=6) for row in (3, 0)]
    assert np.array_equal(contexts.draw_all([3, 0], 6, done=6), expected)


def test_no_sequence_needs_no_proposal() -> None:
    model, batch = _observed([1.0])
    assert Contexts(model, batch, np.zeros(0, np.int64), np.zeros(1, np.int64), ContextConfig())


def test_repeated_rows_keep_their_marks_and_values() -> None:
    ids = np.array([[BOS, 5, 6, EOS], [BOS, 4, EOS, 0]])
    values = np.arange(8, dtype=np.float32).reshape(2, 4, 1)
    given = Batch(ids, np.zeros((2, 4), np.float32), np.array([4, 3]), np.zeros((2, 1), np.float32), values)
    found = given.rows(np.array([1, 1, 0]), 3)
    assert found.ids.tolist() == [[BOS, 4, EOS], [BOS, 4, EOS], [BOS, 5, 6]]
    assert found.values[2, :, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "settings",
    [
        {"context": -1},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"temperature": 0.0},
        {"temperature": float("inf")},
        {"nucleus": "outside"},
        {"draws": "random"},
        {"order": "backwards"},
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    name, value = next(iter(settings.items()))
    with pytest.raises(ConfigError, match=f"{name}={value!r}"):
        ContextConfig(**settings)


@pytest.mark.parametrize("settings", [{"context": 0}, {"top_k": 0}, {"top_p": 1.0}, {"top_p": 1e-9}])
def test_settings_on_the_edge_are_allowed(settings: dict[str, Any]) -> None:
    assert ContextConfig(**settings)


def test_proposals_do_not_depend_on_the_order_of_logits_in_memory() -> None:
    """The Transformer gives one column per position, other models one row."""
    rows = torch.randn(3, 3_000, generator=torch.Generator().manual_seed(6))
    found, expected = propose(rows.T.contiguous().T, ContextConfig()), propose(rows, ContextConfig())
    assert np.array_equal(found.ids, expected.ids)
    assert np.allclose(found.cumulative, expected.cumulative)
