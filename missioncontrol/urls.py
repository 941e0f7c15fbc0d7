"""Every address Django answers. Thin endpoints stand in `asgi.py`."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView

from missioncontrol.api.views import operator, oversight, policies, projects, runs
from missioncontrol.api.views.screen import screen

api = [
    path("me/", projects.WhoAmI.as_view()),
    path("projects/", projects.Projects.as_view()),
    path("projects/<uuid:project_id>/", projects.OneProject.as_view()),
    path("projects/<uuid:project_id>/controller-secret/", projects.ControllerSecret.as_view()),
    path("projects/<uuid:project_id>/policies/", policies.PolicyVersions.as_view()),
    path("projects/<uuid:project_id>/policies/check/", policies.CheckPolicy.as_view()),
    path("projects/<uuid:project_id>/policies/<int:number>/", policies.OnePolicyVersion.as_view()),
    path("backtest/", policies.Backtests.as_view()),
    path("backtest/<uuid:backtest_id>/", policies.OneBacktest.as_view()),
    path("runs/", runs.Runs.as_view()),
    path("runs/<uuid:run_id>/", runs.OneRun.as_view()),
    path("runs/<uuid:run_id>/tree/", runs.Tree.as_view()),
    path("runs/<uuid:run_id>/turns/", runs.Turns.as_view()),
    path("runs/<uuid:run_id>/telemetry/", runs.Telemetry.as_view()),
    path("runs/<uuid:run_id>/interventions/", runs.Interventions.as_view()),
    path("runs/<uuid:run_id>/rules/", runs.Rules.as_view()),
    path("runs/<uuid:run_id>/choices/", runs.Choices.as_view()),
    path("runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/", runs.Delivered.as_view()),
    path("decisions/", oversight.Decisions.as_view()),
    path("allowlist/", oversight.Allowlist.as_view()),
    path("allowlist/suggestions/", policies.AllowlistSuggestions.as_view()),
    path("allowlist/<uuid:entry_id>/", oversight.OneAllowlistEntry.as_view()),
    path("autofixes/", oversight.Autofixes.as_view()),
    path("costs/", oversight.Costs.as_view()),
    path("audit/", oversight.Audit.as_view()),
    path("audit/verify/", oversight.AuditVerify.as_view()),
    path("audit/export/", oversight.AuditExport.as_view()),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("healthz", operator.healthz),
    path("readyz", operator.readyz),
    re_path(r"^metrics/?$", operator.metrics),
    path("", include("missioncontrol.accounts.urls")),
    re_path(r"^(?!api/|ws/|v1/|assets/).*$", screen),
]

handler400 = "missioncontrol.api.problems.bad_request"
handler404 = "missioncontrol.api.problems.not_found"
handler500 = "missioncontrol.api.problems.server_error"
