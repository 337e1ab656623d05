import pytest

from eventcargo import ConfigError
from eventcargo.fusion import FuseConfig


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("criterion", "majority"),
        ("test", "both"),
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("min_frequency", 1.01),
        ("min_frequency", -0.01),
        ("min_opportunity", 1.01),
        ("tau", -0.1),
        ("tau_max", 2.0),
        ("tau_min", 0.6),
        ("fpr", 0.0),
        ("fpr", 1.0),
        ("penalty", -0.5),
        ("penalty", float("nan")),
    ],
)
def test_a_value_out_of_bounds_is_refused(knob: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{knob}={value!r}".replace(".", r"\.")):
        FuseConfig(**{knob: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("criterion", "caig"),
        ("test", "prefix"),
        ("min_frequency", 0.0),
        ("min_opportunity", 1.0),
        ("tau_min", 0.5),
        ("penalty", 0.0),
    ],
)
def test_a_value_at_the_bound_is_allowed(knob: str, value: object) -> None:
    assert getattr(FuseConfig(**{knob: value}), knob) == value  # type: ignore[arg-type]


def test_all_evidence_counts_unless_something_else_is_asked_for() -> None:
    assert (FuseConfig().criterion, FuseConfig().alpha) == ("pooled", 0.05)
