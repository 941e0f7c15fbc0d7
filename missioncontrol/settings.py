"""Settings. Every value comes through a typed reader; an empty environment runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from missioncontrol import env, memory

VERSION = "0.2.0"
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.directory("MISSIONCONTROL_DATA", Path.home() / ".local/share/missioncontrol")
ROLE = env.text("MISSIONCONTROL_ROLE")


# From the environment, or the one `up` keeps beside the database, or one for this process alone.
SECRET_KEY = env.secret_key(
    "MISSIONCONTROL_SECRET_KEY", file=DATA_DIR / "secret.key", serving=bool(ROLE)
)
# With these, what a former secret sealed or signed stays valid; `manage.py rotate_secret` keeps the
# last one.
SECRET_KEY_FALLBACKS = env.words("MISSIONCONTROL_SECRET_KEY_FALLBACKS") or env.read_lines(
    DATA_DIR / "secret.key.old"
)


# The key that signs pushes; another one would end every subscription, so `up` keeps it.
VAPID_PRIVATE_KEY = env.secret("VAPID_PRIVATE_KEY", file=DATA_DIR / "vapid.key")
DEBUG = env.flag("MISSIONCONTROL_DEBUG")
PUBLIC_URL = env.web_address("MISSIONCONTROL_PUBLIC_URL")
# The contact for push services; if empty, a public https address is used (notify.contact).
VAPID_SUBJECT = env.text("VAPID_SUBJECT")
# Where a phone in the same network reaches this; if empty, only this machine does.
PHONE_URL = env.text("MISSIONCONTROL_PHONE_URL") or PUBLIC_URL
# Whether `up` runs us: it starts what an owner turns on (missioncontrol.extras), HTTPS on this
# port.
IS_SUPERVISED = env.flag("MISSIONCONTROL_SUPERVISED")
HTTPS_PORT = env.number("MISSIONCONTROL_HTTPS_PORT", 0)
# The bearer token for reading /metrics; without one there is nothing to read.
METRICS_TOKEN = env.text("MISSIONCONTROL_METRICS_TOKEN")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env.words("MISSIONCONTROL_HOSTS")]
if PUBLIC_URL:  # a Host header is compared without its port
    _public = urlsplit(PUBLIC_URL)
    ALLOWED_HOSTS.append(_public.netloc.removesuffix(f":{_public.port}"))
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
_SECURE = PUBLIC_URL.startswith("https://")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "missioncontrol.accounts",
    "missioncontrol.runs",
    "missioncontrol.notify",
    "missioncontrol.costs",
    "missioncontrol.decisions",
    "missioncontrol.detection",
    "missioncontrol.projects",
    "missioncontrol.audit",
    "missioncontrol.reports",
    "missioncontrol.oversight",
    "missioncontrol.history",
    "missioncontrol.api",
    "missioncontrol.up",
]

MIDDLEWARE = [
    "missioncontrol.api.middleware.HostPrefixedCookies",
    # Before WhiteNoise: a service worker runs under the policy of the answer it came with.
    "missioncontrol.api.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "missioncontrol.api.middleware.SameOriginGZipMiddleware",
    "missioncontrol.api.middleware.RotatingSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",  # its second factors identify a request by it
]

ROOT_URLCONF = "missioncontrol.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        sqlite=DATA_DIR / "missioncontrol.sqlite3",
        pooled=ROLE == "web",
        serving=bool(ROLE),
        durable=env.flag("MISSIONCONTROL_DURABLE"),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Bytes of one request of an agent; `api.limits` enforces this and the following limits.
BODY_LIMIT = env.number("MISSIONCONTROL_BODY_LIMIT", 8 * 1024 * 1024)
# Bytes of one request without an agent's key: people's are far smaller.
STRANGER_BODY_LIMIT = env.number("MISSIONCONTROL_STRANGER_BODY_LIMIT", 512 * 1024)
REQUEST_LIMITS = {"runs": 3_000, "turns": 60_000, "otlp": 12_000, "taps": 1_200}
# Per key, token or session: requests a minute by kind, bytes a minute, runs that have not ended; 0:
# unlimited. Far above what one needs.
KEY_LIMITS = env.counts(
    "MISSIONCONTROL_KEY_LIMITS", REQUEST_LIMITS | {"bytes": 1024**3, "open_runs": 10_000}
)
# Requests a minute per address, whatever keys it sends.
ADDRESS_LIMITS = env.counts(
    "MISSIONCONTROL_ADDRESS_LIMITS", {kind: 4 * KEY_LIMITS[kind] for kind in REQUEST_LIMITS}
)
# The same for all keys of a project together.
PROJECT_LIMITS = env.counts(
    "MISSIONCONTROL_PROJECT_LIMITS",
    {kind: 4 * KEY_LIMITS[kind] for kind in ("turns", "otlp", "bytes", "open_runs")},
)
# Runs that may be opened at once; further requests are told to come again (503).
MOST_OPENINGS = env.number("MISSIONCONTROL_MOST_OPENINGS", 64)
# Proxies whose `X-Forwarded-For` is trusted; none unless named.
TRUSTED_PROXIES = env.networks("MISSIONCONTROL_TRUSTED_PROXIES")

# The ways people may sign in besides one-time links and codes; by default none.
SIGN_IN = env.choices("MISSIONCONTROL_SIGN_IN", ("password", "passkey", "oidc"))
OIDC = env.identity_provider("MISSIONCONTROL_OIDC") if "oidc" in SIGN_IN else None
# How long after signing in keys, members and secrets may be changed without a new proof.
SIGN_IN_AGAIN = timedelta(minutes=env.number("MISSIONCONTROL_SIGN_IN_AGAIN_MINUTES", 15))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
_VALIDATOR = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"{_VALIDATOR}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_VALIDATOR}.CommonPasswordValidator"},
    {
        "NAME": f"{_VALIDATOR}.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "first_name")},
    },
]
MFA_ADAPTER = "missioncontrol.accounts.credentials.SealedFactors"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = "passkey" in SIGN_IN
# Steps of 30 s by which a phone's clock may be wrong.
MFA_TOTP_TOLERANCE = 1
ACCOUNT_EMAIL_VERIFICATION = "none"

REDIS_URL = env.text("REDIS_URL", "redis://127.0.0.1:6379/0")
BROKER_URL = REDIS_URL.replace("redis+socket://", "unix://")
# The prefix of names at the broker, because several installations may share one.
BROKER_PREFIX = env.text("MISSIONCONTROL_PREFIX", "mc")

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://")
CELERY_TASK_IGNORE_RESULT = True
# A worker that dies has acknowledged nothing, so its task goes to another.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
# No task waits behind a long one while another worker is free.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = f"{BROKER_PREFIX}-oversight"
# The number of detectors that runs are divided among; web and `up` must agree.
WORKERS = env.number("MISSIONCONTROL_WORKERS", 2)
# Each run's turns wait in one of these queues, so that one detector sees them all.
DETECT_QUEUES = [f"{BROKER_PREFIX}-detect-{number}" for number in range(max(1, WORKERS))]
# Bytes of memory up to which a detecting process keeps more engines.
DETECTOR_MEMORY = env.number(
    "MISSIONCONTROL_DETECTOR_MEMORY_MB", 0
) * 1_000_000 or memory.of_machine() // 4 // len(DETECT_QUEUES)
# Where several installations share a broker, each asks only its own workers whether they live.
CELERY_CONTROL_EXCHANGE = f"{BROKER_PREFIX}-control"
# Hosts, with or without a port, that a controller's webhook may call although they are not public.
CONTROLLER_HOSTS = env.words("MISSIONCONTROL_CONTROLLER_HOSTS")
# The same for a project's channels: a mail server, ntfy or webhook in the private network.
NOTIFY_HOSTS = env.words("MISSIONCONTROL_NOTIFY_HOSTS")
# Where the heads of the audit log are stored beside the database; worker and web share it.
AUDIT_HEADS = env.directory("MISSIONCONTROL_AUDIT_HEADS", DATA_DIR / "audit")
# Public keys that signed the audit log before the secret key was changed.
AUDIT_KEYS = env.words("MISSIONCONTROL_AUDIT_KEYS") + env.read_lines(DATA_DIR / "audit.keys")
# An https address that each new head is posted to; if empty, none is.
AUDIT_SEND_TO = env.text("MISSIONCONTROL_AUDIT_SEND_TO")
# How many of the backups made before migrating `up` keeps; with 0 it makes none.
KEEP_BACKUPS = env.number("MISSIONCONTROL_KEEP_BACKUPS", 3)
# How long the results of deliveries are kept; None: for ever.
KEEP_DELIVERIES = env.days("MISSIONCONTROL_KEEP_DELIVERIES_DAYS", 90)
# The model that judges; None: the local judge does.
JUDGE = env.judge("MISSIONCONTROL_JUDGE")
JUDGE_QUEUE = f"{BROKER_PREFIX}-judge"
if JUDGE is not None:
    # A model takes seconds: its tasks have a queue of their own, so that detection does not wait
    # for them. `up` gives it a process.
    CELERY_TASK_ROUTES = {
        f"missioncontrol.detection.tasks.{name}": {"queue": JUDGE_QUEUE}
        for name in ("judge", "answer")
    }
CELERY_TASK_QUEUES = {  # a worker that names none serves them all
    # Detection is requested again until it is done, so its messages need no acknowledgement, which
    # would cost as much as a small detection.
    name: {"exchange": name, "routing_key": name, "no_ack": name in DETECT_QUEUES}
    for name in (CELERY_TASK_DEFAULT_QUEUE, *DETECT_QUEUES, *([JUDGE_QUEUE] if JUDGE else []))
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 30,
    # By default an abandoned message is looked for only every 100 s.
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    # Where several installations share a broker, each restores its own messages: a worker killed
    # while it restores some keeps the lock for five minutes.
    **{
        name: f"{BROKER_PREFIX}-{name.removesuffix('_key')}"
        for name in ("unacked_key", "unacked_index_key", "unacked_mutex_key")
    },
}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "missioncontrol.detection.tasks.sweep", "schedule": 2.0},
    "lose_silent": {"task": "missioncontrol.detection.tasks.lose_silent", "schedule": 60.0},
    "deliver": {"task": "missioncontrol.notify.tasks.sweep", "schedule": 2.0},
    "forget": {"task": "missioncontrol.notify.tasks.prune", "schedule": 900.0},
    "anchor": {"task": "missioncontrol.audit.tasks.anchor", "schedule": 60.0},
    "report": {"task": "missioncontrol.reports.tasks.report", "schedule": 60.0},
    "correct": {"task": "missioncontrol.reports.tasks.correct_reports", "schedule": 900.0},
    "forget_words": {"task": "missioncontrol.audit.tasks.forget_words", "schedule": 60.0},
    # A task that waits longer than this is void, because the next one is due.
    "index": {
        "task": "missioncontrol.history.tasks.index",
        "schedule": 1.0,
        "options": {"expires": 1.0},
    },
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "missioncontrol.api.auth.AgentKeyAuthentication",
        "missioncontrol.api.auth.PersonalTokenAuthentication",
        "missioncontrol.api.auth.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["missioncontrol.api.auth.IsPerson"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],  # each address names its own: `api/routing.py`
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "missioncontrol.api.problems.handle_error",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Mission Control",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "POSTPROCESSING_HOOKS": ["missioncontrol.api.schema.complete_schema"],
}

_SHIPPED = BASE_DIR / "missioncontrol" / "frontend_dist"  # what a wheel carries
_BUILT = BASE_DIR / "frontend" / "dist"
FRONTEND_DIST = env.directory("MISSIONCONTROL_DIST", _SHIPPED if _SHIPPED.is_dir() else _BUILT)
WHITENOISE_ROOT = FRONTEND_DIST if FRONTEND_DIST.is_dir() else None
WHITENOISE_INDEX_FILE = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/"
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}
STATIC_URL = "static/"

# Cookies ignore ports, and every other Django on this machine uses Django's own names.
# `missioncontrol.origin` says what browsers call them over HTTPS.
SESSION_COOKIE_NAME = "mc_session"
CSRF_COOKIE_NAME = "mc_csrf"
SESSION_ENGINE = "missioncontrol.accounts.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _SECURE
SESSION_COOKIE_AGE = 30 * 24 * 3600
# `check --deploy` asks for these; docs/security.md explains the choices.
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # `api.middleware.SecurityHeaders` sends frame-ancestors and X-Frame-Options
    "security.W004",  # HSTS is the proxy's task: a name in a local network may serve something else
    "security.W008",  # so is redirecting HTTP to HTTPS; without a proxy, loopback is plain
    # Secure if --public-url says https; `SecurityHeaders` adds it for requests over https.
    *(["security.W010", "security.W016"] if not _SECURE else []),
]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"links": {"()": "missioncontrol.accounts.tokens.HideLoginLinks"}},
    "handlers": {
        "none": {"class": "logging.NullHandler"},
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["links"]},
    },
    # Its errors go to the delivery, and contain addresses.
    "loggers": {"apprise": {"handlers": ["none"], "propagate": False}},
    "root": {"handlers": ["stderr"], "level": env.text("MISSIONCONTROL_LOG_LEVEL", "WARNING")},
}
