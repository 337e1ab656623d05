import pytest

from eventcargo.errors import ConfigError
from eventcargo.oneshot.config import ExtractConfig, memory
from eventcargo.oneshot.thresholds import PAPER_CUT, RelativeCut, StaticCut


def test_the_default_is_total_conditioning_in_both_polarities() -> None:
    (examiner,) = ExtractConfig(threshold=0.3).examiners()
    assert examiner.test.name == "total"
    assert examiner.cut == StaticCut(0.3)
    assert set(examiner.polarities) == {"present", "absent"}


def test_prefixes_are_tested_where_the_label_is_present() -> None:
    (examiner,) = ExtractConfig(test="prefix", z_cut=2.0).examiners()
    assert examiner.test.name == "prefix"
    assert examiner.cut == RelativeCut(2.0)
    assert examiner.polarities == ("present",)


def test_both_tests_may_be_made() -> None:
    assert [examiner.test.name for examiner in ExtractConfig(test="both").examiners()] == ["prefix", "total"]


def test_the_paper_has_its_own_settings() -> None:
    (examiner,) = ExtractConfig(preset="paper", particles=3).examiners()
    assert examiner.cut == PAPER_CUT
    assert examiner.test.config.particles == 68  # type: ignore[attr-defined]


def test_settings_reach_the_prefix_test() -> None:
    (examiner,) = ExtractConfig(test="prefix", particles=7, context=4).examiners()
    config = examiner.test.config  # type: ignore[attr-defined]
    assert (config.particles, config.context) == (7, 4)


def test_other_cuts_of_prefixes_may_be_asked_for() -> None:
    (static,) = ExtractConfig(test="prefix", cut="static", threshold=0.3).examiners()
    (pooled,) = ExtractConfig(test="prefix", cut="pooled").examiners(pooled=0.07)
    assert (static.cut, pooled.cut) == (StaticCut(0.3), StaticCut(0.07))
    assert pooled.test.cut == StaticCut(0.07)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("config", "pools"),
    [
        (ExtractConfig(test="prefix", cut="pooled"), True),
        (ExtractConfig(test="total", cut="pooled"), False),
        (ExtractConfig(test="both"), False),
        (ExtractConfig(preset="paper", cut="pooled"), False),
    ],
)
def test_a_cut_is_pooled_where_it_is_used(config: ExtractConfig, pools: bool) -> None:
    assert config.pools == pools


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"test": "all"}, "test='all': use total, prefix or both"),
        ({"preset": "mine"}, "preset='mine'"),
        ({"cut": "sharp"}, "cut='sharp'"),
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
