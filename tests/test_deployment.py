"""Image, compose file, proxy and units name only what the project has; no container is needed."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import entry_points

import pytest
import yaml
from celery.bin.base import CLIContext
from celery.bin.celery import celery as celery_command
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from missioncontrol.api.views import instance
from missioncontrol.celery import app
from missioncontrol.settings import VERSION
from missioncontrol.up import options, processes
from tests.installations import ROOT

UNITS = ROOT / "deploy/systemd"
OPERATING = (ROOT / "docs/operating.md").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line[:1].isupper()]
CADDYFILE = (ROOT / "deploy/Caddyfile").read_text()
EXAMPLE = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
COMPOSE = (ROOT / "compose.yaml").read_text()
INTERPOLATED = re.compile(r"\$\{([A-Z_]+)[^}]*\}")
SERVICES = yaml.safe_load(INTERPOLATED.sub(lambda each: EXAMPLE[each[1]] or "any", COMPOSE))[
    "services"
]
OURS = {name: each for name, each in SERVICES.items() if "missioncontrol" in each["image"]}
PROGRAMS = {each.name for each in entry_points(group="console_scripts")}
OTHERS_VARIABLES = {"PATH", "PYTHONUNBUFFERED", "COMPOSE_PROFILES", "POSTGRES_PASSWORD"}


def steps(instruction):
    """Return what stands behind each such instruction of the Dockerfile."""
    return [rest for name, rest in STEPS if name == instruction]


def unit(path):
    """Read what each name of a unit is set to; where it stands several times, all of it."""
    read = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE):
        read[name] = f"{read[name]} {value}" if name in read else value
    return read


READ_UNITS = {path.name: unit(path) for path in sorted(UNITS.iterdir()) if path.is_file()}
STARTED = {
    # One asks again in a shell's loop.
    name: each["ExecStart"][each["ExecStart"].index("/opt/") :].partition(";")[0]
    for name, each in READ_UNITS.items()
    if "ExecStart" in each
}
COMMON = unit(UNITS / "missioncontrol-.service.d/common.conf")


def as_instance(name, command):
    """Return a unit's words as systemd hands them on for an instance."""
    instance = "8765" if "web@" in name else "0"
    told = command.replace("%%", "\0").replace("%i", instance)
    assert "%" not in told, "a specifier of systemd: %h is a home directory there"
    return shlex.split(told.replace("\0", "%"))


COMMANDS = {
    **{name: shlex.split(each["command"]) for name, each in OURS.items()},
    **{name: as_instance(name, command) for name, command in STARTED.items()},
    "Dockerfile": json.loads(steps("CMD")[0]),
}


def check_options(program, arguments):
    """Have the program itself read its command line; a wrong one ends the process."""
    if program == "daphne":
        reads = "import sys; from daphne.cli import CommandLineInterface as C"
        script = f"{reads}; C().parser.parse_args(sys.argv[1:])"
        subprocess.run([sys.executable, "-c", script, *arguments], check=True)
    elif program == "celery":
        assert arguments[:2] == ["-A", app.main + ".celery"]
        context = CLIContext(app=app, no_color=True, workdir=None)
        name, *rest = arguments[2:]
        celery_command.commands[name].make_context(name, rest, obj=context)
    elif arguments[0] == "up":
        options.parse(arguments[1:])
    else:
        name, *rest = arguments
        command = load_command_class(get_commands()[name], name)
        command.create_parser("missioncontrol", name).parse_args(rest)


@pytest.mark.parametrize("place", COMMANDS)
def test_a_process_starts_a_program_of_ours_by_options_it_has(place):
    program, *arguments = COMMANDS[place]

    name = program.removeprefix("/opt/missioncontrol/bin/")

    assert name in PROGRAMS
    check_options(name, arguments)


@pytest.fixture(scope="module")
def settings_in_production():
    """Run the settings in the example's environment; what they made, and what they asked for."""
    asked = set()

    class Recorded(dict):
        def get(self, name, default=None):
            asked.add(name)
            return super().get(name, default)

    with pytest.MonkeyPatch.context() as patch:
        plain = {name: value for name, value in os.environ.items() if name in {"HOME", "PATH"}}
        ours = OURS["web"]["environment"] | {"MISSIONCONTROL_ROLE": "web"}
        patch.setattr(os, "environ", Recorded({**plain, **EXAMPLE, **ours}))
        patch.setitem(os.environ, "MISSIONCONTROL_SECRET_KEY", "any")
        made = runpy.run_path(str(ROOT / "missioncontrol/settings.py"))
    return made, asked


def test_the_settings_read_every_variable(settings_in_production):
    _, asked = settings_in_production
    named = {*EXAMPLE, *re.findall(r"\b([A-Z_]{4,})=", " ".join(steps("ENV")))}
    named |= {name for each in OURS.values() for name in each["environment"]}
    named |= set(re.findall(r"([A-Z_]+)=", COMMON["Environment"]))
    named |= set(re.findall(r"\{\$([A-Z_]+)\}", CADDYFILE))

    assert named - OTHERS_VARIABLES - asked == set()


def test_every_variable_of_the_compose_file_is_in_the_example():
    assert set(INTERPOLATED.findall(COMPOSE)) <= set(EXAMPLE)
    assert {EXAMPLE["COMPOSE_PROFILES"]} == set(SERVICES["judge"]["profiles"])


def test_the_compose_file_does_not_override_variables_of_the_example():
    said_here = {"DATABASE_URL", "REDIS_URL", "MISSIONCONTROL_PREFIX"}
    text = yaml.safe_load(COMPOSE)["services"]["web"]["environment"]

    assert {name for name, value in text.items() if f"${{{name}" not in value} == said_here
    assert all(name in (ROOT / ".env.example").read_text() for name in said_here)


def test_each_queue_is_served_and_each_detect_queue_by_one_process(settings_in_production):
    made, _ = settings_in_production
    served = [
        word.removeprefix("--queues=")
        for name in OURS
        for word in COMMANDS[name]
        if word.startswith("--queues=")
    ]

    assert sorted(served) == sorted(made["CELERY_TASK_QUEUES"])
    for word in (" ".join(COMMANDS[name]) for name in STARTED if "celery" in STARTED[name]):
        assert "worker" not in word or re.search(r"--queues=(\S+)", word)[1] in served


def test_people_behind_the_proxy_are_told_apart(settings_in_production):
    made, _ = settings_in_production

    assert made["TRUSTED_PROXIES"]
    assert made["CSRF_TRUSTED_ORIGINS"] == ["https://mc.example.org"]


def test_all_files_use_the_same_port():
    port = str(options.PORT)
    (exposed,), (health,) = steps("EXPOSE"), steps("HEALTHCHECK")

    assert exposed == port
    assert f"'127.0.0.1', {port}" in health
    assert COMMANDS["web"][COMMANDS["web"].index("-p") + 1] == port
    assert f"dynamic a web {port}" in CADDYFILE
    assert f"missioncontrol-web@{port}.service" in READ_UNITS["missioncontrol.target"]["Wants"]


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_health_check_calls_our_own_address_and_reports_the_answer(status, code):
    command = json.loads(steps("HEALTHCHECK")[0].partition("CMD ")[2])
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        server.status, server.asked = status, []
        threading.Thread(target=server.handle_request).start()
        script = command[2].replace(str(options.PORT), str(server.server_port))
        done = subprocess.run([sys.executable, command[1], script], check=False)

    assert done.returncode == code
    assert resolve(server.asked[0]).func == instance.healthz


def test_limits_equal_those_of_up():
    web = READ_UNITS["missioncontrol-web@.service"]

    assert SERVICES["web"]["ulimits"]["nofile"] == processes.MAX_OPEN_FILES
    assert web["LimitNOFILE"] == str(processes.MAX_OPEN_FILES)
    for name in ("web", "missioncontrol-web@.service"):
        assert str(processes.MAX_MESSAGE_BYTES) in COMMANDS[name]
    for name in ("judge", "missioncontrol-judge@.service"):
        assert COMMANDS[name][COMMANDS[name].index("-c") + 1] == str(processes.JUDGE_THREADS)


def test_the_image_copies_files_that_exist_and_are_not_ignored():
    let_through = (ROOT / ".dockerignore").read_text().split("\n!")[1:]
    allowed = {line.splitlines()[0] for line in let_through}
    copied = [word for rest in steps("COPY") if "--from" not in rest for word in rest.split()[:-1]]

    assert all((ROOT / path).exists() for path in [*copied, *allowed])
    assert {path.partition("/")[0] for path in copied} - {"."} <= allowed
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()


def test_built_files_are_not_sent_from_the_checkout():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()

    assert {"frontend/dist*", "frontend/node_modules", "missioncontrol/frontend_dist"} < set(
        ignored
    )


def test_the_image_runs_as_the_only_owner_of_the_data(settings_in_production):
    (data,) = steps("VOLUME")

    assert steps("USER") == ["missioncontrol"]
    assert f"install -d -o missioncontrol -g missioncontrol -m 700 {data}" in DOCKERFILE
    assert f"MISSIONCONTROL_DATA={data}" in steps("ENV")[-1]
    assert all(f"data:{data}" in each["volumes"] for each in OURS.values())


def test_backups_are_made_by_a_pg_dump_as_new_as_the_server():
    server = SERVICES["postgres"]["image"].removeprefix("postgres:")

    assert f"postgresql-client-{server}" in DOCKERFILE


def test_all_processes_use_one_image_of_this_release():
    assert {each["image"] for each in OURS.values()} == {f"missioncontrol:{VERSION}"}
    assert [name for name, each in OURS.items() if "build" in each] == ["prepare"]
    assert f"missioncontrol:{VERSION}" in OPERATING


def test_nothing_serves_before_secrets_and_tables_exist():
    waits = {"condition": "service_completed_successfully"}

    assert all(
        each["depends_on"]["prepare"] == waits for name, each in OURS.items() if name != "prepare"
    )
    for name in STARTED.keys() - {"missioncontrol-prepare.service", "missioncontrol-up.service"}:
        assert READ_UNITS[name]["Requires"] == "missioncontrol-prepare.service"
        assert READ_UNITS[name]["After"] == "missioncontrol-prepare.service"


def test_units_name_existing_units():
    text = " ".join(path.read_text() for path in UNITS.rglob("*") if path.is_file())

    for name in re.findall(r"\bmissioncontrol[\w@-]*\.(?:service|target)", text):
        assert re.sub(r"@\w+", "@", name) in READ_UNITS


@pytest.mark.parametrize("name", [*OURS, *SERVICES, *STARTED])
def test_the_page_for_operators_knows_each_service_and_unit(name):
    shown = re.sub(r"@?\.service$", "", name)

    assert re.search(rf"[` ]{shown}[`@]", OPERATING)


def test_commands_on_the_page_name_services_of_the_compose_file():
    typed = re.findall(r"docker compose (?:exec|run --rm(?: -T)?|cp) ([\w-]+)", OPERATING)

    assert typed
    assert set(typed) <= set(SERVICES)
    assert all(name in SERVICES for name in re.findall(r"--scale ([\w-]+)=", OPERATING))
    assert COMMON["EnvironmentFile"] in OPERATING
    assert COMMON["Environment"].split()[0] in OPERATING


@pytest.mark.slow
def test_every_requirement_of_the_image_has_its_hash():
    (python,) = {rest.split()[0] for rest in steps("FROM") if rest.startswith("python")}
    version = python.partition(":")[2].partition("-")[0]
    target = ["--python-version", version, "--python-platform", "linux", "--target", "/nowhere"]

    done = subprocess.run(
        [
            "uv",
            "pip",
            "install",
            "--dry-run",
            "--require-hashes",
            *target,
            "-r",
            "requirements.txt",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
