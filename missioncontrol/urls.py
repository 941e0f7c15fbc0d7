"""Every address Django answers. Thin endpoints stand in `asgi.py`."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView

from missioncontrol.api.views import (
    access,
    channels,
    costs,
    devices,
    history,
    instance,
    operator,
    oversight,
    policies,
    prices,
    projects,
    runs,
    timeline,
)
from missioncontrol.api.views.screen import screen

api = [
    path("me/", projects.WhoAmI.as_view()),
    path("projects/", projects.Projects.as_view()),
    path("projects/<uuid:project_id>/", projects.OneProject.as_view()),
    path("projects/<uuid:project_id>/controller-secret/", projects.ControllerSecret.as_view()),
    path("projects/<uuid:project_id>/prices/", prices.Prices.as_view()),
    path("projects/<uuid:project_id>/policies/", policies.PolicyVersions.as_view()),
    path("projects/<uuid:project_id>/policies/check/", policies.CheckPolicy.as_view()),
    path("projects/<uuid:project_id>/policies/<int:number>/", policies.OnePolicyVersion.as_view()),
    path("backtest/", policies.Backtests.as_view()),
    path("backtest/<uuid:backtest_id>/", policies.OneBacktest.as_view()),
    path("runs/", runs.Runs.as_view()),
    path("runs/totals/", history.Totals.as_view()),
    path("runs/export/", history.Export.as_view()),
    path("views/", history.SavedViews.as_view()),
    path("views/<uuid:view_id>/", history.OneSavedView.as_view()),
    path("runs/<uuid:run_id>/", runs.OneRun.as_view()),
    path("runs/<uuid:run_id>/tree/", runs.Tree.as_view()),
    path("runs/<uuid:run_id>/turns/", timeline.Turns.as_view()),
    path("runs/<uuid:run_id>/turns/found/", timeline.Found.as_view()),
    path("runs/<uuid:run_id>/turns/<int:seq>/", timeline.OneTurn.as_view()),
    path("runs/<uuid:run_id>/facets/", timeline.Facets.as_view()),
    path("runs/<uuid:run_id>/series/", timeline.Series.as_view()),
    path("runs/<uuid:run_id>/moments/", timeline.Moments.as_view()),
    path("runs/<uuid:run_id>/hand-offs/", timeline.HandedOn.as_view()),
    path("runs/<uuid:run_id>/telemetry/", runs.Telemetry.as_view()),
    path("runs/<uuid:run_id>/interventions/", runs.Interventions.as_view()),
    path("runs/<uuid:run_id>/rules/", runs.Rules.as_view()),
    path("runs/<uuid:run_id>/choices/", runs.Choices.as_view()),
    path("runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/", runs.Delivered.as_view()),
    path("devices/", devices.Devices.as_view()),
    path("devices/reach/", devices.ReachView.as_view()),
    path("devices/certificate/", devices.Certificate.as_view()),
    path("devices/this/push/", devices.ThisPush.as_view()),
    path("devices/<uuid:device_id>/", devices.OneDevice.as_view()),
    path("devices/<uuid:device_id>/test/", devices.TryDevice.as_view()),
    path("pairings/", devices.Pairings.as_view()),
    path("pairings/<uuid:pairing_id>/", devices.OnePairing.as_view()),
    path("decisions/", oversight.Decisions.as_view()),
    path("allowlist/", oversight.Allowlist.as_view()),
    path("allowlist/suggestions/", policies.AllowlistSuggestions.as_view()),
    path("allowlist/<uuid:entry_id>/", oversight.OneAllowlistEntry.as_view()),
    path("autofixes/", oversight.Autofixes.as_view()),
    path("costs/", costs.Costs.as_view()),
    path("costs/account/", costs.Account.as_view()),
    path("costs/usual/", costs.Usual.as_view()),
    path("costs/export/", costs.Export.as_view()),
    path("reports/", costs.Reports.as_view()),
    path("reports/<uuid:report_id>/", costs.OneReport.as_view()),
    path("reports/<uuid:report_id>.csv", costs.ReportFile.as_view()),
    path("channels/", channels.Channels.as_view()),
    path("channels/<uuid:channel_id>/", channels.OneChannel.as_view()),
    path("channels/<uuid:channel_id>/test/", channels.ChannelTest.as_view()),
    path("deliveries/", channels.Deliveries.as_view()),
    path("deliveries/<uuid:delivery_id>/", channels.OneDelivery.as_view()),
    path("deliveries/<uuid:delivery_id>/retry/", channels.DeliveryRetry.as_view()),
    path("keys/", access.AgentKeys.as_view()),
    path("keys/<uuid:key_id>/", access.OneAgentKey.as_view()),
    path("tokens/", access.Tokens.as_view()),
    path("tokens/<uuid:token_id>/", access.OneToken.as_view()),
    path("sessions/", access.Sessions.as_view()),
    path("instance/", instance.Instance.as_view()),
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
