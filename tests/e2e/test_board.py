"""The board of running runs, as somebody points at it."""

import re

from playwright.sync_api import expect

from tests.contract.conversation import a_turn


def test_the_order_is_frozen_under_the_pointer_and_says_so(open_page, agent):
    agent.open_run(name="second")  # a lone run has a screen of its own
    agent.post_turns(agent.open_run(name="pointed at"), a_turn())
    page = open_page("/")
    expect(page.get_by_text("order fixed")).to_have_count(0)

    page.get_by_role("table", name="Running now").hover(position={"x": 20, "y": 20})
    expect(page.get_by_text("order fixed")).to_be_visible()

    page.mouse.move(1, 1)
    expect(page.get_by_text("order fixed")).to_have_count(0)


def test_the_runs_do_not_move_while_the_card_is_loading(open_page, agent, stuck):
    agent.post_turns(agent.open_run(name="beside it"), a_turn())
    run = stuck()
    page = open_page("/history")
    on_its_way = []

    def keep(route):
        on_its_way.append(route)

    page.route("**/assets/NeedsYou-*.js", keep)
    page.get_by_role("link", name=re.compile("^Now")).click()
    runs = page.get_by_role("region", name="Running")
    expect(runs).to_be_visible()
    before = runs.bounding_box()["y"]

    on_its_way.pop().continue_()

    expect(run.on(page)).to_be_visible()
    assert abs(runs.bounding_box()["y"] - before) < 100
