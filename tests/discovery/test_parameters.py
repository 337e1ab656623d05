"""An estimator without scikit-learn's base class is one for scikit-learn all the same."""

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from eventcargo import Cargo, ConfigError
from eventcargo.discovery.parameters import WithParameters


class Inner(WithParameters):
    def __init__(self, depth: int = 2) -> None:
        self.depth = depth


class Outer(WithParameters):
    def __init__(self, inner: Inner | None = None, size: int = 1) -> None:
        self.inner, self.size = inner, size


class Threshold(WithParameters):
    """A tiny estimator: as good as its shift is close to 2."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, rows: object, truth: object = None) -> "Threshold":  # noqa: ARG002
        self.shift_ = self.shift
        return self

    def score(self, rows: object, truth: object = None) -> float:  # noqa: ARG002
        return -abs(self.shift_ - 2)


def test_a_clone_has_the_same_parameters_and_is_another_object() -> None:
    cargo = Cargo(preset="fast", steps=7)
    copy = clone(cargo)
    assert copy is not cargo
    assert copy.get_params() == cargo.get_params()


def test_a_pipeline_passes_parameters_on() -> None:
    pipeline = Pipeline([("cargo", Cargo())]).set_params(cargo__preset="paper")
    assert pipeline.get_params()["cargo__preset"] == "paper"


def test_a_search_over_parameters_finds_the_best() -> None:
    search = GridSearchCV(Threshold(), {"shift": [0.0, 1.5, 5.0]}, cv=2).fit([[0]] * 4)
    assert search.best_params_ == {"shift": 1.5}


def test_tags_say_that_no_target_is_needed() -> None:
    assert get_tags(Cargo()).target_tags.required is False


def test_scikit_learn_sees_whether_it_is_fitted() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(Threshold())
    check_is_fitted(Threshold().fit([[0]]))


def test_parameters_of_a_parameter_are_read_and_set() -> None:
    outer = Outer(Inner()).set_params(inner__depth=5)
    assert outer.get_params()["inner__depth"] == 5
    assert set(outer.get_params(deep=False)) == {"inner", "size"}


def test_an_unknown_parameter_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"unknown parameter 'presets'; use .*preset, "):
        Cargo().set_params(presets="fast")


def test_only_changed_parameters_are_shown() -> None:
    assert repr(Cargo(preset="fast")) == "Cargo(preset='fast')"


def test_an_estimator_shows_its_parameters_and_which_of_them_were_changed() -> None:
    html = Cargo(preset="fast", max_time="<i>1h")._repr_html_()
    assert "Cargo(max_time=&#x27;&lt;i&gt;1h&#x27;, preset=&#x27;fast&#x27;), not fitted" in html
    assert f"{len(Cargo().get_params())} parameters, 2 changed" in html
    assert "<b>&#x27;fast&#x27;</b>" in html
    assert "<i>" not in html
