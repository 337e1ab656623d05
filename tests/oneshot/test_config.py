import pytest

from eventcargo.errors import ConfigError
from eventcargo.oneshot.config import ExtractConfig, memory
from eventcargo.oneshot.thresholds import PAPER_THRESHOLD, RelativeThreshold, StaticThreshold


def test_the_default_is_total_conditioning_in_both_polarities() -> None:
    (configured_test,) = ExtractConfig(threshold=0.3).configured_tests()
    assert configured_test.test.name == "total"
    assert configured_test.threshold == StaticThreshold(0.3)
    assert set(configured_test.polarities) == {"present", "absent"}


def test_prefixes_are_tested_where_the_label_is_present() -> None:
    (configured_test,) = ExtractConfig(test="prefix", z_threshold=2.0).configured_tests()
    assert configured_test.test.name == "prefix"
    assert configured_test.threshold == RelativeThreshold(2.0)
    assert configured_test.polarities == ("present",)


def test_both_tests_may_be_made() -> None:
    assert [
        configured_test.test.name for configured_test in ExtractConfig(test="both").configured_tests()
    ] == ["prefix", "total"]


def test_the_paper_has_its_own_settings() -> None:
    (configured_test,) = ExtractConfig(paper=True, particles=3).configured_tests()
    assert configured_test.threshold == PAPER_THRESHOLD
    assert configured_test.test.config.particles == 68  # type: ignore[attr-defined]


def test_settings_reach_the_prefix_test() -> None:
    (configured_test,) = ExtractConfig(test="prefix", particles=7, context=4).configured_tests()
    config = configured_test.test.config  # type: ignore[attr-defined]
    assert (config.particles, config.context) == (7, 4)


def test_other_cuts_of_prefixes_may_be_asked_for() -> None:
    (static,) = ExtractConfig(test="prefix", threshold_kind="static", threshold=0.3).configured_tests()
    (pooled,) = ExtractConfig(test="prefix", threshold_kind="pooled").configured_tests(pooled=0.07)
    assert (static.threshold, pooled.threshold) == (StaticThreshold(0.3), StaticThreshold(0.07))
    assert pooled.test.threshold == StaticThreshold(0.07)  # type: ignore[attr-defined]


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


@pytest.mark.parametrize(("text", "size"), [("800M", 800 * 2**20), ("4g", 2**32), ("2 GB", 2**31), ("9", 9)])
def test_sizes_are_read(text: str, size: float) -> None:
    assert memory(text) == size
