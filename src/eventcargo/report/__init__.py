"""The report: all results of a run as one HTML file that opens from disk and needs no network.

`ReportInput` holds the results; `write_report` selects what the page needs and writes the file. The report
does not need the model.
"""

from typing import TYPE_CHECKING

from eventcargo.lazy import lazy_names

if TYPE_CHECKING:
    from eventcargo.report.page import write_report
    from eventcargo.report.report_input import ReportInput
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "page": "write_report",
            "report_input": "ReportInput",
        },
    )

__all__ = ["ReportInput", "write_report"]
