import pytest

from eventcargo.errors import ConfigError, DataError, EventCargoError, EventCargoWarning


@pytest.mark.parametrize("kind", [DataError, ConfigError])
def test_refusals_are_of_one_family_and_value_errors(kind: type[Exception]) -> None:
    assert issubclass(kind, EventCargoError)
    assert issubclass(kind, ValueError)


def test_warning_can_be_silenced_as_a_user_warning() -> None:
    assert issubclass(EventCargoWarning, UserWarning)
