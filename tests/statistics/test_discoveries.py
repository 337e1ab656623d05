from eventcargo.statistics.discoveries import discoveries


def test_discoveries_are_those_of_benjamini_and_hochberg() -> None:
    given = [0.010, None, 0.039, 0.013, 0.2]  # limits at .05 of four: .0125, .025, .0375, .05
    assert discoveries(given, 0.05).tolist() == [True, False, False, True, False]
    assert discoveries([None, 0.9], 0.05).tolist() == [False, False]
    assert discoveries([], 0.05).tolist() == []
