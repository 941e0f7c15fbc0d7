from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard.bench.forms import FORMS
from guard.bench.labels import Labelled, Stretch, read_corpus
from guard.bench.scores import Outcome, Trial, macro_average, quantile, score, score_by
from guard.bench.trials import read_cases, rule_on
from guard.cli import main
from guard.errors import UnreadableRecording
from guard.policy import Policy

MISSING = {"role": "assistant", "tool": "Read", "args": {"path": "a.py"}, "error": "no such file"}


def a_read(n: int) -> dict[str, Any]:
    return {
        "role": "assistant",
        "tool": "Read",
        "args": {"path": f"part_{n}.py"},
        "result": f"def handler_{n}(): return {'abcdefghij'[n % 10] * 9}",
    }


def a_label(start: int | None, **fields: Any) -> dict[str, Any]:
    kind = None if start is None else "exact repeat"
    return {"looping": start is not None, "loop_start": start, "kind_group": kind, **fields}


def write_run(folder: Path, run: str, label: object, turns: list[dict[str, Any]], **header: Any):
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"run": run, "label": label, **header}, *turns]
    (folder / f"{run}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows[0]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sources: one with a loop found, one with a loop missed and a healthy run."""
    loop = [*(a_read(n) for n in range(4)), *[MISSING] * 5]
    runs = tmp_path / "runs"
    headers = [
        write_run(runs, "stuck", a_label(4, rationale="reads a.py\x1b[2J"), loop, source="one"),
        write_run(runs, "slow", a_label(1), [a_read(n) for n in range(12)], source="two"),
        write_run(runs, "fine", a_label(None), [a_read(n) for n in range(30)], source="two"),
        write_run(runs, "open", {"looping": None}, loop, source="two"),
    ]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(row) + "\n" for row in headers))
    return tmp_path


def a_trial(start: int | None, alarm: int | None, *, turns: int = 20, source: str = "s") -> Trial:
    labelled = Labelled(
        run="r",
        source=source,
        path=Path("r.jsonl"),
        loop_start=start,
        kind="healthy" if start is None else "loop",
        rationale="",
    )
    return Trial(
        labelled=labelled, turns=turns, alarms=() if alarm is None else (alarm,), us=(10.0,) * turns
    )


def bench(*argv: object) -> int:
    return main(["bench", *(str(word) for word in argv)])


def as_json(capsys, *argv: object) -> dict[str, Any]:
    assert bench(*argv, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# --- what an alarm is worth --------------------------------------------------


@pytest.mark.parametrize(
    ("start", "alarm", "outcome"),
    [
        (10, 10, Outcome.FOUND),
        (10, 8, Outcome.FOUND),
        (10, 7, Outcome.EARLY),
        (10, None, Outcome.MISSED),
        (None, 3, Outcome.FALSE),
        (None, None, Outcome.QUIET),
    ],
)
def test_an_alarm_is_held_against_the_label(start, alarm, outcome):
    assert a_trial(start, alarm).outcome() is outcome


def test_without_slack_a_turn_before_the_start_is_early():
    assert a_trial(10, 9).outcome(slack=0) is Outcome.EARLY


def test_false_alarms_count_over_healthy_turns_and_healthy_beginnings():
    figures = score([a_trial(10, 5), a_trial(None, 7, turns=30), a_trial(10, 12)])

    assert figures.healthy_turns == 50
    assert figures.fa_per_1000 == 40


def test_every_false_alarm_of_a_run_counts_and_a_find_beside_it():
    labelled = Labelled(
        run="r",
        source="s",
        path=Path("r"),
        loop_start=10,
        kind="loop",
        rationale="",
        stretches=(Stretch(start=10, evident=14, end=20),),
        weak=frozenset({5}),
    )
    trial = Trial(labelled=labelled, turns=40, alarms=(2, 5, 15, 30, 39))

    assert trial.outcome() is Outcome.FOUND
    assert (trial.found_at(), trial.delay()) == (15, 1)
    assert trial.false_alarms() == [2, 30, 39]
    assert (score([trial]).false_alarms, score([trial]).on_last_turn) == (3, 1)
    assert labelled.healthy_turns(trial.turns) == 29


def test_few_runs_make_a_wide_interval():
    low, high = score([a_trial(5, 6), a_trial(5, None)]).found_interval

    assert low < 0.1
    assert high > 0.9


def test_the_same_runs_are_told_in_other_forms(corpus, capsys):
    forms = as_json(capsys, corpus, "--forms")["by_form"]

    assert set(forms) == set(FORMS)
    assert forms["as it is"]["found"] == forms["results as user turns"]["found"] == 1


def test_each_rule_is_switched_off_in_turn(corpus, capsys):
    found = as_json(capsys, corpus, "--ablate")

    assert set(found["ablation"]) == {f"without {rule}" for rule in Policy().detectors}
    assert found["ablation"]["without budget"]["lost"] == []
    assert "broker" not in found["policies"]


def test_as_text_it_tells_what_is_lost_without_each(corpus, capsys):
    assert bench(corpus, "--ablate") == 0
    assert "without talk it loses 0 runs" in capsys.readouterr().out


def test_delays_are_those_of_the_loops_found():
    figures = score([a_trial(5, 5 + late) for late in range(10)] + [a_trial(9, 1)])

    assert (figures.delay_median, figures.delay_p90) == (4.5, 8)


def test_nothing_found_has_no_delay():
    figures = score([a_trial(5, None)])

    assert (figures.delay_median, figures.delay_p90, figures.found_share) == (None, None, 0.0)


def test_the_macro_average_counts_every_source_the_same():
    many = [a_trial(5, 6, source="many") for _ in range(9)]
    by_source = score_by([*many, a_trial(5, None, source="few")], lambda labelled: labelled.source)

    assert macro_average(by_source.values()).found_share == 0.5


def test_a_quantile_of_nothing_is_absent():
    assert quantile([], 0.5) is None


# --- reading labelled runs ---------------------------------------------------


def test_a_folder_of_labelled_files_reads_like_one_with_an_index(corpus):
    indexed, loose = read_corpus(corpus), read_corpus(corpus / "runs")

    assert sorted(indexed.runs, key=lambda run: run.run) == sorted(
        loose.runs, key=lambda run: run.run
    )
    assert indexed.sources == ("one", "two")
    assert indexed.undecided == 1


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_labelled_runs_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    write_run(tmp_path / "empty", "unlabelled", None, [MISSING])

    with pytest.raises(UnreadableRecording, match="no labelled run"):
        read_corpus(tmp_path / name)


def test_an_index_cannot_reach_out_of_its_folder(tmp_path):
    row = {"run": "../../etc/passwd", "label": a_label(3)}
    (tmp_path / "index.jsonl").write_bytes(json.dumps(row).encode() + b"\nnot json \xff\n")

    assert read_corpus(tmp_path).runs[0].path == tmp_path / "runs" / "passwd.jsonl"


# --- the command -------------------------------------------------------------


def test_it_measures_every_policy_and_the_turn_counts_in_one_run(corpus, capsys):
    found = as_json(capsys, corpus)

    own = found["policies"]["default"]
    assert (own["stuck"], own["found"], own["missed"], own["healthy"], own["false"]) == (
        2,
        1,
        1,
        1,
        0,
    )
    assert own["us_p99"] >= own["us_median"] > 0
    assert found["policies"]["turn 10"]["false"] == 1
    assert found["undecided"] == 1
    assert found["by_source"]["one"]["found_share"] == 1.0
    assert found["by_kind"]["healthy"]["found_share"] is None
    assert found["macro_average"] == {"found_share": 0.5, "false_alarms_per_1000": 0.0}


def test_asked_for_it_lists_what_went_wrong(corpus, capsys):
    found = as_json(capsys, corpus, "--runs")

    assert [(row["run"], row["outcome"]) for row in found["wrong"]] == [("slow", "missed")]


def test_slack_moves_the_line_between_found_and_early(corpus, capsys):
    late = write_run(corpus / "runs", "stuck", a_label(8), [MISSING] * 9, source="one")
    (corpus / "index.jsonl").write_text(json.dumps(late) + "\n")

    assert as_json(capsys, corpus)["policies"]["default"]["early"] == 1
    assert as_json(capsys, corpus, "--slack", 6)["policies"]["default"]["found"] == 1


def test_as_text_it_never_shows_found_without_false_alarms(corpus, capsys):
    assert bench(corpus, "--runs") == 0

    shown = capsys.readouterr().out
    heads = [line for line in shown.splitlines() if " found " in f"{line} " and "stuck" in line]
    assert heads
    assert all("FA/1k" in line and "delay" in line for line in heads if "us/turn" in line)
    assert "missed slow" in shown


def test_hostile_labels_do_not_reach_the_terminal(corpus, capsys):
    write_run(corpus / "runs", "stuck", a_label(4, rationale="\x1b[2J"), [a_read(1)], source="\x07")

    assert bench(corpus / "runs", "--runs") == 0
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07"}


@pytest.mark.parametrize("argv", [[], ["nowhere"], ["--cases", "nowhere"]])
def test_nothing_to_measure_is_an_error_with_a_sentence(argv, capsys):
    assert bench(*argv) == 2
    assert capsys.readouterr().err.startswith("guard bench: ")


def test_a_policy_of_ones_own_stands_beside_the_presets(corpus, tmp_path, capsys):
    own = tmp_path / "own.toml"
    own.write_text("detectors = []\n")

    policies = as_json(capsys, corpus, "--policy", own)["policies"]

    assert (policies[str(own)]["found"], policies["default"]["found"]) == (0, 1)


def test_an_unknown_preset_is_answered_with_the_known_ones(corpus, capsys):
    assert bench(corpus, "--preset", "brokre") == 2
    assert "default" in capsys.readouterr().err


# --- other projects' cases ---------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    looping = {"verdict": "stuck", "at_turn": 2, "kind": "hard"}
    quiet = {"verdict": "not_stuck", "at_turn": None, "kind": None}
    sorts = {"core": (looping, 5), "threshold": (quiet, 5), "suite_specific": (looping, 1)}
    cases = [
        {"id": f"a::{sort}", "portability": sort, "turns": [MISSING] * turns, "expected": expected}
        for sort, (expected, turns) in sorts.items()
    ]
    (tmp_path / "a.json").write_text(json.dumps({"suite": "a", "note": "", "cases": cases}))
    return tmp_path


def test_agreement_is_counted_by_how_far_a_case_carries(suite, capsys):
    found = as_json(capsys, "--cases", suite)

    assert found["cases"]["core"] == {"stuck": 1, "stuck_agree": 1, "quiet": 0, "quiet_agree": 0}
    assert found["disagreements"] == [
        "a::threshold: expected quiet, alarm at 2",
        "a::suite_specific: expected stuck at 2, quiet",
    ]


def test_as_text_disagreements_are_listed(suite, capsys):
    assert bench("--cases", suite) == 0
    assert "a::threshold: expected quiet, alarm at 2" in capsys.readouterr().out


def test_a_verdict_two_turns_late_still_agrees(suite):
    core, *_ = read_cases(suite)

    assert rule_on(core).agrees


@pytest.mark.parametrize("text", ["[]", "{", '{"cases": [{"id": 1}]}', '{"cases": []}'])
def test_a_file_that_is_no_suite_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(UnreadableRecording):
        read_cases(tmp_path)
