"""What Prometheus scrapes, and who may scrape it."""

import json
import re
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from missioncontrol.clock import now
from missioncontrol.runs.lifecycle import Status
from missioncontrol.runs.models import RunMeters
from tests.build import a_run, a_stuck_run
from tests.installations import ROOT
from tests.missioncontrol.notify.build import a_channel

TOKEN = "only for tests"
pytestmark = pytest.mark.django_db


def scrape(client, token=TOKEN):
    return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def read(response):
    families = text_string_to_metric_families(response.content.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture(autouse=True)
def token(settings):
    settings.METRICS_TOKEN = TOKEN


def test_it_counts_runs_by_status(client, project):
    a_run(project)
    a_run(project)
    ended = a_run(project)
    type(ended).objects.filter(id=ended.id).update(status=Status.COMPLETED)

    found = read(scrape(client))

    assert found["missioncontrol_runs", "running"] == 2
    assert found["missioncontrol_runs", "completed"] == 1
    assert found["missioncontrol_runs", "lost"] == 0


def test_it_tells_how_far_detection_is_behind(client, project):
    run = a_run(project)
    RunMeters.objects.filter(pk=run.pk).update(last_obs=9, detected_obs=4, last_seq=6)

    found = read(scrape(client))

    assert found["missioncontrol_observations_waiting",] == 5
    assert found["missioncontrol_turns_total",] == 7


@pytest.mark.parametrize("sent", ["", "another token"])
def test_another_token_finds_nothing(client, sent):
    assert scrape(client, sent).status_code == 404


def test_metrics_do_not_exist_without_a_token(client, settings):
    settings.METRICS_TOKEN = ""

    assert scrape(client, "").status_code == 404


def test_it_tells_how_people_are_reached(client, project):
    channel = a_channel(project)
    a_channel(project, enabled=False)
    a_stuck_run(project)
    channel.deliveries.update(due_at=now() - timedelta(minutes=5))

    found = read(scrape(client))

    assert found["missioncontrol_deliveries", "waiting"] == 1
    assert found["missioncontrol_deliveries", "failed"] == 0
    assert found["missioncontrol_channels_disabled",] == 1
    assert found["missioncontrol_delivery_oldest_due_seconds",] >= 300


def test_the_documented_dashboard_shows_every_metric(client, project):
    there = {name for name, *_ in read(scrape(client)) if name.startswith("missioncontrol_")}

    asked = set()
    for panel in json.loads((ROOT / "docs/grafana.json").read_text())["panels"]:
        for target in panel["targets"]:
            asked.update(re.findall(r"missioncontrol_\w+", target["expr"]))
            for words in re.findall(r'status=~?"([\w|]+)"', target["expr"]):
                assert set(words.split("|")) <= {*Status}

    assert asked == there


def test_the_dashboard_speaks_as_the_screens_do():
    glossary = json.loads((ROOT / "frontend/src/messages/glossary.json").read_text())
    panels = json.loads((ROOT / "docs/grafana.json").read_text())["panels"]
    shown = " ".join(panel["title"] + " " + panel["description"] for panel in panels).lower()

    refused = {word for term in glossary["terms"] for word in term["notEn"]}

    assert [word for word in refused if re.search(rf"\b{re.escape(word)}\b", shown)] == []
