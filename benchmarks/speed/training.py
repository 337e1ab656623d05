"""Tokens a second in training: many event types against few, and ours against a Hugging Face Llama.

A token is a real position of a batch. All contenders take turns on the same batches, so that whatever else
the machine does hits all of them; given are medians over rounds, and ratios within a round with their range.
1. 2,000 against 29,100 event types, everything at its default, the linear term included.
2. Ours against Llama of the same width, layers, heads, hidden width and vocabulary, with a tied head and its
   own loss: a full softmax at all positions. Ours has its normal loss (a share of positions, a sample of
   event types, labels at all positions), and for fairness also a full softmax at all positions. Neither has
   dropout or a linear term. Llama is given no mask, which it does not need and which would slow it down.
3. The share of the GEMM peak: what a step's matrix products need, divided by its time and by the speed of a
   float32 product of 2048 x 2048 matrices. Padding counts as no work; `needed` has the formula.
Run: `python -m benchmarks.speed.training [--rounds 5] [--steps 20]`, with `pip install eventcargo[hf]` for 2.
"""

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from eventcargo import Vocabulary
from eventcargo.batches import Batch, Batches
from eventcargo.events import EventDataset
from eventcargo.models.linear.fit import fit_linear
from eventcargo.models.training.trainer import TrainConfig, Training
from eventcargo.models.transformer.model import TransformerConfig, transformer_size
from eventcargo.simulation import simulate

from benchmarks.record import provenance, save

SEED = 100
FEW, MANY = 2_000, 29_100
SEQUENCES, SEQUENCES_OF_TERM = 8_000, 1_000
ENDLESS = TrainConfig(steps=10**9, held_out=0.0)
PEAK_SIZE = 2048
HAS_LLAMA = importlib.util.find_spec("transformers") is not None
HEADS = ("embedding", "event_head", "label_head", "end_head", "model.embed_tokens", "lm_head")
"""Matrices whose use depends on the loss, not on the number of positions alone."""


@dataclass
class Contender:
    """Something that learns from batches: what it does in a step, and what that needs."""

    name: str
    step: Callable[[NDArray[np.int64]], None]
    flops: Callable[[Batch], float]


@dataclass
class Setting:
    """Data, and all contenders that learn from them in turns."""

    batches: Batches
    contenders: list[Contender]
    steps: int


def needed(
    batch: Batch, model: torch.nn.Module, layers: int, width: int, head_rows: Callable[[int], float]
) -> float:
    """Floating-point operations that a step's matrix products need.

    6 x (weights of linear maps x tokens + width x rows of heads compared) + 6 x layers x width x sum of
    lengths squared: 2 for a product and its sum, 3 for forward and the two products of backward; attention
    has two products, of which causality needs one half.
    """
    maps = sum(p.numel() for name, p in model.named_parameters() if p.ndim > 1 and not name.startswith(HEADS))
    tokens = int(batch.lengths.sum())
    squares = float((batch.lengths.astype(float) ** 2).sum())
    return 6.0 * (maps * tokens + width * head_rows(tokens)) + 6.0 * layers * width * squares


def ours(
    name: str, data: EventDataset, shape: TransformerConfig, config: TrainConfig, **given: Any
) -> Contender:
    """A training run of ours that can be taken step by step."""
    training = Training(data, config, shape, **given)
    training._begin_labels()
    training.model.train()
    n_ids, n_labels = len(training.model.vocabulary), len(data.label_names)
    compared = config.sampled if config.is_sampled(n_ids) else n_ids

    def head_rows(tokens: int) -> float:
        return tokens * (config.event_share * compared + n_labels)

    def flops(batch: Batch) -> float:
        return needed(batch, training.model, shape.layers, shape.width, head_rows)

    return Contender(name, training._step, flops)


def llama(name: str, batches: Batches, n_ids: int, shape: TransformerConfig) -> Contender:
    """A Hugging Face Llama of the same shape."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=n_ids,
        hidden_size=shape.width,
        intermediate_size=shape.feedforward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.max_length,
        tie_word_embeddings=True,
        use_cache=False,
    )
    model = LlamaForCausalLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)

    def step(rows: NDArray[np.int64]) -> None:
        batch = batches.take(rows)
        wanted = torch.as_tensor(np.where(batch.mask, batch.ids, -100))
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=torch.as_tensor(batch.ids), labels=wanted).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        assert loss.isfinite()

    def flops(batch: Batch) -> float:
        return needed(batch, model, shape.layers, shape.width, lambda tokens: float(tokens * n_ids))

    return Contender(name, step, flops)


def data_of(n_types: int) -> tuple[EventDataset, Vocabulary]:
    """A simulated fleet, with all its event types in the vocabulary, whether they occur or not."""
    data = simulate("fleet", sequences=SEQUENCES, event_types=n_types, seed=SEED).data
    others = (f"never seen {i}" for i in range(n_types - len(data.event_names)))
    return data, Vocabulary((*data.event_names, *others))


def sizes_setting(n_types: int, steps: int) -> Setting:
    """One vocabulary with everything at its default."""
    data, vocabulary = data_of(n_types)
    shape = TransformerConfig()
    term = fit_linear(data[:SEQUENCES_OF_TERM], vocabulary, shape.max_length)
    contender = ours(f"{n_types:,} types", data, shape, ENDLESS, linear=term, vocabulary=vocabulary)
    return Setting(Batches(data, vocabulary, shape.max_length), [contender], steps)


def models_setting(size: str, n_types: int, steps: int) -> Setting:
    """Ours with two losses, and Llama."""
    data, vocabulary = data_of(n_types)
    shape = transformer_size(size, dropout=0.0, linear=False)
    whole = replace(ENDLESS, event_share=1.0, sampled=0)
    batches = Batches(data, vocabulary, shape.max_length)
    title = f"{size}, {n_types:,} types, "
    sampling = ours(title + "ours", data, shape, ENDLESS, vocabulary=vocabulary)
    full = ours(title + "ours with a full softmax", data, shape, whole, vocabulary=vocabulary)
    return Setting(batches, [sampling, full, llama(title + "Llama", batches, len(vocabulary), shape)], steps)


def peak() -> float:
    """Speed of a large matrix product now, operations a second: the best of three."""
    a, b = torch.rand(2, PEAK_SIZE, PEAK_SIZE)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - began)
    return 2.0 * PEAK_SIZE**3 / min(times)


def measure(settings: list[Setting], rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Tokens a second and share of the peak, of every contender in every round; the first one warms up."""
    speeds: dict[str, list[float]] = {c.name: [] for setting in settings for c in setting.contenders}
    shares: dict[str, list[float]] = {name: [] for name in speeds}
    for at in range(rounds + 1):
        for setting in settings:
            order = setting.batches.shuffled(ENDLESS.tokens, np.random.default_rng(at))
            chosen = [rows for rows, _ in zip(order, range(setting.steps), strict=False)]
            for contender in setting.contenders:
                speed, share = _turn(contender, setting.batches, chosen)
                if at > 0:
                    speeds[contender.name].append(speed)
                    shares[contender.name].append(share)
        print(f"round {at} of {rounds} done", flush=True)
    return speeds, shares


def _turn(contender: Contender, batches: Batches, chosen: list[NDArray[np.int64]]) -> tuple[float, float]:
    highest, began = peak(), time.perf_counter()
    for rows in chosen:
        contender.step(rows)
    seconds = time.perf_counter() - began
    tokens = sum(int(batches.lengths[rows].sum()) for rows in chosen)
    flops = sum(contender.flops(batches.take(rows)) for rows in chosen)
    return tokens / seconds, flops / seconds / highest


def median_and_range(values: list[float], digits: int) -> dict[str, float]:
    """Median and range."""
    found = {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}
    return {name: round(value, digits) for name, value in found.items()}


def compare(settings: list[Setting], rounds: int, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """All speeds, and of each pair (one, other) how many times as fast the one is."""
    speeds, shares = measure(settings, rounds)
    ratios = {
        f"{one} / {other}": median_and_range(
            [a / b for a, b in zip(speeds[one], speeds[other], strict=True)], 3
        )
        for one, other in pairs
    }
    for name, values in speeds.items():
        print(f"{name:44} {statistics.median(values):9,.0f} tokens/s, {statistics.median(shares[name]):.3f}")
    for name, found in ratios.items():
        print(f"{name}: {found['median']:.2f} ({found['lowest']:.2f} to {found['highest']:.2f})", flush=True)
    return {
        "tokens_per_second": {name: median_and_range(values, 0) for name, values in speeds.items()},
        "share_of_peak": {name: median_and_range(values, 4) for name, values in shares.items()},
        "ratios": ratios,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps of a turn; base takes a fifth of it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = [sizes_setting(n, options.steps) for n in (FEW, MANY)]
    result = {"event_types": compare(settings, options.rounds, [(f"{MANY:,} types", f"{FEW:,} types")])}
    for size, steps in (("small", options.steps), ("base", max(1, options.steps // 5))) if HAS_LLAMA else ():
        settings = [models_setting(size, n, steps) for n in (FEW, MANY)]
        titles = [f"{size}, {n:,} types, " for n in (FEW, MANY)]
        pairs = [(t + who, t + "Llama") for t in titles for who in ("ours", "ours with a full softmax")]
        result[size] = compare(settings, options.rounds, pairs)
    if not HAS_LLAMA:
        print("no comparison with Llama: transformers is missing; pip install eventcargo[hf]")
    about = {"threads": options.threads, "rounds": options.rounds, "tokens_a_step": ENDLESS.tokens}
    about["peak_gigaflops"] = round(peak() / 1e9)
    print(f"written to {save('training_speed', {**provenance(SEED), **about, **result}, options.out)}")


if __name__ == "__main__":
    main()
