"""Agents over databases, notebooks and documents, open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.database import CATEGORIES, TABLES, Shop
from tests.guard.drawings.drawing import Drawing, Log, fill
from tests.guard.drawings.prose import passage, sentence, words

KIND = "data"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"data/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def _asked(log: Log, queries: int, tool: str = "sql_db_query", style: str = "tuples") -> Shop:
    shop = Shop(log)
    log.user(log.deal("data.questions"))
    log.call("sql_db_list_tables", {"tool_input": ""}, ", ".join(TABLES))
    for table in log.rng.sample(TABLES, 4):
        log.call("sql_db_schema", {"table_names": table}, shop.schema_of(table))
    for _ in range(queries):
        query = log.deal("data.queries")
        log.call(
            tool, {"query": query}, shop.ask(query, style=style), thought=log.deal("data.thoughts")
        )
    return shop


def research(log: Log, rounds: int) -> None:
    """Search and read on, each time something new."""
    for _ in range(rounds):
        query = fill(log.deal("data.searches"), **words(log))
        hits = [
            {
                "title": sentence(log)[:70],
                "url": f"https://{log.hex(6)}.example/{n}",
                "snippet": sentence(log),
            }
            for n in range(log.number(3, 6))
        ]
        log.call("web_search", {"query": query, "max_results": 6}, json.dumps(hits, indent=1))
        if log.rng.random() < 0.7:
            page = "\n\n".join(passage(log, 6, 14))
            thought = fill(log.deal("data.notes"), **words(log))
            log.call("visit_page", {"url": hits[0]["url"]}, page, thought=thought)


# --- stuck ---------------------------------------------------------------------


def wrong_column(log: Log) -> str:
    shop = _asked(log, 10)
    log.stuck_from_here()
    for query in _WRONG:
        log.call(
            "sql_db_query", {"query": query}, shop.ask(query), thought="Let me rewrite the query."
        )
    return "Eight spellings of a query over one column that does not exist."


_WRONG = tuple(
    f"SELECT {what} FROM orders o {rest}"
    for what, rest in (
        ("SUM(o.total_amount)", ""),
        ("SUM(o.total_amount) AS total", "WHERE o.status = 'shipped'"),
        ("o.status, SUM(o.total_amount)", "GROUP BY o.status"),
        ("AVG(o.total_amount)", "JOIN customers c ON c.customer_id = o.customer_id"),
        ("ROUND(SUM(o.total_amount), 2)", "WHERE o.status != 'cancelled'"),
        ("o.customer_id, o.total_amount", "ORDER BY o.total_amount DESC LIMIT 10"),
        ("COALESCE(SUM(o.total_amount), 0)", "LIMIT 1"),
        ("MAX(o.total_amount)", "WHERE o.placed_on >= '2025-06-01'"),
    )
)


def empty_answers(log: Log) -> str:
    shop = _asked(log, 12, "run_query", "table")
    log.stuck_from_here()
    for where in (
        "city = 'Helsinki'",
        "city = 'helsinki'",
        "lower(city) = 'helsinki'",
        "city LIKE 'Helsinki%'",
        "city LIKE '%elsink%'",
        "trim(city) = 'Helsinki'",
        "city = 'HELSINKI'",
        "city IN ('Helsinki', 'Helsingfors')",
        "city GLOB '*Helsinki*'",
        "instr(city, 'Helsinki') > 0",
    ):
        query = f"SELECT customer_id, full_name FROM customers WHERE {where}"
        log.call("run_query", {"query": query, "limit": 100}, shop.ask(query, style="table"))
    return "Ten ways to ask for a town that no customer lives in."


def checker_cycle(log: Log) -> str:
    shop = _asked(log, 9)
    query = "SELECT carrier, AVG(delay_days) FROM shipments GROUP BY carrier ORDER BY 2"
    log.stuck_from_here()
    for _ in range(5):
        log.call("sql_db_query_checker", {"query": query}, query)
        log.call("sql_db_query", {"query": query}, shop.ask(query))
        log.call("sql_db_schema", {"table_names": "shipments"}, shop.schema_of("shipments"))
    return "Checker, query, schema in turn five times; the column is still missing."


def same_sum_again(log: Log) -> str:
    shop = _asked(log, 12)
    log.stuck_from_here()
    for query in _SAME_SUM:
        log.call(
            "sql_db_query", {"query": query}, shop.ask(query), thought=log.deal("verify.claims")
        )
    return "One count is verified in ten spellings, all giving the same number."


_SAME_SUM = (
    "SELECT COUNT(*) FROM orders WHERE status = 'returned'",
    "SELECT COUNT(order_id) FROM orders WHERE status = 'returned'",
    "SELECT SUM(CASE WHEN status = 'returned' THEN 1 ELSE 0 END) FROM orders",
    "SELECT SUM(status = 'returned') FROM orders",
    "SELECT COUNT(DISTINCT order_id) FROM orders WHERE status LIKE 'returned'",
    "SELECT n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) WHERE status = 'returned'",
    "WITH r AS (SELECT * FROM orders WHERE status = 'returned') SELECT COUNT(*) FROM r",
    "SELECT COUNT(*) FROM orders o JOIN customers c USING (customer_id) WHERE o.status = 'returned'",
    "SELECT COUNT(1) FROM orders WHERE lower(status) = 'returned'",
    "SELECT TOTAL(status = 'returned') FROM orders",
)


def pages_past_the_end(log: Log) -> str:
    shop = _asked(log, 4)
    for offset in range(0, 60, 15):
        query = (
            f"SELECT return_id, reason, refunded FROM returns ORDER BY 1 LIMIT 15 OFFSET {offset}"
        )
        log.call("sql_db_query", {"query": query}, shop.ask(query))
    log.stuck_from_here()
    for offset in range(60, 210, 15):
        query = (
            f"SELECT return_id, reason, refunded FROM returns ORDER BY 1 LIMIT 15 OFFSET {offset}"
        )
        log.call("sql_db_query", {"query": query}, shop.ask(query))
    return "It pages through a table and ten pages past its end."


def same_search(log: Log) -> str:
    log.user("Who paid for the second restoration? Cite the source.")
    research(log, 12)
    hits = [
        {
            "title": sentence(log)[:60],
            "url": f"https://{log.hex(6)}.example",
            "snippet": sentence(log),
        }
        for _ in range(5)
    ]
    drawn = words(log)
    log.stuck_from_here()
    for n in range(9):
        log.rng.shuffle(hits)
        query = _SAME_SEARCH[n % len(_SAME_SEARCH)].format(**drawn)
        thought = "I did not find the sponsor yet, let me search for it." if n % 2 else None
        log.call(
            "web_search",
            {"query": query, "max_results": 5},
            json.dumps(hits, indent=1),
            thought=thought,
        )
    return "One search in nine wordings brings the same five hits in another order."


_SAME_SEARCH = (
    "who paid for restoration of {noun} {town}",
    "{town} {noun} restoration funding",
    "{noun} {town} restoration sponsor",
    "sponsor of the {noun} restoration in {town}",
    "funding restoration {noun} of {town}",
    "{noun} restoration {town} paid by",
    "who financed {noun} {town} second restoration",
    "{town} {noun} donors restoration",
    "restoration of {noun} in {town} who paid",
)


def notebook(log: Log) -> str:
    _asked(log, 8, "execute_sql", "table")
    log.stuck_from_here()
    for n in range(7):
        cell = _CELLS[n % len(_CELLS)]
        count = 14 + n
        log.call(
            "execute_ipython_cell",
            {"code": cell},
            "---------------------------------------------------------------------------\n"
            "NameError                                 Traceback (most recent call last)\n"
            f"Cell In[{count}], line {log.number(1, 4)}\n----> 1 {cell.splitlines()[0]}\n\n"
            "NameError: name 'df_orders' is not defined\n"
            f"[Jupyter current working directory: /workspace]\n[execution_count: {count}]",
        )
    return (
        "Seven cells fail alike because the frame was never loaded; only the cell's number moves."
    )


_CELLS = (
    "df_orders.groupby('status').size()",
    "df_orders['month'] = df_orders.placed_on.str[:7]\ndf_orders.head()",
    "print(df_orders.describe())",
    "df_orders.merge(df_lines, on='order_id').head(3)",
    "df_orders.columns",
)


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("wrong-column", "same error, varying arguments", wrong_column),
    ("empty-answers", "stagnation", empty_answers),
    ("checker-cycle", "k-cycle", checker_cycle),
    ("same-sum-again", "same verification in new words", same_sum_again),
    ("pages-past-the-end", "paging past the end", pages_past_the_end),
    ("same-search", "stagnation", same_search),
    ("notebook", "same error, varying arguments", notebook),
]


# --- healthy -------------------------------------------------------------------


def analysis(log: Log, queries: int = 22, style: str = "tuples") -> str:
    _asked(log, queries, "sql_db_query", style)
    log.say("Returns cost most with Swift: see the table above.")
    return "One query after another, each a new view of the data."


def pages(log: Log) -> str:
    shop = _asked(log, 3)
    for offset in range(0, 400, 20):
        query = f"SELECT * FROM orders ORDER BY order_id LIMIT 20 OFFSET {offset}"
        log.call("sql_db_query", {"query": query}, shop.ask(query))
    return "Twenty pages of a table, each with other rows."


def per_category(log: Log) -> str:
    shop = _asked(log, 3, "run_query", "table")
    for category in CATEGORIES:
        query = (
            "SELECT COUNT(*) AS n, ROUND(SUM(unit_price * quantity), 2) AS revenue FROM order_lines "
            f"JOIN products USING (product_id) WHERE category = '{category}'"
        )
        log.call("run_query", {"query": query}, shop.ask(query, style="table"))
    for category in CATEGORIES:
        query = (
            f"SELECT COUNT(*) AS bad FROM products WHERE category = '{category}' AND unit_price < 0"
        )
        log.call("run_query", {"query": query}, shop.ask(query, style="table"))
    log.say("No category holds a negative price.")
    return (
        "The same two questions for each of seven categories; the second is answered 0 each time."
    )


def errors_corrected(log: Log) -> str:
    shop = _asked(log, 4)
    for query in (
        "SELECT o.date, SUM(l.price) FROM orders o JOIN lines l ON l.order_id = o.id GROUP BY o.date",
        "SELECT o.date, SUM(l.price) FROM orders o JOIN order_lines l ON l.order_id = o.id GROUP BY o.date",
        "SELECT o.placed_on, SUM(l.price) FROM orders o JOIN order_lines l ON l.order_id = o.id GROUP BY 1",
        "SELECT o.placed_on, SUM(l.price) FROM orders o JOIN order_lines l USING (order_id) GROUP BY 1",
        "SELECT o.placed_on, SUM(l.quantity * p.unit_price) FROM orders o JOIN order_lines l USING (order_id) JOIN products p USING (product_id) GROUP BY 1 LIMIT 12",
    ):
        log.call(
            "sql_db_query", {"query": query}, shop.ask(query), thought=log.deal("data.thoughts")
        )
    for _ in range(6):
        query = log.deal("data.queries")
        log.call("sql_db_query", {"query": query}, shop.ask(query))
    return "A query fails four times, each time at another name, then works."


def batches(log: Log) -> str:
    shop = _asked(log, 3, "execute_sql", "table")
    for low in range(0, 300, 25):
        query = f"UPDATE shipments SET carrier = upper(carrier) WHERE shipment_id BETWEEN {low} AND {low + 24}"
        shop.base.execute(query)
        log.call("execute_sql", {"sql": query}, "UPDATE 25")
    query = "SELECT DISTINCT carrier FROM shipments"
    log.call("execute_sql", {"sql": query}, shop.ask(query, style="table"))
    return "Twelve batches of an update, acknowledged alike."


def warehouse_job(log: Log) -> str:
    _asked(log, 5, "run_query", "table")
    job = f"job_{log.hex(8)}"
    log.call(
        "submit_query",
        {"sql": "CREATE TABLE daily AS SELECT ..."},
        json.dumps({"job_id": job, "state": "PENDING"}),
    )
    done = 0
    while done < 100:
        done = min(100, done + log.number(4, 14))
        state = {
            "job_id": job,
            "state": "DONE" if done == 100 else "RUNNING",
            "percent": done,
            "checked_at": log.tick(20, 40).isoformat(),
        }
        log.call("get_job", {"job_id": job}, json.dumps(state))
    log.call("fetch_results", {"job_id": job}, "rows: 365")
    return "A job is polled until its percentage reaches 100."


def long_research(log: Log, rounds: int = 30) -> str:
    log.user(fill("Write a short history of the {noun} of {town}, with sources.", **words(log)))
    research(log, rounds)
    log.say(" ".join(passage(log, 8, 12)))
    return "Many searches and pages, each with something new."


def tuning(log: Log) -> str:
    _asked(log, 4, "execute_sql", "table")
    cost = 48_000.0
    for column in (
        "orders(customer_id)",
        "order_lines(order_id)",
        "order_lines(product_id)",
        "shipments(order_id)",
        "returns(order_id)",
    ):
        plan = "EXPLAIN ANALYZE SELECT * FROM orders JOIN order_lines USING (order_id) JOIN products USING (product_id)"
        kind = log.rng.choice(("Hash Join", "Nested Loop", "Merge Join"))
        shown = f"{kind}  (cost=0.00..{cost:.2f} rows={log.number(800, 990)} width=64) (actual time=0.021..{cost / 900:.3f})\n  ->  Seq Scan on {column.split('(')[0]}\nPlanning Time: 0.{log.number(100, 999)} ms\nExecution Time: {cost / 880:.3f} ms"
        log.call("execute_sql", {"sql": plan}, shown)
        log.call("execute_sql", {"sql": f"CREATE INDEX ON {column}"}, "CREATE INDEX")
        cost *= 0.6
    return "The same EXPLAIN after each new index, with another plan."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("analysis-1", "varied queries", analysis),
    ("analysis-2", "varied queries", lambda log: analysis(log, 24, "table")),
    ("pages", "paging with new lines", pages),
    ("per-category", "one question for each", per_category),
    ("errors-corrected", "errors that move", errors_corrected),
    ("batches", "batch with identical acknowledgements", batches),
    ("warehouse-job", "poll that moves", warehouse_job),
    ("long-research-1", "long research", long_research),
    ("long-research-2", "long research", lambda log: long_research(log, 75)),
    ("tuning", "same question after a change", tuning),
]
