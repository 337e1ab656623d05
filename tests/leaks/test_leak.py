from eventcargo.leaks import Leak


def leak(*signs: str, last: int = 0) -> Leak:
    return Leak("bad", "x", signs, 12, 13, 14, 5_014, last)  # type: ignore[arg-type]


def test_a_reason_has_all_counts() -> None:
    assert leak("double").reason == (
        "x is in 12 of 14 sequences with bad and in 1 of 5,000 without: a cause this perfect may be a record "
        "of the outcome"
    )


def test_a_reason_has_all_signs() -> None:
    said = leak("name", "closing", last=9).reason
    assert (
        "without, and is the last event of 9 of these 12: it has the name of the outcome and it may" in said
    )


def test_a_hint_has_no_other_sign() -> None:
    assert leak("words").is_hint
    assert not leak("double", "words").is_hint


def test_a_double_of_the_same_name_is_certain() -> None:
    assert leak("name", "double").is_certain
    assert not leak("name", "closing").is_certain
    assert not leak("double").is_certain
