import pytest

from eventcargo.errors import ConfigError
from eventcargo.oneshot.config import ExtractConfig


@pytest.mark.parametrize(
    ("config", "pools"),
    [
        (ExtractConfig(test="prefix", threshold_kind="pooled"), True),
        (ExtractConfig(test="total", threshold_kind="pooled"), False),
        (ExtractConfig(test="both"), False),
        (ExtractConfig(paper=True, threshold_kind="pooled"), False),
    ],
)
def test_a_cut_is_pooled_where_it_is_used(config: ExtractConfig, pools: bool) -> None:
    assert config.pools == pools


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": "all"}, "test='all': use total, prefix or both"),
        ({"threshold_kind": "sharp"}, "threshold_kind='sharp'"),
        ({"shard": 0}, "shard=0"),
        ({"workers": -1}, "workers=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"absent": -1.0}, "absent=-1.0"),
        ({"context": -1}, "context=-1"),
        ({"max_memory": "lots"}, "max_memory='lots'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ExtractConfig(**settings)  # type: ignore[arg-type]
