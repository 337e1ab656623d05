"""Score boundaries against a known truth, with trivial floors and the best reachable score."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.evaluation.boundaries import evaluate
    from eventcargo.evaluation.floors import coverage_ceiling, most_frequent, predict_all
    from eventcargo.evaluation.folds import FoldSummary, summarise_folds
    from eventcargo.evaluation.oneshot import OneshotScores, evaluate_oneshot
    from eventcargo.evaluation.reference import count_support
    from eventcargo.evaluation.scores import Average, Scores
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "boundaries": "evaluate",
            "floors": "coverage_ceiling most_frequent predict_all",
            "folds": "FoldSummary summarise_folds",
            "oneshot": "OneshotScores evaluate_oneshot",
            "reference": "count_support",
            "scores": "Average Scores",
        },
    )

__all__ = [
    "Average",
    "FoldSummary",
    "OneshotScores",
    "Scores",
    "count_support",
    "coverage_ceiling",
    "evaluate",
    "evaluate_oneshot",
    "most_frequent",
    "predict_all",
    "summarise_folds",
]
