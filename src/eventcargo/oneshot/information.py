"""How far an event moves a label: KL divergence and change of probability, from logits alone.

The divergence of the posterior after the event from the one before it is the information the event brought.
The paper's text equates it with the difference of entropies, which is right on average only: for single
contexts that difference may be negative (0.1 to 0.5 raises the entropy, though the event told a lot).
"""

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own short form)
from torch import Tensor


def bernoulli_kl(after: Tensor, before: Tensor) -> Tensor:
    """KL(sigmoid(after) || sigmoid(before)) in nats, in float64, from logits; never negative.

    p log(p / q) + (1 - p) log((1 - p) / (1 - q)) with logarithms of sigmoids: a probability that would round
    to 0 or 1 keeps its distance from it, so that nothing has to be clamped.

    >>> bernoulli_kl(torch.tensor(0.0), torch.tensor(0.1).logit()).item()
    0.5108...
    """
    p, q = after.double(), before.double()
    rise = torch.sigmoid(p) * (F.logsigmoid(p) - F.logsigmoid(q))
    fall = torch.sigmoid(-p) * (F.logsigmoid(-p) - F.logsigmoid(-q))
    return (rise + fall).clamp(min=0.0)  # rounding alone can make it negative


def bernoulli_entropy(logits: Tensor) -> Tensor:
    """Entropy of a label of these logits in nats, in float64.

    >>> bernoulli_entropy(torch.tensor(0.0)).item()
    0.6931...
    """
    p = logits.double()
    return -(torch.sigmoid(p) * F.logsigmoid(p) + torch.sigmoid(-p) * F.logsigmoid(-p))


def probability_change(after: Tensor, before: Tensor) -> Tensor:
    """sigmoid(after) - sigmoid(before), in float64: positive where the event promotes the label.

    >>> probability_change(torch.tensor(0.0), torch.tensor(-100.0)).item()
    0.5
    """
    return torch.sigmoid(after.double()) - torch.sigmoid(before.double())
