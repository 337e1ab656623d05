import numpy as np
import pytest

from eventcargo import ConfigError
from eventcargo.simulation import simulate

from .conftest import labels_of

REGIMES = ("log_odds", "noisy_or", "confounded")


@pytest.mark.parametrize("regime", REGIMES)
def test_a_prevented_event_type_does_not_occur_and_its_label_alone_changes(regime: str) -> None:
    plain = simulate(regime, sequences=2000, labels=2, seed=3)
    cause = plain.truth.boundary("L001")[0]
    absent = simulate(regime, sequences=2000, labels=2, seed=3, without=(cause,))
    assert cause in plain.data.event_names
    assert cause not in absent.data.event_names
    assert (labels_of(plain)[:, 0] == labels_of(absent)[:, 0]).all()
    assert (labels_of(plain)[:, 1] != labels_of(absent)[:, 1]).any()


@pytest.mark.parametrize("regime", REGIMES)
def test_sequences_without_the_prevented_event_type_stay_as_they_are(regime: str) -> None:
    plain = simulate(regime, sequences=500, labels=2, seed=3)
    cause = plain.truth.boundary("L001")[0]
    absent = simulate(regime, sequences=500, labels=2, seed=3, without=(cause,))
    for before, after in zip(plain.data, absent.data, strict=True):
        if cause not in before.events:
            assert (after.events, after.labels) == (before.events, before.labels)


def test_a_prevented_decoy_changes_no_label() -> None:
    plain = simulate("confounded", sequences=500, labels=1, seed=3)
    decoy = plain.rules["L000"].split()[-1]
    absent = simulate("confounded", sequences=500, labels=1, seed=3, without=(decoy,))
    assert decoy not in absent.data.event_names
    assert (labels_of(plain) == labels_of(absent)).all()


def test_a_prevented_precursor_takes_some_of_its_cause_with_it() -> None:
    settings = {"sequences": 4000, "labels": 1, "precursor_share": 1.0, "seed": 3}
    plain = simulate("noisy_or", **settings)
    precursor = plain.rules["L000"].split("raised by ")[1][:6]
    cause = plain.rules["L000"][:6]
    absent = simulate("noisy_or", **settings, without=(precursor,))

    def share(data: object) -> float:
        return float(np.mean([cause in sequence.events for sequence in data]))  # type: ignore[attr-defined]

    assert share(absent.data) < 0.8 * share(plain.data)


def test_a_background_event_type_can_be_prevented() -> None:
    plain = simulate("log_odds", sequences=300, labels=1, seed=3)
    causes = set(plain.truth.boundary("L000"))
    common = next(name for name in plain.data.event_names if name not in causes)
    absent = simulate("log_odds", sequences=300, labels=1, seed=3, without=(common,))
    assert common not in absent.data.event_names
    assert (labels_of(plain) == labels_of(absent)).all()


def test_an_unknown_event_type_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        ConfigError, match=r"without='E600': no such event type among 600; did you mean E00\d+"
    ):
        simulate("log_odds", without=("E600",))
