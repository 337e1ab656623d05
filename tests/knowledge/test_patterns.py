import warnings

import pytest

from eventcargo.errors import ConfigError, EventCargoWarning
from eventcargo.knowledge.patterns import Names, check_patterns

NAMES = ["P01", "P012", "U[1]", "p01", "line\nbreak"]


def matches(pattern: str) -> list[str]:
    names = Names("event type", NAMES)
    return [NAMES[number] for number in names.match(pattern, "forbidden")]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("P01", ["P01"]),
        ("P*", ["P01", "P012"]),
        ("P?1", ["P01"]),
        ("[Pp]01", ["P01", "p01"]),
        ("re:P01.?", ["P01", "P012"]),
        ("re:P0", []),
        ("*break", ["line\nbreak"]),
    ],
)
def test_patterns_stand_for_whole_names_in_their_case(pattern: str, found: list[str]) -> None:
    assert matches(pattern) == found


def test_a_name_that_looks_like_a_pattern_stands_for_itself() -> None:
    assert matches("U[1]") == ["U[1]"]


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="forbidden has the event type 'P99', which is not among the 5"):
        matches("P99")


def test_patterns_that_match_nothing_are_counted() -> None:
    names = Names("event type", NAMES)
    for pattern in ("X*", "Y*", "P*"):
        names.match(pattern, "forbidden")
    with pytest.warns(EventCargoWarning, match=r"2 of 3 event type patterns, .* 'X\*'"):
        names.report()


def test_patterns_that_all_match_are_not_reported() -> None:
    names = Names("event type", NAMES)
    names.match("P*", "forbidden")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        names.report()
    assert told == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "tier 1 has 7; use a name"),
        ([], r"tier 1 has \[\]; use a name"),
        (["P01", 7], "tier 1 has 7, which is not a name"),
        (["P01", ""], "tier 1 has '', which is not a name"),
        ("re:(", r"'re:\(', which is not a regular expression of RE2: missing"),
    ],
)
def test_what_is_no_pattern_is_refused(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_patterns(given, "tier 1")


@pytest.mark.parametrize("expression", ["(a+)+$", "(x+x+)+y", "(.*)*b", "((a?){30})*a{30}"])
def test_no_expression_takes_more_than_a_moment(expression: str) -> None:
    names = ["a" * 5_000 + "!", "x" * 5_000]
    assert Names("event type", names).match(f"re:{expression}", "forbidden").tolist() == []


@pytest.mark.parametrize("pattern", ["re:((a{900}){900}){900}", "re:a(?!b)", "re:(a)\\1"])
def test_expressions_that_need_more_than_a_moment_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="is not a regular expression of RE2"):
        check_patterns([pattern], "forbidden")


@pytest.mark.parametrize("pattern", ["\ud800", "re:\ud800", "x" * 1_001])
def test_patterns_that_no_name_can_match_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"not valid Unicode|1,001 characters; use at most 1,000"):
        check_patterns([pattern], "forbidden")


def test_half_an_expression_is_not_made_whole_by_its_frame() -> None:
    with pytest.raises(ConfigError, match="RE2"):
        check_patterns(["re:a)(b"], "forbidden")
