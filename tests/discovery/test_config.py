import pytest

from eventcargo.discovery.config import DiscoverConfig
from eventcargo.errors import ConfigError


def test_the_default_preset_tests_given_the_whole_sequence_with_an_explicit_term() -> None:
    config = DiscoverConfig()
    assert config.transformer.linear
    assert config.extract.tests == ("total",)


def test_the_paper_s_preset_has_its_models_its_test_and_its_rule() -> None:
    config = DiscoverConfig(preset="paper")
    assert (config.transformer.linear, config.transformer.width) == (False, 600)
    assert config.extract.tests == ("prefix",)
    assert config.extract.paper
    assert config.fuse.criterion == "adaptive"


def test_only_the_paper_s_preset_is_not_verified_on_the_data() -> None:
    verified = {name: DiscoverConfig(preset=name).verifies for name in ("default", "fast", "paper")}
    assert verified == {"default": True, "fast": True, "paper": False}


def test_the_paper_s_preset_stays_a_pure_transformer_at_another_size() -> None:
    config = DiscoverConfig(preset="paper", size="tiny")
    assert (config.transformer.linear, config.transformer.width) == (False, 32)


def test_what_is_asked_for_goes_before_the_preset() -> None:
    config = DiscoverConfig(preset="paper", test="total", criterion="union")
    assert config.extract.tests == ("total",)
    assert config.fuse.criterion == "union"


def test_training_has_a_share_of_the_time() -> None:
    assert DiscoverConfig(max_time="10m").train.time_limit == pytest.approx(420)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"preset": "best"}, "'best'"),
        ({"test": "all"}, "'all'"),
        ({"criterion": "majority"}, "majority"),
        ({"size": "huge"}, "'huge'"),
        ({"max_time": "soon"}, "soon"),
        ({"seed": -1}, "seed=-1"),
        ({"max_length": 1}, "max_length=1"),
    ],
)
def test_bad_settings_are_refused_with_their_value(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        DiscoverConfig(**settings)  # type: ignore[arg-type]
