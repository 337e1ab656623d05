import math

import pytest
import torch

from eventcargo.oneshot.scores import bernoulli_kl, probability_change


def _logit(p: float) -> torch.Tensor:
    return torch.tensor(p, dtype=torch.float64).logit()


def test_the_divergence_is_that_of_two_coins() -> None:
    expected = 0.3 * math.log(0.3 / 0.8) + 0.7 * math.log(0.7 / 0.2)
    assert bernoulli_kl(_logit(0.3), _logit(0.8)).item() == pytest.approx(expected, rel=1e-12)


def test_the_divergence_is_not_the_difference_of_entropies() -> None:
    # 0.1 before, 0.5 after: the entropy rises by 0.368 although the event tells 0.511 nats
    assert bernoulli_kl(_logit(0.5), _logit(0.1)).item() == pytest.approx(0.510826, abs=1e-6)


def test_equal_logits_have_no_divergence() -> None:
    logits = torch.linspace(-60, 60, 241)
    assert (bernoulli_kl(logits, logits) == 0).all()


def test_the_divergence_is_never_negative_for_neighbouring_numbers() -> None:
    logits = torch.linspace(-40, 40, 4001)
    assert (bernoulli_kl(torch.nextafter(logits, torch.tensor(99.0)), logits) >= 0).all()


def test_probabilities_that_round_to_one_keep_their_distance() -> None:
    # 1 - p is e^-50 before and e^-40 after: p log(p/q) + (1-p) log((1-p)/(1-q)) = 9 e^-40 + e^-50, nearly
    found = bernoulli_kl(torch.tensor(40.0), torch.tensor(50.0)).item()
    assert found == pytest.approx(9 * math.exp(-40) + math.exp(-50), rel=1e-6)


def test_certainty_overturned_costs_the_whole_logit() -> None:
    assert bernoulli_kl(torch.tensor(-200.0), torch.tensor(200.0)).item() == pytest.approx(200.0)


def test_half_precision_logits_are_widened_first() -> None:
    found = bernoulli_kl(torch.tensor(-12.0, dtype=torch.float16), torch.tensor(-9.0, dtype=torch.float16))
    p, q = 1 / (1 + math.exp(12)), 1 / (1 + math.exp(9))
    assert found.item() == pytest.approx(
        p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)), rel=1e-9
    )


def test_an_event_that_inhibits_has_a_negative_change() -> None:
    assert probability_change(_logit(0.2), _logit(0.9)).item() == pytest.approx(-0.7)
