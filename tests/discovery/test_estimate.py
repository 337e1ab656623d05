from pathlib import Path

import pytest

from eventcargo import EventDataset
from eventcargo.discovery.config import DiscoverConfig
from eventcargo.discovery.estimate import COSTS, MEMORY, amounts, count_weights, estimate, weigh
from eventcargo.errors import ConfigError
from eventcargo.memory import show_memory
from eventcargo.models.transformer.config import transformer_size
from eventcargo.models.transformer.model import Transformer
from eventcargo.simulation import simulate
from eventcargo.vocabulary import Vocabulary


@pytest.mark.parametrize("size", ["tiny", "small", "paper"])
def test_the_number_of_weights_is_about_right(size: str) -> None:
    names, labels, shape = tuple(f"E{at:05}" for at in range(3000)), ("L0", "L1"), transformer_size(size)
    model = Transformer(shape, Vocabulary(names), labels)
    exact = sum(weight.numel() for weight in model.parameters())
    assert count_weights(shape, len(names), len(labels)) == pytest.approx(exact, rel=0.15)


SIZES = {"n_sequences": 1_000, "n_event_types": 500, "n_labels": 5, "n_events": 50_000, "n_positives": 300}


def costs(**sizes: int) -> dict[str, float]:
    amount = amounts(**{**SIZES, **sizes}, max_length=512)
    return {stage: weigh(terms, amount) for stage, terms in COSTS.items()} | {"memory": weigh(MEMORY, amount)}


@pytest.mark.parametrize("factor", [2, 30, 1_000])
@pytest.mark.parametrize("size", SIZES)
def test_no_stage_gets_cheaper_with_size(size: str, factor: int) -> None:
    changed = {size: factor * SIZES[size]}
    if size == "n_sequences":  # more sequences of the same length
        changed["n_events"] = factor * SIZES["n_events"]
    small, large = costs(), costs(**changed)
    assert all(large[stage] >= small[stage] for stage in small)
    if size != "n_positives":
        assert sum(large.values()) > sum(small.values())


def test_no_cost_is_negative() -> None:
    assert all(cost >= 0 for cost in costs(**dict.fromkeys(SIZES, 0)).values())
    assert all(each >= 0 for terms in (*COSTS.values(), MEMORY) for each in terms.values())


def test_more_sequences_take_longer_and_more_memory() -> None:
    small, large = (estimate(simulate("chain", sequences=size).data, DiscoverConfig()) for size in (50, 500))
    assert large.seconds > small.seconds
    assert large.bytes > small.bytes


def test_the_default_ends_after_its_trial_and_the_paper_s_preset_uses_its_time() -> None:
    data = simulate("chain", sequences=50).data
    fast, ours, paper = (estimate(data, DiscoverConfig(preset=name)) for name in ("fast", "default", "paper"))
    assert fast.seconds < ours.seconds < paper.seconds
    assert paper.steps[0].seconds == DiscoverConfig(preset="paper").train.time_limit


def test_what_focused_networks_cost_is_counted_where_there_are_any() -> None:
    data = simulate("chain", sequences=500).data
    ours, without, paper = (
        estimate(data, config).steps[0]
        for config in (DiscoverConfig(), DiscoverConfig(focused=False), DiscoverConfig(preset="paper"))
    )
    assert 0.2 < ours.seconds - without.seconds < 1.0
    assert "focused networks where it leaves something over" in ours.words
    assert not any("focused" in step.words for step in (without, paper))


def test_a_model_from_elsewhere_counts_by_its_own_weights() -> None:
    data, config = simulate("chain", sequences=50).data, DiscoverConfig()
    small, large = (estimate(data, config, n_frozen) for n_frozen in (10**6, 10**7))
    assert large.bytes - small.bytes == pytest.approx(4 * 9e6)  # 32 bits each, without gradients
    assert large.steps[0].seconds > 2 * small.steps[0].seconds
    assert "steps of the head on a model of 10,000,000 weights" in large.steps[0].words


def test_training_takes_no_longer_than_its_limit() -> None:
    data, config = simulate("chain", sequences=50).data, DiscoverConfig(max_time="4s")
    assert estimate(data, config).steps[0].seconds == config.train.time_limit


def test_the_paper_s_test_is_known_to_be_slow() -> None:
    data = simulate("chain", sequences=50).data
    ours, paper = (estimate(data, DiscoverConfig(preset=name, size="tiny")) for name in ("default", "paper"))
    assert paper.steps[1].seconds > 1.2 * ours.steps[1].seconds


@pytest.mark.parametrize(("times", "workers"), [(1.1, 1), (2.1, 1), (3.1, 2), (9.1, 8)])
def test_workers_and_their_driver_fit_into_the_memory_together(times: float, workers: int) -> None:
    plan = estimate(simulate("chain", sequences=50).data, DiscoverConfig())
    assert plan.workers_within(f"{times * plan.bytes:.0f}") == workers
    assert plan.workers_within("") == 0


def test_memory_in_which_no_process_fits_is_refused_with_what_it_takes() -> None:
    plan = estimate(simulate("chain", sequences=50).data, DiscoverConfig())
    with pytest.raises(ConfigError, match=r"max_memory='100M': a run on these data takes about \d+M"):
        plan.workers_within("100M")
    assert plan.workers_within(show_memory(plan.bytes)) == 1


def test_columns_in_memory_count_and_mapped_ones_do_not(tmp_path: Path) -> None:
    data = simulate("chain", sequences=50).data
    data.save(tmp_path / "data")
    mapped = EventDataset.load(tmp_path / "data")
    config = DiscoverConfig()
    held = estimate(data, config).bytes - estimate(mapped, config).bytes
    assert held == data.n_events * (4 + 8)
    assert estimate(mapped.select(range(len(mapped))), config).bytes == estimate(mapped, config).bytes
