import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eventcargo import EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batches
from eventcargo.deadline import Deadline
from eventcargo.errors import ConfigError, DataError, EventCargoWarning
from eventcargo.models.density import label_probabilities
from eventcargo.models.label_model import LABEL_PARTS
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.training import trainer
from eventcargo.models.training.interrupt import Interrupted
from eventcargo.models.training.trainer import TrainConfig, Training, train
from eventcargo.models.training.validation import set_aside
from eventcargo.models.transformer.model import Transformer, TransformerConfig, transformer_size
from eventcargo.quality import Quality
from eventcargo.simulation import simulate

SHAPE = TransformerConfig(width=16, layers=1, heads=2, feedforward=16, dropout=0.1, linear=False)
QUICK = TrainConfig(steps=12, tokens=256, checks=3, save_every=5)


@pytest.fixture(scope="module")
def chain() -> EventDataset:
    return simulate("chain", sequences=100, seed=100).data


def weights(model: Transformer) -> torch.Tensor:
    return torch.cat([value.flatten() for value in model.state_dict().values()])


def stop_at(step: int, number: int) -> Any:
    def progress(stage: str, done: float, total: float, message: str) -> None:
        if message.startswith(f"step {step},"):
            os.kill(os.getpid(), number)

    return progress


def test_labels_caused_by_presence_are_learnt() -> None:
    data = simulate(
        "chain", sequences=800, labels=2, event_types=12, length_min=5, length_max=8, seed=100
    ).data
    training = Training(
        data,
        TrainConfig(steps=150, checks=2, tokens=512, learning_rate=0.004),
        transformer_size("tiny", linear=False),
    )
    training.run()
    assert training.state.history[-1]["label_f1"] > 0.85


def test_the_next_event_is_learnt() -> None:
    sequences = [
        EventSequence(f"{i:03}", tuple("abcd" * 3), tuple(map(float, range(12))), ()) for i in range(60)
    ]
    training = Training(
        EventDataset.from_sequences(sequences), replace(QUICK, steps=60, learning_rate=0.02), SHAPE
    )
    training.run()
    assert training.state.history[-1]["event_loss"] < 0.3  # the rates alone give 1.6


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(chain: EventDataset) -> None:
    one, same = train(chain, QUICK, SHAPE), train(chain, QUICK, SHAPE)
    assert torch.equal(weights(one), weights(same))
    assert not torch.equal(weights(one), weights(train(chain, replace(QUICK, seed=1), SHAPE)))


def test_the_global_generator_is_left_alone(chain: EventDataset) -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    train(chain, QUICK, SHAPE)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", [1, 7])
def test_a_run_stopped_by_a_signal_ends_with_the_same_weights(
    chain: EventDataset, tmp_path: Path, number: int, step: int
) -> None:
    with pytest.raises(Interrupted, match=f"step {step}"):
        train(chain, QUICK, SHAPE, run=tmp_path, progress=stop_at(step, number))
    resumed = train(chain, QUICK, SHAPE, run=tmp_path, resume=True)
    assert torch.equal(weights(resumed), weights(train(chain, QUICK, SHAPE)))


KILLED = """
from pathlib import Path
from tests.models.training.test_trainer import KILLED_CONFIG, SHAPE, simulate, train
train(simulate("chain", sequences=100, seed=100).data, KILLED_CONFIG, SHAPE, run=Path({run!r}))
"""
KILLED_CONFIG = replace(QUICK, steps=150, save_every=4)


def test_a_run_killed_at_any_moment_ends_with_the_same_weights(chain: EventDataset, tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    code = KILLED.format(run=str(tmp_path / "run"))
    process = subprocess.Popen([sys.executable, "-c", code], cwd=root)
    while process.poll() is None and not (tmp_path / "run" / "checkpoint.safetensors").exists():
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    resumed = Training(chain, KILLED_CONFIG, SHAPE, run=tmp_path / "run", resume=True)
    assert 0 < resumed.state.step < KILLED_CONFIG.steps
    assert torch.equal(weights(resumed.run()), weights(train(chain, KILLED_CONFIG, SHAPE)))


def test_a_finished_run_resumed_gives_its_model_again(chain: EventDataset, tmp_path: Path) -> None:
    model = train(chain, QUICK, SHAPE, run=tmp_path)
    again = Training(chain, QUICK, SHAPE, run=tmp_path, resume=True)
    assert again.state.finished
    assert torch.equal(weights(again.run()), weights(model))


def test_the_model_of_a_run_can_be_read(chain: EventDataset, tmp_path: Path) -> None:
    model = train(chain, QUICK, SHAPE, run=tmp_path)
    read = Transformer.from_pretrained(tmp_path / "model")
    assert np.array_equal(label_probabilities(read, chain), label_probabilities(model, chain))


def test_a_stopped_run_leaves_its_best_model(chain: EventDataset, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(chain, QUICK, SHAPE, run=tmp_path, progress=stop_at(8, signal.SIGTERM))
    assert Transformer.from_pretrained(tmp_path / "model").label_names == chain.label_names


def test_a_run_bounded_by_time_keeps_what_is_left(chain: EventDataset, tmp_path: Path) -> None:
    config = TrainConfig(max_time="8s", tokens=256)
    with pytest.raises(Interrupted):
        train(chain, config, SHAPE, run=tmp_path, progress=stop_at(5, signal.SIGTERM))
    resumed = Training(chain, config, SHAPE, run=tmp_path, resume=True)
    before = resumed.state.elapsed
    began = time.monotonic()
    resumed.run()
    assert 0 < before < 8
    assert time.monotonic() - began < 8 - before + 3


def test_a_run_bounded_by_time_ends_in_time(chain: EventDataset) -> None:
    began = time.monotonic()
    training = Training(chain, TrainConfig(max_time="6s", tokens=256, checks=4), SHAPE)
    training.run()
    assert time.monotonic() - began < 9
    assert len(training.state.history) > 1


def test_a_limit_too_short_for_a_network_alone_is_refused_with_the_time_it_takes(chain: EventDataset) -> None:
    shape = replace(SHAPE, linear=False)
    with pytest.raises(ConfigError, match=r"leaves 0 s for training, .* takes about \d+ s here; allow"):
        Training(chain, TrainConfig(max_time="1h"), shape, deadline=Deadline.after(0.0))


def test_other_data_are_not_resumed_with(chain: EventDataset, tmp_path: Path) -> None:
    train(chain, QUICK, SHAPE, run=tmp_path)
    with pytest.raises(ConfigError, match="data='100 sequences"):
        train(chain[:50], QUICK, SHAPE, run=tmp_path, resume=True)


def test_another_vocabulary_is_not_resumed_with(chain: EventDataset, tmp_path: Path) -> None:
    train(chain, QUICK, SHAPE, run=tmp_path)
    with pytest.raises(ConfigError, match="vocabulary="):
        train(chain, QUICK, SHAPE, run=tmp_path, resume=True, vocabulary=Vocabulary(("E00001",)))


def test_a_run_may_go_on_on_another_device(chain: EventDataset, tmp_path: Path) -> None:
    train(chain, QUICK, SHAPE, run=tmp_path)
    assert train(chain, replace(QUICK, device="cpu:0"), SHAPE, run=tmp_path, resume=True)


def test_resume_without_a_run_is_refused(chain: EventDataset) -> None:
    with pytest.raises(ConfigError, match="resume=True without a run"):
        train(chain, QUICK, SHAPE, resume=True)


def test_the_best_model_is_kept(chain: EventDataset) -> None:
    training = Training(
        chain, replace(QUICK, steps=200, learning_rate=0.05, checks=20, patience=3, hidden_share=0.0), SHAPE
    )
    model = training.run()
    losses = [check["loss"] for check in training.state.history]
    assert min(losses) < losses[-1]
    assert training._held is not None
    assert training._held.check(model).loss == pytest.approx(min(losses))


def test_a_run_that_gets_worse_stops_early(chain: EventDataset) -> None:
    config = replace(QUICK, steps=200, learning_rate=0.05, checks=20, patience=3, hidden_share=0.0)
    training = Training(chain, config, SHAPE)
    training.run()
    assert training.state.worse == 3
    assert training.state.step < 200


def test_without_held_out_sequences_the_last_model_is_taken(chain: EventDataset) -> None:
    training = Training(chain, replace(QUICK, held_out=0.0), SHAPE)
    training.run()
    assert training.state.step == 12
    assert training.state.history == []


def test_parts_of_a_batch_give_the_weights_of_the_whole(chain: EventDataset) -> None:
    still = replace(SHAPE, dropout=0.0)
    whole, parts = (train(chain, replace(QUICK, accumulate=n), still) for n in (1, 3))
    assert torch.allclose(weights(whole), weights(parts), atol=1e-4)


def test_a_large_vocabulary_is_sampled(chain: EventDataset) -> None:
    training = Training(chain, replace(QUICK, sampled=8, event_weight=1.0), SHAPE)
    training.run()
    assert training._sampler is not None
    assert Training(chain, replace(QUICK, sampled=0), SHAPE)._sampler is None


def test_a_label_without_an_example_is_kept_reported_and_never_predicted(chain: EventDataset) -> None:
    data = chain.select(chain.label_matrix().toarray()[:, 2] == 0)
    with pytest.warns(EventCargoWarning, match="1 of 4 labels has no positive example, the first: 'L002'"):
        model = train(data, QUICK, SHAPE)
    assert model.label_names == chain.label_names
    assert model.label_cap.isfinite().tolist() == [False, False, True, False]
    assert label_probabilities(model, chain)[:, 2].max() < 0.05


def test_data_without_labels_train_the_next_event(chain: EventDataset) -> None:
    sequences = [replace(sequence, labels=()) for sequence in chain]
    training = Training(EventDataset.from_sequences(sequences), QUICK, SHAPE)
    training.run()
    best = min(held["event_loss"] for held in training.state.history)
    assert training.state.best == pytest.approx(best)


def test_data_without_events_are_refused() -> None:
    with pytest.raises(DataError, match="no events in 1 training sequence;"):
        train(EventDataset.from_sequences([EventSequence("a", (), (), ("x",))]), QUICK, SHAPE)


def test_a_loss_that_is_no_number_stops_with_advice(chain: EventDataset) -> None:
    training = Training(chain, replace(QUICK, held_out=0.0), SHAPE)
    with torch.no_grad():
        training.model.embedding.weight.fill_(math.nan)
    with pytest.raises(ConfigError, match=r"loss became nan .* at step 0; lower learning_rate=0\.0015"):
        training.run()


def test_progress_tells_step_loss_f1_speed_and_time_left(chain: EventDataset) -> None:
    reports: list[tuple[str, float, float, str]] = []
    train(chain, QUICK, SHAPE, progress=lambda *report: reports.append(report))
    messages = [message for *_, message in reports]
    form = r"step (\d+), loss \d+\.\d{3}, label F1 (\d\.\d{3}), [\d,]+ tokens/s, \d+:\d{2} left"
    parts = [re.fullmatch(form, message) for message in messages]
    assert [int(part[1]) for part in parts if part] == list(range(1, 13))
    assert reports[0][3].split(", ")[2] == "label F1 0.000"
    assert reports[-1][:3] == ("training", 1.0, 1.0)
    assert messages[-1].endswith("0:00 left")


def test_embeddings_and_biases_are_not_decayed(chain: EventDataset) -> None:
    training = Training(chain, QUICK, SHAPE)
    decayed, others = training._optimizer.param_groups
    kept = {id(parameter) for parameter in others["params"]}
    assert id(training.model.embedding.weight) in kept
    assert id(training.model.event_bias) in kept
    assert id(training.model.label_head.weight) in {id(parameter) for parameter in decayed["params"]}
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.01, 0.0)


@pytest.mark.parametrize(("few", "expected"), [(trainer.FEW_WEIGHTS, 1), (0, 2)])
def test_a_small_network_runs_on_one_thread(
    chain: EventDataset, few: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "FEW_WEIGHTS", few)
    before, seen = torch.get_num_threads(), set[int]()
    torch.set_num_threads(2)
    train(chain, QUICK, SHAPE, progress=lambda *_: seen.add(torch.get_num_threads()))
    torch.set_num_threads(before)
    assert seen == {expected}


BOTH = replace(SHAPE, linear=True)


def test_a_linear_term_is_fitted_first(chain: EventDataset) -> None:
    stages: list[str] = []
    training = Training(chain, QUICK, BOTH, progress=lambda stage, *_: stages.append(stage))
    training.run()
    assert stages == ["linear term"] * 4 + ["training"] * 12
    assert training.model.linear is not None


def test_the_paper_has_no_linear_term() -> None:
    assert not transformer_size("paper").linear


def test_held_out_sequences_are_not_seen_by_the_linear_term(chain: EventDataset) -> None:
    kept, _ = set_aside(chain, QUICK.held_out, QUICK.seed)
    term = fit_linear(kept, Vocabulary.from_dataset(chain), BOTH.max_length, seed=QUICK.seed)
    found = Training(chain, QUICK, BOTH).model.linear
    assert found is not None
    assert torch.equal(found.to_tensors()["bias"], term.bias)


def test_the_linear_term_of_a_run_is_fitted_once(chain: EventDataset, tmp_path: Path) -> None:
    stages: list[str] = []
    with pytest.raises(Interrupted):
        train(chain, QUICK, BOTH, run=tmp_path, progress=stop_at(7, signal.SIGTERM))
    resumed = train(
        chain, QUICK, BOTH, run=tmp_path, resume=True, progress=lambda stage, *_: stages.append(stage)
    )
    assert set(stages) == {"training"}
    assert torch.equal(weights(resumed), weights(train(chain, QUICK, BOTH)))


def test_the_time_of_the_linear_term_counts(chain: EventDataset, tmp_path: Path) -> None:
    config = TrainConfig(max_time="20s", tokens=256)
    first = Training(chain, config, BOTH, run=tmp_path)
    assert first._clock.term_seconds > 0
    began = time.monotonic()
    resumed = Training(chain, config, BOTH, run=tmp_path, resume=True)
    resumed._used(0)
    spent = time.monotonic() - began
    assert first._clock.term_seconds < resumed.state.elapsed <= first._clock.term_seconds + spent


def test_quality_is_written_beside_the_model(chain: EventDataset, tmp_path: Path) -> None:
    training = Training(chain, QUICK, SHAPE, run=tmp_path)
    training.run()
    assert Quality.read(tmp_path / "model" / "quality.json") == training.quality
    assert training.quality is not None
    assert Transformer.from_pretrained(tmp_path / "model").untrusted == training.quality.untrusted


def test_without_held_out_sequences_there_is_no_quality(chain: EventDataset, tmp_path: Path) -> None:
    training = Training(chain, replace(QUICK, held_out=0.0), SHAPE, run=tmp_path)
    training.run()
    assert training.quality is None
    assert not (tmp_path / "model" / "quality.json").exists()


def changed(before: Transformer, after: Transformer) -> set[str]:
    """Names of the parameters that differ."""
    other = dict(after.named_parameters())
    return {name for name, value in before.named_parameters() if not torch.equal(value, other[name])}


def take_steps(training: Training, n: int) -> None:
    rows = training._order()
    for _ in range(n):
        training._begin_labels()
        training._step(next(rows))


def test_pretraining_leaves_the_labels_alone(chain: EventDataset) -> None:
    config = replace(QUICK, pretrain=0.5, held_out=0.0)
    start, half = Training(chain, config, SHAPE), Training(chain, config, SHAPE)
    take_steps(half, 5)
    assert not any(name.startswith(LABEL_PARTS) for name in changed(start.model, half.model))
    assert "embedding.weight" in changed(start.model, half.model)


def test_frozen_weights_stay_as_pretraining_left_them(chain: EventDataset) -> None:
    shape = replace(SHAPE, label_layers=1)
    config = replace(QUICK, pretrain=0.5, freeze=True, held_out=0.0)
    half, full = Training(chain, config, shape), Training(chain, config, shape)
    take_steps(half, 5)
    full.run()
    assert all(name.startswith(LABEL_PARTS) for name in changed(half.model, full.model))
    assert "label_blocks.0.feed_forward.out.weight" in changed(half.model, full.model)


def test_unfrozen_weights_go_on_learning(chain: EventDataset) -> None:
    config = replace(QUICK, pretrain=0.5, held_out=0.0)
    half, full = Training(chain, config, SHAPE), Training(chain, config, SHAPE)
    take_steps(half, 5)
    full.run()
    assert "embedding.weight" in changed(half.model, full.model)


@pytest.mark.parametrize("step", [3, 8])
def test_a_run_in_two_stages_is_resumed_exactly(chain: EventDataset, tmp_path: Path, step: int) -> None:
    config = replace(QUICK, pretrain=0.5, freeze=True)
    with pytest.raises(Interrupted):
        train(chain, config, SHAPE, run=tmp_path, progress=stop_at(step, signal.SIGTERM))
    resumed = train(chain, config, SHAPE, run=tmp_path, resume=True)
    assert torch.equal(weights(resumed), weights(train(chain, config, SHAPE)))


def test_the_best_model_of_two_stages_has_learnt_labels(chain: EventDataset) -> None:
    training = Training(chain, replace(QUICK, pretrain=0.5, checks=6), SHAPE)
    training.run()
    after = [held["loss"] for held in training.state.history if held["step"] > 6]
    assert training.state.best == min(after)


def test_freezing_without_pretraining_is_refused() -> None:
    with pytest.raises(ConfigError, match="pretrain"):
        TrainConfig(freeze=True)


@pytest.mark.parametrize(
    ("changed", "shape", "name"),
    [
        ({}, {"linear": False}, "transformer.linear=True"),
        ({"hidden_share": 0.5}, {}, "train.hidden_share=0.05"),
        ({}, {"feedforward": 32}, "transformer.feedforward=16"),
        ({"seed": 1}, {}, "train.seed=0"),
    ],
)
def test_resuming_with_other_settings_is_refused(
    chain: EventDataset, tmp_path: Path, changed: dict[str, Any], shape: dict[str, Any], name: str
) -> None:
    with pytest.raises(Interrupted):
        train(chain, QUICK, BOTH, run=tmp_path, progress=stop_at(3, signal.SIGTERM))
    with pytest.raises(ConfigError, match=f"was begun with {name}, now it is"):
        train(chain, replace(QUICK, **changed), replace(BOTH, **shape), run=tmp_path, resume=True)


TRIAL = replace(QUICK, steps=30, trial=10)


def test_a_network_that_does_not_help_is_given_up_after_its_trial() -> None:
    data = simulate("confounded", sequences=600, seed=100).data
    training = Training(data, TRIAL, BOTH)
    training.run()
    assert training.state.step == 10
    assert training.quality is not None
    account = training.quality.training
    assert account["steps"] == 10
    assert "did not lower the held-out label loss" in account["ended"]
    assert account["helped"] == []
    assert not any(bool(part.any()) for part in training.model.end_head.parameters())
    assert training.model.linear_labels.all()


def test_a_network_that_promises_to_help_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "PROMISING", -1e9)
    training = Training(simulate("confounded", sequences=600, seed=100).data, TRIAL, BOTH)
    training.run()
    assert (training.state.step, training.state.ended) == (30, "")


def test_a_network_is_not_begun_where_the_linear_term_leaves_nothing() -> None:
    data = simulate("follows", sequences=800, labels=1, label_noise=0.0, seed=100).data
    training = Training(data, TRIAL, BOTH)
    model = training.run()
    assert training.state.step == 0
    assert "leaves no label a hundredth" in training.state.ended
    assert model.is_term_alone
    assert not model.train().is_term_alone  # it could learn
    model.eval()
    batch = Batches(data, model.vocabulary, model.max_length).take(np.arange(50))
    quick = model.densities(batch, labels_at=batch.at_end).labels
    slow = model.densities(batch, labels_at=batch.at_end, events_at=batch.at_end).labels
    assert quick is not None
    assert slow is not None
    assert torch.allclose(quick, slow)


def test_a_network_is_not_begun_without_time() -> None:
    data = simulate("confounded", sequences=600, seed=100).data
    training = Training(data, replace(TRIAL, max_time="1h"), BOTH, deadline=Deadline.after(8.0))
    training.run()
    assert training.state.ended == "the linear term left no time for the network"


def test_a_run_ends_before_its_deadline(chain: EventDataset) -> None:
    began = time.monotonic()
    training = Training(chain, TrainConfig(tokens=256), SHAPE, deadline=Deadline.after(3.0))
    training.run()
    assert time.monotonic() - began < 30
    assert 0 < training._clock.limit <= 3.0


def test_a_trial_warms_up_by_its_steps(chain: EventDataset) -> None:
    training = Training(chain, TrainConfig(max_time="1h", trial=100), SHAPE)
    training.state.step = 9
    assert training._rate() == pytest.approx(0.5 * TrainConfig().learning_rate)
    training.state.step = 50
    assert training._rate() == TrainConfig().learning_rate
