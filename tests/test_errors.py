import pytest

from eventcargo.errors import (
    ConfigError,
    DataError,
    EventCargoError,
    EventCargoWarning,
    argument,
    arguments_shown_by,
    did_you_mean,
    warn,
)


@pytest.mark.parametrize("kind", [DataError, ConfigError])
def test_refusals_are_of_one_family_and_value_errors(kind: type[Exception]) -> None:
    assert issubclass(kind, EventCargoError)
    assert issubclass(kind, ValueError)


def test_warning_can_be_silenced_as_a_user_warning() -> None:
    assert issubclass(EventCargoWarning, UserWarning)


def test_arguments_are_shown_as_keywords_again_after_another_surface() -> None:
    with pytest.raises(DataError, match=r"^--labels$"), arguments_shown_by(lambda name, _: f"--{name}"):
        raise DataError(argument("labels"))
    assert argument("labels", "l.csv") == "labels='l.csv'"


def test_the_name_most_like_an_unknown_one_is_found_whatever_its_case() -> None:
    assert did_you_mean("sequence_id", ["time", "SEQUENCE-ID", "event"]) == "SEQUENCE-ID"
    assert did_you_mean("sequence_id", ["time", "event"]) == ""


def test_a_warning_points_at_the_line_outside_the_package() -> None:
    with pytest.warns(EventCargoWarning, match="look") as caught:
        warn("look")
    assert caught[0].filename == __file__
