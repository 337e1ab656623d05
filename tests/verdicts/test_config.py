import pytest

from eventcargo.errors import ConfigError
from eventcargo.verdicts import JudgeConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"too_few": 0}, "too_few=0"),
        ({"too_few": 31}, "too_few=31, few=30"),
        ({"min_stability": 1.1}, "min_stability=1.1"),
        ({"widest": -0.1}, "widest=-0.1"),
        ({"min_explained": 2.0}, "min_explained=2.0"),
        ({"lag": -1.0}, "lag=-1.0"),
        ({"min_share": 5.0}, "min_share=5.0"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.0}, "alpha=1.0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        JudgeConfig(**settings)  # type: ignore[arg-type]


def test_settings_on_the_edge_are_allowed() -> None:
    config = JudgeConfig(too_few=1, few=1, min_stability=1.0, widest=0.0, min_explained=0.0, lag=1.0)
    assert (config.too_few, config.few, config.min_stability) == (1, 1, 1.0)
    assert (config.widest, config.min_explained, config.lag) == (0.0, 0.0, 1.0)
