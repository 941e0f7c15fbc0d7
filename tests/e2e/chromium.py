"""Debian's Chromium, installed where that is possible, driven by Playwright."""

import os
import shutil
import subprocess
from functools import cache

WHOLE = ("chromium", "chromium-browser", "google-chrome")
HEADLESS_SHELL = "chromium-headless-shell"
"""The same engine without a window around it: a quarter less work for each page."""
# The list under its address bar is a web page of its own in every window, and half of what
# a window costs; another waits for a page that may never come.
UNUSED = (
    "SpareRendererForSitePerProcess",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
)
# Of two such flags only the last counts: what Playwright switches off stays off.
OFF_BY_PLAYWRIGHT = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning",
)
# Without these it calls home at every start; as root it needs no sandbox to run at all.
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    f"--disable-features={','.join(OFF_BY_PLAYWRIGHT + UNUSED)}",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
)


@cache
def chromium(*, whole=False):
    """Return the path of Chromium, installing it by apt where we may; else None.

    `whole`: with push, certificates and all else that belongs to a window.
    """
    names = WHOLE if whole else (HEADLESS_SHELL, *WHOLE)
    return _found(names) or (_install() and _found(names))


def why_not():
    """Say why there is no Chromium here."""
    if shutil.which("apt-get") is None:
        return "no Chromium on PATH, and no apt to install it with"
    if os.geteuid() != 0:
        return "no Chromium on PATH, and apt needs root to install it"
    return "no Chromium on PATH, and apt could not install it"


def _found(names):
    return next((path for name in names if (path := shutil.which(name))), None)


def _install():
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(["apt-get", "-qq", *step], env=quiet, check=False)
        if done.returncode != 0:
            return False
    return True
