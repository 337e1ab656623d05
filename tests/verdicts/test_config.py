import pytest

from eventcargo.errors import ConfigError
from eventcargo.verdicts import JudgeConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"doubt_below": 0}, "doubt_below=0"),
        ({"doubt_below": 31}, "doubt_below=31 is above caution_below=30"),
        ({"min_stability": 1.1}, "min_stability=1.1"),
        ({"max_interval": -0.1}, "max_interval=-0.1"),
        ({"min_explained": 2.0}, "min_explained=2.0"),
        ({"max_lag": -1.0}, "max_lag=-1.0"),
        ({"min_share": 5.0}, "min_share=5.0"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.0}, "alpha=1.0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        JudgeConfig(**settings)  # type: ignore[arg-type]


def test_settings_on_the_edge_are_allowed() -> None:
    config = JudgeConfig(
        doubt_below=1, caution_below=1, min_stability=1.0, max_interval=0.0, min_explained=0.0, max_lag=1.0
    )
    assert (config.doubt_below, config.caution_below, config.min_stability) == (1, 1, 1.0)
    assert (config.max_interval, config.min_explained, config.max_lag) == (0.0, 0.0, 1.0)
