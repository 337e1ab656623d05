import sys

import pytest

from eventcargo.progress import _Pace, no_bars, progress_bars


def drawn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *report: object) -> str:
    """What a terminal shows of one report."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bars() as progress:
        progress(*report)  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_a_count_is_shown_with_its_noun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = drawn(monkeypatch, capsys, "testing", 3, 10, "sequences")
    assert "testing" in shown
    assert "30%" in shown
    assert "3 of 10 sequences" in shown


def test_of_a_share_only_the_message_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = drawn(monkeypatch, capsys, "training", 0.5, 1.0, "step 12, 1:30 left")
    assert "50%" in shown
    assert "step 12, 1:30 left" in shown
    assert " of " not in shown


def test_nothing_is_drawn_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bars() as progress:
        progress("testing", 3, 10, "sequences")
    assert capsys.readouterr() == ("", "")


def test_nothing_is_drawn_that_is_not_to_be_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bars(show=False) as progress:
        progress("testing", 3, 10, "sequences")
    assert capsys.readouterr() == ("", "")


def test_rate_and_time_left_follow_from_what_was_done_since_the_first_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("eventcargo.progress.time.monotonic", lambda: 110.0)
    pace = _Pace(began=100.0, first=1000)  # a run that was resumed at 1,000
    assert pace.words(2000, 10_000, "sequences") == "2,000 of 10,000 sequences, 100.0/s, 1:20 left"
    assert pace.words(1000, 10_000, "sequences") == "1,000 of 10,000 sequences"
    assert pace.words(10_000, 10_000, "sequences") == "10,000 of 10,000 sequences, 900.0/s"


def test_a_message_that_gives_the_time_left_is_not_given_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eventcargo.progress.time.monotonic", lambda: 110.0)
    assert _Pace(100.0, 0.0).words(0.5, 1.0, "step 3, 0:09 left") == "step 3, 0:09 left"
    assert _Pace(100.0, 0.0).words(0.5, 1.0, "step 3") == "step 3, 0:10 left"


def test_nothing_is_drawn_where_no_bars_are_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with no_bars():
        assert drawn(monkeypatch, capsys, "testing", 3, 10, "sequences") == ""
    assert "testing" in drawn(monkeypatch, capsys, "testing", 3, 10, "sequences")
