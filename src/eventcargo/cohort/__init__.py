"""From what was recorded to sequences that can be asked for causes."""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.cohort.build import CohortData, build_cohort
    from eventcargo.cohort.config import Cohort, read_cohort, write_cohort
    from eventcargo.cohort.exclusion import exclude
    from eventcargo.cohort.index_kind import refuse_dates
    from eventcargo.cohort.summary import CohortSummary
    from eventcargo.cohort.tables import Tables
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "build": "CohortData build_cohort",
            "config": "Cohort read_cohort write_cohort",
            "exclusion": "exclude",
            "index_kind": "refuse_dates",
            "summary": "CohortSummary",
            "tables": "Tables",
        },
    )

__all__ = [
    "Cohort",
    "CohortData",
    "CohortSummary",
    "Tables",
    "build_cohort",
    "exclude",
    "read_cohort",
    "refuse_dates",
    "write_cohort",
]
