from eventcargo.io.bisection import first_failure, parses


def _whole_numbers(values):
    return [int(value) for value in values]


def test_the_first_of_several_failures_is_found():
    values = ["1", "2", "x", "4", "y", "6", "7"]
    assert first_failure(_whole_numbers, values, (ValueError,)) == 2


def test_a_failure_at_the_end_is_found():
    assert first_failure(_whole_numbers, ["1", "2", "x"], (ValueError,)) == 2


def test_a_single_failure_is_found():
    assert first_failure(_whole_numbers, ["x"], (ValueError,)) == 0


def test_parses_tells_good_from_bad():
    assert parses(_whole_numbers, ["1"], (ValueError,))
    assert not parses(_whole_numbers, ["x"], (ValueError,))
