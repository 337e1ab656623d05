import pytest

from eventcargo.leaks.names import contained_names, equal_names


def test_names_are_equal_whatever_their_case_and_space() -> None:
    events = ["turbo failure", " TURBO  Failure", "turbo-failure", "turbo"]
    assert list(equal_names(events, ["oil", "Turbo failure"])) == [(0, 1), (1, 1)]


def test_labels_of_one_name_are_all_found() -> None:
    assert list(equal_names(["Bad"], ["BAD", "bad"])) == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("event", "label", "contained"),
    [
        ("turbo failure recorded", "turbo failure", True),
        ("WS: Turbo_Failure", "turbo failure", True),
        ("failure of turbo", "turbo failure", False),
        ("turbo failures", "turbo failure", False),
        ("turbo failure", "turbo failure", False),
        ("ICD E11", "E11", True),
        ("code 17", "17", False),
        ("a b", "a", False),
        ("event", "???", False),
    ],
)
def test_names_are_contained_in_whole_words(event: str, label: str, contained: bool) -> None:
    assert list(contained_names([event], [label])) == ([(0, 0)] if contained else [])
