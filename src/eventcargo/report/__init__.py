"""The report: everything a run found, as one HTML file that opens from disk and needs no network.

`ReportInput` names what goes in; `write_report` chooses what the page needs of it and writes the file. The
report never sees a model.
"""

from eventcargo.report.page import write_report
from eventcargo.report.report_input import ReportInput

__all__ = ["ReportInput", "write_report"]
