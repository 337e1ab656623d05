"""Score boundaries against a known truth, with trivial floors and the best reachable score."""

from eventcargo.evaluation.boundaries import evaluate
from eventcargo.evaluation.floors import coverage_ceiling, most_frequent, predict_all
from eventcargo.evaluation.folds import FoldSummary, summarise_folds
from eventcargo.evaluation.oneshot import OneshotScores, evaluate_oneshot
from eventcargo.evaluation.reference import count_support
from eventcargo.evaluation.scores import Average, Scores

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
