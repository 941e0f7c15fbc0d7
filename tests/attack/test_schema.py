"""Every operation of the OpenAPI document, by every caller, with whatever its schema allows and
forbids: nothing breaks the server, and each answer is one that the document tells of.
"""

from __future__ import annotations

import json
import logging
from functools import cache

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema_rs import validator_for
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from missioncontrol.errors import Unavailable
from missioncontrol.up.management.commands.wire_schema import document
from tests.attack.callers import callers_of
from tests.examples import examples_for
from tests.installations import PATIENCE_S

logger = logging.getLogger(__name__)

OF_ITS_OWN = ("Authorization", "Cookie", "Prefer")
"""Headers that the caller decides here: who asks, and that nobody waits a minute."""


@cache
def wire():
    """Return the document; made when it is asked about, as each run collects this file."""
    return json.loads(document())


@pytest.fixture(scope="module")
def callers(installation):
    return callers_of(installation)


@pytest.fixture(scope="module")
def ask(installation, callers):
    """Send a case as somebody; returns the answer."""
    with requests.Session() as session:

        def asked(case, who):
            for name in OF_ITS_OWN:
                case.headers.pop(name, None)
            session.cookies.clear()
            return case.call(
                base_url=installation.url,
                headers=callers.headers[who],
                cookies={},
                session=session,
                timeout=PATIENCE_S,
            )

        yield asked


def about(case, ids):
    """Have a case speak of things that are there, where it names any."""
    for name in set(case.path_parameters or {}) & set(ids):
        case.path_parameters[name] = ids[name]
    for named in (case.query, case.body):
        if isinstance(named, dict) and "project" in named:
            named["project"] = ids["project_id"]
    if isinstance(case.body, dict) and "archived" in case.body:
        case.body["archived"] = False  # what comes after it is to find a project that takes writes


def fault_of(operation, answer):
    """Return what the document does not tell of an answer; None: it tells all."""
    documented = wire()["paths"][operation.path][operation.method.lower()]["responses"]
    status, kind = answer.status_code, "".join(answer.headers.get("content-type", [])[:1])
    if (
        status >= 500
        and str(status) not in documented
        and answer.json()["code"] != Unavailable.code
    ):
        return "the server broke"
    described = documented.get(str(status)) or (documented["default"] if status >= 400 else None)
    if described is None:
        return f"status {status} is not told of"
    content = described.get("content", {})
    if not content or not answer.content:
        return "its body is not told of" if answer.content else None
    if (named := kind.partition(";")[0]) not in content:
        return f"{named} is not told of"
    return misshape_of(answer, content[named]["schema"]) if named.endswith("json") else None


def misshape_of(answer, schema):
    validator = validator_for({**schema, "components": wire()["components"]})
    wrong = next(validator.iter_errors(answer.json()), None)
    return wrong and f"{wrong.instance_path}: {wrong.message[:200]}"


def attack(operation, callers, ask):
    """Send what the schema allows and what it forbids; return each answer's status and fault."""
    answers = []
    cases = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(
        max_examples=examples_for(6),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(*cases),
        who=st.sampled_from(sorted(callers.headers)),
        is_there=st.sampled_from([True, True, False]),
    )
    def send(case, who, is_there):
        if is_there:
            about(case, callers.ids)
        answer = ask(case, who)
        fault = fault_of(operation, answer)
        answers.append((answer.status_code, fault and (fault, who, case.as_curl_command())))

    send()
    return answers


def test_every_response_matches_the_schema(ask, callers):
    every = schemathesis.openapi.from_dict(wire()).get_all_operations()
    operations = [found.ok() for found in every if isinstance(found, Ok)]

    responses = {one.label: attack(one, callers, ask) for one in operations}

    faults = {
        label: [fault for _, fault in answers if fault] for label, answers in responses.items()
    }
    assert {label: found[0] for label, found in faults.items() if found} == {}
    answered = sum(map(len, responses.values()))
    logger.info(
        "%d operations, %d answers, %d callers", len(responses), answered, len(callers.headers)
    )
    assert len(responses) > 90
    statuses = {status for answers in responses.values() for status, _ in answers}
    assert {200, 400, 401, 403, 404} <= statuses
