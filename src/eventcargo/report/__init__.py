"""The report: all results of a run as one HTML file that opens from disk and needs no network.

`ReportInput` holds the results; `write_report` selects what the page needs and writes the file. The report
does not need the model.
"""

from eventcargo.report.page import write_report
from eventcargo.report.report_input import ReportInput

__all__ = ["ReportInput", "write_report"]
