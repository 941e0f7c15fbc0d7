"""A script in every field that somebody fills in: each screen shows it as text, and makes no
element of it.
"""

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.e2e.screens import screens, stands
from tests.e2e.stuck import answer_all
from tests.installations import wait_for

MARKUP = (
    '"><img src=x onerror="window.owned=1"><svg onload="window.owned=1"><script>window.owned=1'
    "</script><iframe srcdoc='x'></iframe><a href='javascript:window.owned=1'>"
)
"""Closes an attribute, then tries every way in."""
MADE = 'img[src="x"], svg[onload], [onerror], iframe, a[href^="javascript:"], main script'
"""What a page has only if it took the text for markup."""
WATCH = f"""window.seen = [];
new MutationObserver(() => {{
  for (const one of document.querySelectorAll(`{MADE}`)) window.seen.push(one.outerHTML);
}}).observe(document, {{ subtree: true, childList: true, attributes: true }});"""


def hostile(field, most=100):
    """Name the field, so that a fault says where it came from."""
    return f"{field}{MARKUP}"[:most]


@pytest.fixture(scope="module")
def filled(installation):
    """A run, its card and everything around them, each field of it hostile."""
    agent, person = an_agent_of(installation), the_person_of(installation)
    answer_all(person)
    run = agent.open_run(
        name=hostile("name", 200),
        agent=hostile("agent"),
        goal=hostile("goal", 900),
        task_type=hostile("task"),
        workspace=[hostile("file", 200)],
        metadata={hostile("meta"): hostile("meta")},
    )
    fields = {
        "agent": hostile("speaker"),
        "tool": hostile("tool"),
        "model": hostile("model"),
        "provider": hostile("provider"),
        "content": hostile("content", 900),
        "args": {hostile("arg"): hostile("value", 900)},
        "files": [hostile("path")],
    }
    agent.post_turns(run, {**a_turn(), "role": "assistant", **fields, "result": hostile("result")})
    call = {"tool": hostile("tool"), "args": {hostile("arg"): hostile("value", 900)}}
    for _ in range(2):
        agent.post_turns(run, a_turn(**call, error=hostile("error", 900)))
    agent.post_turns(run, a_turn(**call, phase="proposed"))
    card = wait_for(lambda: person.card_of(run))
    around(person, installation.project)
    yield screens(run=run, decision=card["id"])
    answer_all(person)


def around(person, project):
    """Fill what people name: keys, tokens, channels, views, patterns, notes."""
    fields, pattern = {"project": project}, f"Bash {hostile('pattern')} {uuid4().hex}"
    asked = {
        "keys/": {**fields, "name": hostile("key")},
        "tokens/": {"name": hostile("token")},
        "allowlist/": {**fields, "pattern": pattern, "match": "glob"},
        "views/": {**fields, "name": hostile("view", 60), "q": "status:running"},
        f"projects/{project}/invitations/": {"role": "viewer", "note": hostile("note")},
        "channels/": {
            **fields,
            "kind": "webhook",
            "name": hostile("channel", 60),
            "address": "https://hooks.invalid/told",
        },
    }
    for path, body in asked.items():
        made = person.ask("POST", f"/api/v1/{path}", body)
        assert made.status == 201, (path, made.json)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_markup_in_any_field_stays_text_on_every_screen(filled, open_page, installation, phone):
    page = open_page("/login/", phone=phone)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.add_init_script(WATCH)
    shown = {}
    for name, path in filled.items():
        page.goto(installation.url + path)
        stands(page, name)
        shown[name] = page.locator("body").inner_text().count("onerror=")
        made = page.evaluate("window.seen")
        assert (name, made, page.evaluate("window.owned ?? null")) == (name, [], None)

    with_text = {name for name, times in shown.items() if times}
    assert {"now", "decision", "run", "history", "allowlist", "settings keys"} <= with_text


def test_markup_that_became_an_element_would_be_noticed(open_page):
    page = open_page("/")
    page.evaluate(WATCH)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x>')")

    wait_for(lambda: page.evaluate("window.seen.length > 0"))
    expect(page.locator(MADE).first).to_be_attached()
