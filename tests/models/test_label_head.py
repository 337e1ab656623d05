import pytest
import torch

from eventcargo.models.label_head import LabelHead, LabelQueries
from eventcargo.models.transformer.config import transformer_size

WIDTH, LABELS = 4, 3


def drawn(kind: type[LabelHead]) -> LabelHead:
    head, draw = kind(WIDTH, LABELS), torch.Generator().manual_seed(0)
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, generator=draw)
    return head


def states() -> torch.Tensor:
    return torch.randn(2, 5, WIDTH, generator=torch.Generator().manual_seed(1))


def expected(head: LabelHead, y: torch.Tensor, row: int, position: int, label: int) -> float:
    """Event by event: what each says to the label, times the label's gate, plus the label's bias."""
    if not isinstance(head, LabelQueries):
        return float(head.weight[label] @ y[row, position] + head.bias[label])
    total = float(head.bias[label])
    for event in y[row, : position + 1]:
        gate = 1 / (1 + torch.exp(-(head.query[label] @ event + head.opening[label])))
        total += float(gate * (head.weight[label] @ event))
    return total


@pytest.mark.parametrize("kind", [LabelHead, LabelQueries])
@torch.no_grad()
def test_logits_are_those_summed_event_by_event(kind: type[LabelHead]) -> None:
    head, y, chosen = drawn(kind), states(), [2, 0]
    at = torch.tensor([[True, False, True, False, True], [False, False, False, True, False]])
    found = head(y, at, torch.tensor(chosen))
    for logits, (row, position) in zip(found, at.nonzero().tolist(), strict=True):
        wanted = [expected(head, y, row, position, label) for label in chosen]
        assert logits.tolist() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("kind", [LabelHead, LabelQueries])
@torch.no_grad()
def test_logits_by_products_are_the_same(kind: type[LabelHead]) -> None:
    head, y, chosen = drawn(kind), states(), torch.tensor([1, 2])
    found = head.of_products(lambda rows: torch.einsum("kd,nld->knl", rows, y), chosen)  # (labels, N, L)
    wanted = head(y, torch.ones(2, 5, dtype=torch.bool), chosen).view(2, 5, 2).permute(2, 0, 1)
    assert torch.allclose(found, wanted, atol=1e-5)


def test_label_queries_begin_at_zero_and_can_learn() -> None:
    head = LabelQueries(WIDTH, LABELS)
    assert head.is_zero
    head(states(), torch.ones(2, 5, dtype=torch.bool), torch.arange(LABELS)).sum().backward()
    assert head.weight.grad is not None
    assert head.weight.grad.abs().min() > 0
    head.bias.data[1] = 1.0
    assert not head.is_zero


def test_a_transformer_without_a_linear_term_has_label_queries() -> None:
    assert not transformer_size("tiny").label_queries
    assert transformer_size("tiny", linear=False).label_queries
    assert transformer_size("paper").label_queries
    assert not transformer_size("tiny", linear=False, label_queries=False).label_queries
