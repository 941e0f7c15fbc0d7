"""Every address that Django answers. The thin endpoints are in `asgi.py`."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView

from missioncontrol.api.views import (
    access,
    account,
    channels,
    costs,
    decisions,
    devices,
    instance,
    members,
    pages,
    policies,
    projects,
    runs,
    shares,
    sign_in_links,
    sign_in_methods,
    timeline,
)

ROUTERS = (
    account.api,
    account.fresh_proof_api,
    access.api,
    channels.api,
    costs.api,
    decisions.api,
    devices.api,
    instance.api,
    members.api,
    policies.api,
    projects.api,
    runs.api,
    shares.api,
    timeline.api,
)
api = [url for router in ROUTERS for url in router.urls]

urlpatterns = [
    # With a version: old SDKs go on using the address that they were made for.
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("healthz", instance.healthz),
    path("readyz", instance.readyz),
    # With or without the slash, because scrapers are configured either way.
    re_path(r"^metrics/?$", instance.metrics),
    re_path(r"^login/?$", sign_in_methods.show_methods, name="how-to-sign-in"),
    *(re_path(f"^login/by/{method}/?$", view) for method, view in sign_in_methods.VIEWS.items()),
    path("login/<str:secret>/", sign_in_links.sign_in_by_link, name="sign-in"),
    re_path(r"^pair/?$", sign_in_links.sign_in_by_code, name="pair"),
    re_path(r"^join/?$", sign_in_links.join, name="join"),
    path("shared/<str:secret>/", shares.shared_page, name="shared"),
    # A picture with its own address: messengers show it before anybody opens the link.
    path("shared/<str:secret>/image.png", shares.preview_image, name="shared-picture"),
    path("logout/", sign_in_links.sign_out, name="sign-out"),
    # Every other address is a screen's: the app itself says if it does not exist.
    re_path(r"^(?!api/|ws/|v1/|assets/).*$", pages.screen),
]

# Django's own error pages are HTML, but an agent with a wrong address expects JSON.
handler400 = "missioncontrol.api.problems.bad_request"
handler404 = "missioncontrol.api.problems.not_found"
handler500 = "missioncontrol.api.problems.server_error"
