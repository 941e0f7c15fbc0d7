"""Where people come in and go out."""

from __future__ import annotations

from django.urls import path

from missioncontrol.accounts import views

urlpatterns = [
    path("login/", views.how_to_sign_in, name="how-to-sign-in"),
    path("login/<str:secret>/", views.sign_in, name="sign-in"),
    path("pair/", views.pair, name="pair"),
    path("logout/", views.sign_out, name="sign-out"),
]
