"""The linear term: what it computes, what it refuses, and that it finds what each regime is about."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from eventcargo import ConfigError, DataError, EventDataset, EventSequence, Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.deadline import NEVER, Deadline
from eventcargo.engines import Local
from eventcargo.errors import EventCargoWarning
from eventcargo.event_kinds import EventKinds
from eventcargo.features import FAMILIES, is_sensible
from eventcargo.models.linear import fit
from eventcargo.models.linear.fit import LinearConfig, fit_linear
from eventcargo.models.linear.row_features import RowFeatures
from eventcargo.models.linear.screening import Screening, Split, screen
from eventcargo.models.linear.term import Effort, LinearTerm
from eventcargo.simulation import simulate

from ...families import with_kinds
from ...repeats import repeated

LENGTH = 64
QUICK = LinearConfig(workers=1)


def whole(data: EventDataset, vocabulary: Vocabulary) -> Batch:
    return Batches(data, vocabulary, LENGTH).take(np.arange(len(data)))


def full_term(data: EventDataset, vocabulary: Vocabulary, seed: int = 0) -> tuple[LinearTerm, np.ndarray]:
    """A term with a random weight for every feature of every family, and its logits at EOS by the matrix."""
    rng = np.random.default_rng(seed)
    made = {
        family: RowFeatures.of([whole(data, vocabulary)], family, len(vocabulary), 3, 1).whole()
        for family in FAMILIES
    }
    X = np.concatenate([matrix.sparse().toarray() for matrix, _ in made.values()], axis=1)
    weights, bias = rng.normal(size=(X.shape[1], 3)), rng.normal(size=3)
    keys = {family: names for family, (_, names) in made.items()}
    tensors = [torch.tensor(part, dtype=torch.float32) for part in (weights, bias)]
    return LinearTerm(len(vocabulary), 3, keys, *tensors), X @ weights + bias


@pytest.fixture
def small() -> EventDataset:
    return simulate("timing", sequences=12, labels=2, seed=3).data


def auroc(term: LinearTerm, data: EventDataset, vocabulary: Vocabulary) -> float:
    from sklearn.metrics import roc_auc_score

    batch = whole(data, vocabulary)
    return float(roc_auc_score(batch.labels, term.logits(batch, batch.at_end).numpy(), average="macro"))


def test_logits_at_the_end_are_those_of_the_matrix(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, expected = full_term(small, vocabulary)
    batch = whole(small, vocabulary)
    assert np.allclose(term.logits(batch, batch.at_end).numpy(), expected, atol=1e-3)


def test_running_logits_end_where_those_of_the_end_are(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, expected = full_term(small, vocabulary)
    batch = whole(small, vocabulary)
    running = term.logits(batch, batch.mask).numpy()
    assert np.allclose(running[batch.at_end[batch.mask]], expected, atol=1e-3)


def test_running_logit_is_that_of_the_prefix_without_the_families_of_the_end(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    kept = {family: keys for family, keys in term.keys.items() if family not in ("lateness", "since")}
    n_kept = sum(len(keys) for keys in kept.values())
    running = LinearTerm(term.size, term.window, kept, term.weights[:n_kept], term.bias)
    batch = whole(small, vocabulary)
    prefix = Batch(batch.ids[:, :12].copy(), batch.times[:, :12], np.full(len(small), 12), batch.labels)
    prefix.ids[:, 11] = 2
    here = np.zeros_like(batch.mask)
    here[:, 10] = True
    expected = running.logits(prefix, prefix.at_end)
    assert torch.allclose(term.logits(batch, here), expected, atol=1e-3)


def test_nothing_has_happened_at_the_start(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    batch = whole(small, vocabulary)
    start = np.zeros_like(batch.mask)
    start[:, 0] = True
    assert torch.allclose(term.logits(batch, start), term.bias.expand(len(small), -1))


def test_label_columns_pick_labels_in_the_order_asked_for(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    batch = whole(small, vocabulary)
    picked = term.logits(batch, batch.mask, np.array([2, 0]))
    assert torch.allclose(picked, term.logits(batch, batch.mask)[:, [2, 0]], atol=1e-4)


def test_features_without_weight_for_the_labels_asked_for_change_nothing(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    term.weights[::2, 1] = 0.0
    batch = whole(small, vocabulary)
    picked = term.logits(batch, batch.mask, np.array([1]))
    assert torch.allclose(picked, term.logits(batch, batch.mask)[:, [1]], atol=1e-4)


def test_moments_of_used_features_are_those_of_all(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    batch, used = whole(small, vocabulary), np.arange(term.n_features) % 3 == 0
    found, every = term.moments(batch, used), term.moments(batch)
    assert found.keys.tolist() == every.keys[used[every.keys]].tolist()


def test_padding_changes_nothing(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    together = whole(small, vocabulary)
    alone = Batches(small, vocabulary, LENGTH).take(np.array([3]))
    assert torch.allclose(
        term.logits(alone, alone.at_end)[0], term.logits(together, together.at_end)[3], atol=1e-4
    )


def test_no_position_asked_for_gives_no_row(small: EventDataset) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    batch = whole(small, vocabulary)
    assert term.logits(batch, np.zeros_like(batch.mask)).shape == (0, 3)


def test_tensors_survive_a_file(small: EventDataset, tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_dataset(small)
    term, _ = full_term(small, vocabulary)
    save_file(term.to_tensors(), tmp_path / "term.safetensors")
    again = LinearTerm.from_tensors(load_file(tmp_path / "term.safetensors"))
    batch = whole(small, vocabulary)
    assert torch.equal(again.logits(batch, batch.mask), term.logits(batch, batch.mask))


def test_missing_tensor_is_named(small: EventDataset) -> None:
    tensors = full_term(small, Vocabulary.from_dataset(small))[0].to_tensors()
    del tensors["bias"]
    with pytest.raises(DataError, match="'bias' is missing"):
        LinearTerm.from_tensors(tensors)


def test_weights_that_do_not_fit_the_keys_are_refused(small: EventDataset) -> None:
    tensors = full_term(small, Vocabulary.from_dataset(small))[0].to_tensors()
    tensors["weights"] = tensors["weights"][:5]
    with pytest.raises(DataError, match=r"shape \(5, 3\)"):
        LinearTerm.from_tensors(tensors)


def test_features_of_another_release_are_refused(small: EventDataset) -> None:
    tensors = full_term(small, Vocabulary.from_dataset(small))[0].to_tensors()
    with pytest.raises(DataError, match="'colour'"):
        LinearTerm.from_tensors(tensors | {"keys.colour": torch.zeros(1, dtype=torch.int64)})


@pytest.mark.parametrize(
    ("regime", "family"),
    [
        ("ordered", "ordered"),
        ("follows", "adjacent"),
        ("repeat", "count"),
        ("timing", "gap"),
        ("recency", "lateness"),
    ],
)
def test_the_family_that_decides_is_found(regime: str, family: str) -> None:
    train, test = simulate(regime, sequences=1000, labels=2, event_types=14, seed=100).data.split(0.8)
    vocabulary = Vocabulary.from_dataset(train)
    term = fit_linear(train, vocabulary, LENGTH, QUICK)
    assert len(term.keys[family]) > 0
    assert auroc(term, test, vocabulary) > 0.97


def test_presence_alone_is_chance_where_order_decides() -> None:
    train, test = simulate("ordered", sequences=1000, labels=2, event_types=14, seed=100).data.split(0.8)
    vocabulary = Vocabulary.from_dataset(train)
    term = fit_linear(train, vocabulary, LENGTH, LinearConfig(families=("presence",), workers=1))
    assert auroc(term, test, vocabulary) < 0.6


def coin_flips(n: int, seed: int = 0) -> EventDataset:
    """Event types and labels that have nothing to do with each other; the label `never` is not carried."""
    rng = np.random.default_rng(seed)
    rows = [
        EventSequence(
            f"{i:04}",
            tuple(rng.choice(list("abcdef"), 8)),
            tuple(range(8)),
            ("x",) if rng.random() < 0.3 else (),
        )
        for i in range(n)
    ]
    return EventDataset.from_sequences([*rows, EventSequence("z", ("a",), (0.0,), ("rare",))])


def test_noise_gets_no_family_besides_presence() -> None:
    data = coin_flips(600)
    term = fit_linear(data, Vocabulary.from_dataset(data), LENGTH, QUICK)
    assert [family for family, keys in term.keys.items() if len(keys) and family != "presence"] == []


def test_a_label_of_one_sequence_gets_its_smoothed_base_rate() -> None:
    data = coin_flips(600)
    term = fit_linear(data, Vocabulary.from_dataset(data), LENGTH, QUICK)
    rare = data.label_names.index("rare")
    assert term.bias[rare].item() == pytest.approx(np.log(1.5 / 600.5), abs=0.01)


def test_a_label_without_positives_is_nearly_never_predicted() -> None:
    data = coin_flips(300)
    without = data.select(np.arange(len(data) - 1))
    term = fit_linear(without, Vocabulary.from_dataset(data), LENGTH, QUICK)
    assert term.bias[data.label_names.index("rare")].item() == pytest.approx(np.log(0.5 / 300.5), abs=0.01)


def test_a_rare_conjunction_is_predicted_with_confidence() -> None:
    rng = np.random.default_rng(0)
    causes = [("p", "q", "r")] * 30 + [("p", "q"), ("q", "r"), ("p", "r")] * 25 + [()] * 1000
    rows = [
        EventSequence(
            f"{i:04}", (*rng.choice(list("abcdef"), 2), *part), tuple(range(2 + len(part))), ("x",) * (i < 30)
        )
        for i, part in enumerate(causes)
    ]
    data = EventDataset.from_sequences(rows)
    vocabulary = Vocabulary.from_dataset(data)
    batch = whole(data, vocabulary)
    chances = fit_linear(data, vocabulary, LENGTH, QUICK).logits(batch, batch.at_end).sigmoid()[:, 0]
    assert chances[:30].mean() > 0.9


def test_number_of_processes_changes_nothing() -> None:
    data = simulate("repeat", sequences=400, labels=3, seed=100).data
    vocabulary = Vocabulary.from_dataset(data)
    one, two = (fit_linear(data, vocabulary, LENGTH, LinearConfig(workers=n)) for n in (1, 2))
    assert torch.equal(one.weights, two.weights)


def test_progress_is_told_for_every_label() -> None:
    calls: list[tuple[int, int]] = []
    data = simulate("repeat", sequences=100, labels=3, seed=100).data
    fit_linear(
        data, Vocabulary.from_dataset(data), LENGTH, QUICK, progress=lambda *report: calls.append(report[1:3])
    )
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_data_without_labels_give_an_empty_term() -> None:
    data = EventDataset.from_sequences([EventSequence(str(i), ("a", "b"), (0.0, 1.0), ()) for i in range(20)])
    vocabulary = Vocabulary.from_dataset(data)
    batch = whole(data, vocabulary)
    assert fit_linear(data, vocabulary, LENGTH, QUICK).logits(batch, batch.at_end).shape == (20, 0)


@pytest.mark.parametrize(
    ("knobs", "shown"),
    [
        ({"families": ("presence", "colour")}, "'colour'"),
        ({"penalties": ()}, r"penalties=\(\)"),
        ({"penalties": (1.0, 0.0)}, r"penalties=\(1.0, 0.0\)"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"held_out": 0.95}, "held_out=0.95"),
        ({"min_support": 0}, "min_support=0"),
        ({"max_features": 0}, "max_features=0"),
        ({"max_moments": 0}, "max_moments=0"),
        ({"min_z": -1.0}, r"min_z=-1\.0"),
        ({"workers": -1}, "workers=-1"),
    ],
)
def test_settings_out_of_range_are_refused(knobs: dict[str, object], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        LinearConfig(**knobs)  # type: ignore[arg-type]


def test_settings_at_the_allowed_edge_are_taken() -> None:
    taken = LinearConfig(
        families=(), penalties=(1e-6,), alpha=1.0, held_out=0.9, min_support=1, max_features=1, min_z=0
    )
    assert (taken.families, taken.alpha, taken.held_out, taken.max_features) == ((), 1.0, 0.9, 1)


def test_data_without_any_frequent_pair_are_fitted_on_presence() -> None:
    data = EventDataset.from_sequences(
        [EventSequence(f"{i:02}", ("x" if i % 2 else "y",), (0.0,), ("bad",) * (i % 2)) for i in range(40)]
    )
    term = fit_linear(data, Vocabulary.from_dataset(data), max_length=8)
    assert [family for family, keys in term.keys.items() if len(keys)] == ["presence"]


def test_labels_whose_turn_comes_too_late_keep_their_base_rate() -> None:
    follows = simulate("follows", sequences=400, labels=2, seed=100).data
    with pytest.warns(
        EventCargoWarning, match=r"nothing but the base rate .* of 2 of 2 labels \(L00\d, L00\d\)"
    ):
        term = fit_linear(
            follows, Vocabulary.from_dataset(follows), max_length=64, deadline=Deadline.after(0)
        )
    assert term.n_features == 0
    assert term.effort is not None
    assert term.effort.tolist() == [Effort.NONE] * 2
    assert term.bias.sigmoid().numpy() == pytest.approx(
        (follows.support + 0.5) / (len(follows) + 1), abs=0.01
    )


def test_families_are_not_tried_while_other_labels_wait_for_presence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "RESERVE", 1e12)
    data = simulate("follows", sequences=1000, labels=2, seed=100).data
    with pytest.warns(EventCargoWarning, match="only the presence of event types .* 1 of 2 labels"):
        term = fit_linear(data, Vocabulary.from_dataset(data), 64, QUICK, deadline=Deadline.after(3600))
    assert term.effort is not None
    assert sorted(term.effort.tolist()) == [Effort.PRESENCE, Effort.ALL]
    first = int(term.effort.argmin())
    assert data.support[first] == data.support.max()
    assert not term.weights[len(term.keys["presence"]) :, first].any()


def test_a_family_is_left_out_if_there_is_no_time_to_make_its_features() -> None:
    data = simulate("follows", sequences=400, labels=1, seed=1).data
    vocabulary = Vocabulary.from_dataset(data)
    for seconds, families in ((0.0, ["presence"]), (3600.0, list(FAMILIES))):
        deadline = Deadline.after(seconds)
        found = screen(Screening(data, vocabulary, LENGTH, QUICK, 0), Local(1), deadline)
        assert (list(found.keys), found.is_complete) == (families, seconds > 0)


def test_whole_groups_are_held_out() -> None:
    data = repeated(simulate("chain", sequences=50, seed=1).data, 4)
    held = Split.of(data, 0.2, seed=0).held
    assert (held.reshape(50, 4) == held[::4, None]).all()
    assert 0.05 < held.mean() < 0.4


@pytest.mark.filterwarnings("ignore:for lack of time")
def test_the_most_frequent_labels_are_fitted_first() -> None:
    data = simulate("fleet", sequences=600, event_types=200, labels=6, seed=100).data
    presence = LinearConfig(families=(), workers=1)
    for looks in range(2, 20):
        deadline = Deadline(looks, clock=itertools.count().__next__)
        term = fit_linear(data, Vocabulary.from_dataset(data), 64, presence, deadline=deadline)
        assert term.effort is not None
        fitted = term.effort.numpy() > Effort.NONE
        if 0 < fitted.sum() < 6:
            break
    assert 0 < fitted.sum() < 6
    assert data.support[fitted].min() >= data.support[~fitted].max()


def test_the_arrangement_of_an_attribute_or_of_a_family_beside_its_member_is_no_feature() -> None:
    rng, sequences = np.random.default_rng(0), []
    for at in range(400):  # the label follows I50.1 before x, which is I50 before x
        events = ["I50.1", "I50", "x"] if at % 2 else ["x", "I50.1", "I50"]
        labels = ("bad",) if at % 2 and rng.random() < 0.9 else ()
        times = (0.0, *(float(one == "x") if at % 2 else float(one != "x") for one in events))
        sequences.append(EventSequence(f"{at:03}", ("sex=F", *events), times, labels))
    kinds = EventKinds(attributes=("sex=F",), families={"I50": ("I50.1",)})
    data = with_kinds(EventDataset.from_sequences(sequences), kinds)
    vocabulary = Vocabulary.from_dataset(data)
    numbered = kinds.numbered(vocabulary.decode(range(len(vocabulary))))
    screened = screen(Screening(data, vocabulary, LENGTH, QUICK, 0), Local(1), NEVER)
    assert sum(len(keys) for family, keys in screened.keys.items() if family != "presence") > 0
    for family, keys in screened.keys.items():
        assert is_sensible(family, keys, numbered).all()
    assert len(screened.keys["presence"]) == 4
