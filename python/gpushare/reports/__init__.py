# SPDX-License-Identifier: Apache-2.0
"""How results are shown and stored: HTML tables, plots, reports, traces for ui.perfetto.dev, files.

Runs, results and workloads offer these as methods, and know none of them: they are provided here.
"""

from gpushare.providers import provide

provide(
    {
        "workload_html": "gpushare.reports.display:workload_html",
        "policies_html": "gpushare.reports.display:policies_html",
        "run_html": "gpushare.reports.display:run_html",
        "run_plots": "gpushare.plots.registry:run_plots",
        "write_perfetto": "gpushare.reports.perfetto:write_perfetto",
        "result_html": "gpushare.reports.display:result_html",
        "result_plots": "gpushare.plots.registry:result_plots",
        "write_report": "gpushare.reports.report:write_report",
        "packed_result": "gpushare.reports.result_file:packed_result",
        "save_result": "gpushare.reports.result_file:save_result",
        "load_result": "gpushare.reports.result_file:load_result",
        "server_trace_plot": "gpushare.plots.server_trace:draw_server_trace",
    }
)
