"""A new database's tables are made from the models; an older one's by its migrations."""

import json
import os
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from missioncontrol.up import database
from tests.installations import ROOT, a_database

MADE = """
import json, sys, django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

if sys.argv[1] == "by its migrations":
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
call_command("migrate", verbosity=0)

look, tables = connection.introspection, {}
with connection.cursor() as cursor:
    for table in look.table_names(cursor):
        columns = [
            [column.name, column.type_code, column.internal_size, column.null_ok, column.default]
            for column in look.get_table_description(cursor, table)
        ]
        named = look.get_constraints(cursor, table).items()
        # SQLite gives these no name, and Django one by their place.
        plain = ("__unnamed_constraint", "fk_")
        constraints = [[None if name.startswith(plain) else name, one] for name, one in named]
        tables[table] = {"columns": columns, "constraints": constraints}
    if connection.vendor == "postgresql":
        cursor.execute("SELECT relname, reloptions FROM pg_class WHERE reloptions IS NOT NULL")
        tables["options"] = cursor.fetchall()
        calls = "SELECT tgname, proname FROM pg_trigger JOIN pg_proc ON tgfoid = pg_proc.oid"
        cursor.execute(calls)
        tables["triggers"] = [row for row in cursor.fetchall() if not row[0].startswith("RI_")]
    else:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        tables["triggers"] = cursor.fetchall()
applied = MigrationExecutor(connection).loader.applied_migrations
print(json.dumps({"tables": tables, "applied": sorted(applied)}))
"""

OF_DJANGO = {"auth_group_permissions", "auth_user_groups", "auth_user_user_permissions"}
"""Their ids are wider where a migration made them: Django draws past models with the project's
kind of id. Nothing here fills them."""


def printed_by(script, data, *arguments):
    """Run a script in a process and on an empty database of its own; return what it prints."""
    with a_database() as address:
        environment = os.environ | {"MISSIONCONTROL_DATA": str(data)} | address
        if not address:
            environment.pop("DATABASE_URL", None)
        answer = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
        )
    return answer.stdout.strip()


def made(how, tmp_path):
    """Make a database; return its shape, whatever the order of things."""
    data = tmp_path / how.replace(" ", "-")
    data.mkdir()
    shape = json.loads(printed_by(MADE, data, how))
    return shape["applied"], {
        name: {kind: sorted(map(json.dumps, rows)) for kind, rows in parts.items()}
        if isinstance(parts, dict)
        else sorted(map(json.dumps, parts))
        for name, parts in shape["tables"].items()
        if name not in OF_DJANGO
    }


@pytest.mark.slow
def test_a_new_database_equals_one_made_by_all_migrations(tmp_path):
    assert made("at once", tmp_path) == made("by its migrations", tmp_path)


@pytest.mark.django_db
def test_the_migrations_of_a_new_database_count_as_applied():
    executor = MigrationExecutor(connection)

    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


@pytest.mark.django_db
def test_a_database_with_tables_is_not_created_again():
    assert not database.is_empty(connection)

    call_command("migrate", verbosity=0)


SPOKEN = """
import django
django.setup()
from django.core.management import call_command
for _ in range(2):
    print("once")
    call_command("migrate")
"""


@pytest.mark.slow
def test_migrating_an_empty_database_reports_that_it_was_created(tmp_path):
    first, second = printed_by(SPOKEN, tmp_path).decode().split("once")[1:]

    assert "Made the tables of a new database" in first
    assert "Made the tables" not in second


@pytest.mark.slow
def test_of_two_concurrent_migrations_the_second_finds_the_database_created(tmp_path):
    with a_database() as address:
        if not address:
            pytest.skip("a SQLite file has one server")
        migrating = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        environment = os.environ | {"MISSIONCONTROL_DATA": str(tmp_path)} | address
        both = [subprocess.Popen(migrating, cwd=ROOT, env=environment) for _ in range(2)]

        assert [one.wait() for one in both] == [0, 0]


CUT_OFF = """
import django
django.setup()
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from missioncontrol.up import database

database.create_tables(connection)
left = ContentType.objects.count()
call_command("migrate", verbosity=0)
print(0 < left == ContentType.objects.count())
"""


@pytest.mark.slow
def test_a_start_interrupted_after_creating_tables_leaves_nothing_out(tmp_path):
    assert printed_by(CUT_OFF, tmp_path) == b"True"


FAKED = """
import contextlib, django
django.setup()
from django.core.management import call_command
from django.db import DatabaseError, connection

# Django itself looks for its permissions' table in the end.
with contextlib.suppress(DatabaseError):
    call_command("migrate", fake=True, verbosity=0)
print(connection.introspection.table_names())
"""


@pytest.mark.slow
def test_faked_migrations_create_no_table(tmp_path):
    assert printed_by(FAKED, tmp_path) == b"['django_migrations']"
