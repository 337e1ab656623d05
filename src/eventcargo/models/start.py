"""What a training run starts from: a model at the rates of the data, and its optimiser."""

import warnings

import numpy as np

from eventcargo.errors import EventCargoWarning
from eventcargo.events import EventDataset
from eventcargo.models.gradients import RowAdamW
from eventcargo.models.rates import Rates
from eventcargo.models.settings import TrainConfig
from eventcargo.models.transformer import ExplicitTerm, Transformer, TransformerConfig
from eventcargo.vocabulary import Vocabulary


def make_model(
    data: EventDataset,
    vocabulary: Vocabulary,
    rates: Rates,
    config: TrainConfig,
    shape: TransformerConfig,
    linear: ExplicitTerm | None,
) -> Transformer:
    """An untrained model that begins at the rates of the data."""
    model = Transformer(
        shape, vocabulary, data.label_names, value_names=data.value_names, linear=linear, seed=config.seed
    )
    model.start_from(rates.events, rates.labels, rates.time_scale, rates.values)
    absent = np.flatnonzero(data.support == 0)
    if len(absent):
        warnings.warn(
            f"{len(absent):,} of {len(data.label_names):,} labels have no positive example, the first: "
            f"{data.label_names[absent[0]]!r}; they are kept and never predicted",
            EventCargoWarning,
            stacklevel=2,
        )
        model.never_predict(absent, float(rates.labels[absent[0]]))
    return model.placed(config.device)


def make_optimizer(model: Transformer, config: TrainConfig) -> RowAdamW:
    """AdamW; embeddings, the head of events, norms and biases are not decayed.

    The rows of rare event types get few gradients, and decay would wear them off in between. Where the
    softmax is sampled, a step reaches few rows, and the model is told to give sparse gradients of them.
    """
    model.embedding.sparse = config.is_sampled(len(model.vocabulary))
    rows = ("embedding", "event_head")
    decayed = [p for name, p in model.named_parameters() if p.ndim > 1 and not name.startswith(rows)]
    others = [p for name, p in model.named_parameters() if p.ndim < 2 or name.startswith(rows)]
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return RowAdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98), fused=True)
