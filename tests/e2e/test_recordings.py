"""A recorded run is imported in a browser and looked at like a live one."""

import json
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.e2e import axe
from tests.e2e.screens import FITS

DROP = """(files) => {
  const held = new DataTransfer();
  for (const [name, text] of files) held.items.add(new File([text], name));
  for (const type of ["dragover", "drop"])
    window.dispatchEvent(new DragEvent(type, {
      dataTransfer: held, bubbles: true, cancelable: true,
    }));
}"""


@pytest.fixture
def recording():
    """A session that failed alike four times, as nobody has imported it before."""
    name = f"night-{uuid4().hex[:8]}"
    call = {"role": "assistant", "tool": "Bash", "args": {"command": f"pytest -q {name}"}}
    turns = [
        {
            **call,
            "agent": "coder",
            "error": "ModuleNotFoundError: no module 'app.tokens'",
            "cost_usd": "0.25",
            "ts": f"2026-10-02T2{n}:15:00Z",
        }
        for n in range(4)
    ]
    lines = [{"run": name, "goal": "Mend the tokens"}, *turns]
    return name, "\n".join(json.dumps(one) for one in lines)


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_file_is_chosen_and_its_run_says_where_it_would_have_asked(open_page, recording, phone):
    name, text = recording
    size = "phone" if phone else "desktop"
    page = open_page("/history", phone=phone)
    page.add_init_script(path=axe.SCRIPT)
    page.reload()

    page.get_by_role("button", name="Import a recording").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Choose files")).to_be_focused()
    assert axe.in_both_themes(page, "import a recording", size) == []
    file = {"name": f"{name}.jsonl", "mimeType": "text/plain", "buffer": text.encode()}
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog.get_by_role("status")).to_have_text(
        "Imported: 4 turns. 1 card would have opened."
    )
    assert page.evaluate(FITS)
    dialog.get_by_role("link", name="Open the run").click()

    band = page.get_by_role("region", name="Imported recording")
    expect(band).to_contain_text(f"{name}.jsonl")
    expect(band).to_contain_text("1 card would have opened")
    expect(band.get_by_role("link", name="turn 3")).to_be_visible()
    expect(page.get_by_role("button", name="Terminate")).to_have_count(0)
    assert axe.in_both_themes(page, "imported run", size) == []
    assert page.evaluate(FITS)

    page.goto(page.url.split("/runs/")[0] + "/history?q=is:imported")
    expect(page.get_by_role("link", name=name)).to_contain_text(name)
    expect(page.get_by_text("Imported", exact=True).last).to_be_visible()
    assert page.evaluate(FITS)


@pytest.mark.screens
def test_a_file_is_dropped_twice_and_the_second_time_it_is_known(open_page, recording):
    name, text = recording
    page = open_page("/history")
    status = page.get_by_role("dialog").get_by_role("status")

    page.get_by_role("button", name="Import a recording").wait_for()  # it hears drops now
    page.evaluate(DROP, [[f"{name}.jsonl", text]])
    expect(status).to_contain_text("Imported: 4 turns.")
    page.keyboard.press("Escape")
    # Gone, not only hidden: it is hidden some milliseconds before, and takes no drop till then.
    expect(page.locator("dialog")).to_have_count(0)
    page.evaluate(DROP, [[f"{name}.jsonl", text]])

    expect(status).to_contain_text("This file was imported before.")


@pytest.mark.screens
def test_entries_that_could_not_be_read_are_named_with_why(open_page, recording):
    name, text = recording
    page = open_page("/history?import")
    dialog = page.get_by_role("dialog", name="Import a recording")

    broken = f"{text}\nTraceback (most recent call last):\n[1, 2]"
    file = {"name": f"{name}.jsonl", "mimeType": "text/plain", "buffer": broken.encode()}
    dialog.locator("input[type=file]").set_input_files(file)

    expect(dialog.get_by_role("status")).to_contain_text(
        "would have opened. 2 entries could not be read:"
        " entry 6, not JSON; entry 7, not a JSON object."
    )


@pytest.mark.screens
def test_of_several_files_each_is_told_what_came_of_it(open_page, recording):
    name, text = recording
    page = open_page("/history")

    page.get_by_role("button", name="Import a recording").wait_for()  # it hears drops now
    too_large = "x" * (8 * 1024 * 1024 + 1)
    page.evaluate(
        DROP,
        [["notes.txt", "dear diary"], [name, text], ["again", text], ["huge.jsonl", too_large]],
    )

    dialog = page.get_by_role("dialog", name="Import a recording")
    expect(dialog.get_by_role("alert")).to_contain_text(
        ["notes.txt: expected", "huge.jsonl: The file is larger than this server takes."]
    )
    expect(dialog.get_by_role("status").get_by_role("paragraph")).to_contain_text(
        [f"{name}: Imported: 4 turns.", "again: This file was imported before."]
    )
    assert page.evaluate(FITS)
    dialog.get_by_role("link", name=name).click()
    expect(page.get_by_role("region", name="Imported recording")).to_contain_text(name)


@pytest.mark.screens
def test_from_the_palette_with_the_keyboard_and_what_is_no_recording_is_refused(open_page):
    page = open_page("/")
    expect(page.get_by_role("link", name="History").first).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search runs, screens and actions")).to_be_focused()
    page.keyboard.type("import a rec")
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_contain_text("Import a recording")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Import a recording")

    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"dear diary"}
    dialog.locator("input[type=file]").set_input_files(file)

    expect(dialog.get_by_role("alert")).to_contain_text("got 'dear diary' in line 1")
