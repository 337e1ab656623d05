from eventcargo.io.bisection import failures, parses


def _whole_numbers(values):
    return [int(value) for value in values]


def test_all_failures_are_found():
    values = ["1", "2", "x", "4", "y", "6", "z"]
    assert failures(_whole_numbers, values, (ValueError,)) == [2, 4, 6]


def test_a_single_failure_is_found():
    assert failures(_whole_numbers, ["x"], (ValueError,)) == [0]


def test_a_list_without_failures_has_none():
    assert failures(_whole_numbers, ["1", "2"], (ValueError,)) == []
    assert failures(_whole_numbers, [], (ValueError,)) == []


def test_parses_tells_good_from_bad():
    assert parses(_whole_numbers, ["1"], (ValueError,))
    assert not parses(_whole_numbers, ["x"], (ValueError,))
