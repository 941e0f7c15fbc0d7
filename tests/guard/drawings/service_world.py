"""A shop and an airline with customers; an agent that serves them with tools."""

from __future__ import annotations

import json
from typing import Any

from tests.guard.drawings.drawing import Log, pool


class Desk:
    """One customer with a few orders and reservations."""

    def __init__(self, log: Log, *, airline: bool = False) -> None:
        self.log, self.airline = log, airline
        rng = log.rng
        self.first = rng.choice(pool("service")["first_names"])
        self.last = rng.choice(pool("service")["last_names"])
        self.user = f"{self.first}_{self.last}_{log.number(1000, 9999)}".lower()
        self.email = f"{self.first}.{self.last}{log.number(10, 99)}@example.com".lower()
        self.zip = str(log.number(10000, 99999))
        self.orders = [self._order() for _ in range(log.number(3, 5))]
        self.trips = [self._trip() for _ in range(3)]

    def names(self) -> dict[str, object]:
        """Give names for a text."""
        log = self.log
        order = log.rng.choice(self.orders)
        return {
            "thing": "reservation" if self.airline else "order",
            "user": self.user,
            "name": f"{self.first} {self.last}",
            "first": self.first,
            "zip": self.zip,
            "email": self.email,
            "good": log.rng.choice(order["items"])["name"],
            "order": order["order_id"],
            "pay": f"credit_card_{log.number(1000000, 9999999)}",
            "n": log.number(2, 40),
            "m": log.number(41, 400),
            "c": f"{log.number(0, 99):02d}",
        }

    def greet(self) -> None:
        """Let the customer begin, and be identified."""
        log = self.log
        log.user(log.deal("service.openings", **self.names()))
        log.say("I'd be glad to help. Could you give me your user id, or your name and zip code?")
        log.user(log.deal("service.identity", **self.names()))
        if self.airline:
            self.use("get_user_details", {"user_id": self.user}, self.profile())
        else:
            found = {"first_name": self.first, "last_name": self.last, "zip": self.zip}
            self.use("find_user_id_by_name_zip", found, self.user)
            self.use("get_user_details", {"user_id": self.user}, self.profile())

    def use(self, tool: str, args: dict[str, Any], answer: object, **rest: Any) -> None:
        """Call a tool of the desk; what is not text is told as JSON."""
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.log.call(tool, args, text, **rest)

    def exchange(self) -> None:
        """Let both sides speak once."""
        self.log.user(self.log.deal("service.more", **self.names()))
        self.log.say(self.log.deal("service.answers", **self.names()))

    def look_up(self) -> None:
        """Look at an order, a trip or a product."""
        if self.airline:
            trip = self.log.rng.choice(self.trips)
            self.use("get_reservation_details", {"reservation_id": trip["reservation_id"]}, trip)
        else:
            order = self.log.rng.choice(self.orders)
            self.use("get_order_details", {"order_id": order["order_id"]}, order)

    def flights(self, day: int, start: str | None = None, end: str | None = None) -> None:
        """Search the flights of a day."""
        start, end = start or self.trips[0]["origin"], end or self.trips[0]["destination"]
        found = [self._flight(start, end, day) for _ in range(self.log.number(1, 3))]
        date = f"2026-05-{day:02d}"
        self.use("search_direct_flight", {"origin": start, "destination": end, "date": date}, found)

    def talk(self, rounds: int) -> None:
        """Serve the customer for so many rounds."""
        for n in range(rounds):
            if n % 3 == 0:
                self.log.user(self.log.deal("service.more", **self.names()))
                self.look_up()
                if self.airline:
                    self.flights(self.log.number(10, 28))
                self.log.say(self.log.deal("service.answers", **self.names()))
            else:
                self.exchange()

    def profile(self) -> dict[str, Any]:
        """Give the customer's profile."""
        return {
            "name": {"first_name": self.first, "last_name": self.last},
            "address": {"address1": f"{self.log.number(100, 999)} Cedar Street", "zip": self.zip},
            "email": self.email,
            "payment_methods": {
                f"gift_card_{self.log.number(10**6, 10**7)}": {"source": "gift_card"}
            },
            "orders": [order["order_id"] for order in self.orders],
            "reservations": [trip["reservation_id"] for trip in self.trips],
        }

    def _order(self) -> dict[str, Any]:
        log = self.log
        items = []
        for row in log.rng.sample(pool("service")["goods"], log.number(1, 4)):
            name, options = row.split("|")
            items.append(
                {
                    "name": name,
                    "product_id": str(log.number(10**9, 10**10)),
                    "item_id": str(log.number(10**9, 10**10)),
                    "price": log.number(2000, 60000) / 100,
                    "options": dict(pair.split(": ") for pair in options.split(", ")),
                }
            )
        return {
            "order_id": f"#W{log.number(10**6, 10**7)}",
            "user_id": self.user,
            "items": items,
            "status": log.rng.choice(("pending", "delivered", "processed")),
            "payment_history": [{"transaction_type": "payment", "amount": log.number(30, 900)}],
        }

    def _trip(self) -> dict[str, Any]:
        log = self.log
        start, end = log.rng.sample(pool("service")["airports"], 2)
        return {
            "reservation_id": "".join(
                log.rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(6)
            ),
            "user_id": self.user,
            "origin": start,
            "destination": end,
            "cabin": log.rng.choice(("economy", "basic_economy", "business")),
            "flights": [self._flight(start, end, log.number(10, 28))],
            "total_baggages": log.number(0, 3),
            "insurance": log.rng.choice(("yes", "no")),
        }

    def _flight(self, start: str, end: str, day: int) -> dict[str, Any]:
        log = self.log
        return {
            "flight_number": f"HAT{log.number(1, 299):03d}",
            "origin": start,
            "destination": end,
            "date": f"2026-05-{day:02d}",
            "scheduled_departure_time_est": f"{log.number(5, 22):02d}:00:00",
            "prices": {"basic_economy": log.number(50, 99), "economy": log.number(100, 199)},
        }
