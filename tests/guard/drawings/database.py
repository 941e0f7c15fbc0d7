"""A small shop's database; the answers are a real engine's."""

from __future__ import annotations

import sqlite3

from tests.guard.drawings.drawing import Log, pool

SCHEMA = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, full_name TEXT, city TEXT, joined_on TEXT);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, title TEXT, category TEXT, unit_price REAL);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, placed_on TEXT, status TEXT);
CREATE TABLE order_lines (order_id INTEGER, product_id INTEGER, quantity INTEGER, discount REAL);
CREATE TABLE shipments (shipment_id INTEGER PRIMARY KEY, order_id INTEGER, carrier TEXT, shipped_on TEXT, weight_kg REAL);
CREATE TABLE returns (return_id INTEGER PRIMARY KEY, order_id INTEGER, reason TEXT, refunded REAL);
"""
TABLES = ("customers", "products", "orders", "order_lines", "shipments", "returns")
CARRIERS = ("Postal", "Swift", "NordFracht", "Pelican")
REASONS = ("damaged", "wrong size", "late", "changed mind", "not as shown")
CATEGORIES = ("kitchen", "garden", "office", "sports", "lighting", "storage", "toys")


class Shop:
    """The database behind a run."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.base = sqlite3.connect(":memory:")
        self.base.executescript(SCHEMA)
        self._fill()

    def close(self) -> None:
        """Give the memory back."""
        self.base.close()

    def ask(self, query: str, *, style: str = "tuples") -> str:
        """Run a query; errors come as text, as the agents' tools give them."""
        try:
            cursor = self.base.execute(query)
        except sqlite3.Error as error:
            return f"Error: (sqlite3.OperationalError) {error}\n[SQL: {query}]"
        rows = cursor.fetchall()
        if style == "tuples":
            return str(rows) if rows else ""
        names = [column[0] for column in cursor.description or ()]
        return _table(names, rows)

    def schema_of(self, table: str) -> str:
        """Give a table's definition and three of its rows."""
        line = next(line for line in SCHEMA.splitlines() if f"TABLE {table} " in line)
        rows = self.base.execute(f"SELECT * FROM {table} LIMIT 3").fetchall()
        shown = "\n".join("\t".join(map(str, row)) for row in rows)
        return f"{line}\n\n/*\n3 rows from {table} table:\n{shown}\n*/"

    def _fill(self) -> None:
        log, rng = self.log, self.log.rng
        people, towns = pool("prose")["people"], pool("prose")["towns"]
        goods = [row.split("|")[0] for row in pool("service")["goods"]]

        def day() -> str:
            return f"2025-{log.number(1, 12):02d}-{log.number(1, 28):02d}"

        put = self.base.executemany
        put(
            "INSERT INTO customers VALUES (?,?,?,?)",
            [(n, rng.choice(people), rng.choice(towns), day()) for n in range(1, 121)],
        )
        put(
            "INSERT INTO products VALUES (?,?,?,?)",
            [
                (n, rng.choice(goods), rng.choice(CATEGORIES), log.number(300, 90000) / 100)
                for n in range(1, 61)
            ],
        )
        states = ("shipped", "pending", "cancelled", "returned")
        put(
            "INSERT INTO orders VALUES (?,?,?,?)",
            [(n, log.number(1, 120), day(), rng.choice(states)) for n in range(1, 401)],
        )
        put(
            "INSERT INTO order_lines VALUES (?,?,?,?)",
            [
                (log.number(1, 400), log.number(1, 60), log.number(1, 9), rng.choice((0, 0.1, 0.2)))
                for _ in range(900)
            ],
        )
        put(
            "INSERT INTO shipments VALUES (?,?,?,?,?)",
            [
                (n, log.number(1, 400), rng.choice(CARRIERS), day(), log.number(1, 300) / 10)
                for n in range(1, 301)
            ],
        )
        put(
            "INSERT INTO returns VALUES (?,?,?,?)",
            [
                (n, log.number(1, 400), rng.choice(REASONS), log.number(500, 20000) / 100)
                for n in range(1, 61)
            ],
        )


def _table(names: list[str], rows: list[tuple[object, ...]]) -> str:
    cells = [[str(value) for value in row] for row in rows]
    widths = [max(len(row[n]) for row in [names, *cells]) for n in range(len(names))]
    lines = [
        " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True))
        for row in [names, *cells]
    ]
    rule = "-+-".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], f"({len(rows)} row{'s' * (len(rows) != 1)})"])
