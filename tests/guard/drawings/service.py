"""Customer service with tools and a customer who speaks, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log
from tests.guard.drawings.service_world import Desk

KIND = "service"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"service/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def _served(log: Log, rounds: int, *, airline: bool = False) -> Desk:
    desk = Desk(log, airline=airline)
    desk.greet()
    desk.talk(rounds)
    return desk


# --- stuck ---------------------------------------------------------------------


def user_not_found(log: Log) -> str:
    desk = _served(log, 6)
    log.user("And please check the account of my wife, Anna, same zip code.")
    log.stuck_from_here()
    for n in range(8):
        spelling = ("Anna", "anna", "Anna ", "ANNA")[n % 4]
        args = {"first_name": spelling, "last_name": desk.last, "zip": desk.zip}
        thought = log.deal("service.retry")
        desk.use("find_user_id_by_name_zip", args, "Error: user not found", thought=thought)
    return "The same person is looked up eight times, spelt this way and that, and never found."


def payment_refused(log: Log) -> str:
    desk = _served(log, 9)
    order = desk.orders[0]
    log.user("Yes, please return it to the card ending in 4411.")
    log.stuck_from_here()
    for n in range(7):
        args = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item in order["items"]][: 1 + n % 2],
            "payment_method_id": f"credit_card_{log.number(10**6, 10**7)}",
        }
        error = "Error: payment method not found"
        log.call(
            "return_delivered_order_items",
            args,
            error,
            thought=log.deal("service.retry") if n % 2 else None,
        )
    return "A return is tried seven times with made-up payment methods, always refused alike."


def promises(log: Log) -> str:
    _served(log, 7)
    log.user("Then please refund it.")
    log.stuck_from_here()
    for _ in range(9):
        log.say(log.deal("service.promises"))
    return "It says nine times in other words that it is working on the refund and calls nothing."


def two_lookups(log: Log) -> str:
    desk = _served(log, 8, airline=True)
    log.user("Which of my bags is missing?")
    trip, profile = desk.trips[0], desk.profile()
    desk.use("get_user_details", {"user_id": desk.user}, profile)
    log.stuck_from_here()
    for _ in range(7):
        desk.use("get_reservation_details", {"reservation_id": trip["reservation_id"]}, trip)
        desk.use("get_user_details", {"user_id": desk.user}, profile)
    return "Reservation, profile, reservation, profile: both known, nobody is answered."


def transfers(log: Log) -> str:
    _served(log, 5)
    log.user("I want to talk to a person.")
    log.stuck_from_here()
    for n in range(6):
        log.say(_TO_BILLING[n % 3], "triage")
        log.say(_TO_SHIPPING[n % 3], "billing")
        log.say(_TO_TRIAGE[n % 3], "shipping")
        if n % 2:
            log.call(
                "transfer_to_agent", {"agent": "billing"}, "Transferred to billing.", agent="triage"
            )
    return "Three desks hand the customer round and round."


_TO_BILLING = (
    "This is about a payment, I am handing you over to billing.",
    "Since it concerns a payment, billing will take over.",
    "Billing handles payments, so I hand you over to billing.",
)
_TO_SHIPPING = (
    "The parcel has not arrived, so shipping has to deal with it.",
    "Shipping has to deal with this because the parcel did not arrive.",
    "As the parcel has not arrived, this is one for shipping.",
)
_TO_TRIAGE = (
    "I cannot see this order, triage should look into it first.",
    "The order is not visible to me; triage should look into it.",
    "Triage should look at this first, I cannot see the order.",
)


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("user-not-found", "same error, varying arguments", user_not_found),
    ("payment-refused", "same error, varying arguments", payment_refused),
    ("promises", "reworded monologue", promises),
    ("two-lookups", "k-cycle", two_lookups),
    ("transfers", "circle of agents", transfers),
]


# --- healthy -------------------------------------------------------------------


def talk(log: Log, rounds: int = 14, *, airline: bool = False) -> str:
    _served(log, rounds, airline=airline)
    log.user("Thank you, bye!")
    log.say("You're welcome. Have a good day!")
    return "A long conversation with lookups between."


def begging(log: Log) -> str:
    _served(log, 5, airline=True)
    for _ in range(4):
        log.user(log.deal("service.begs"))
        log.say(log.deal("service.refusals"))
    log.user("Fine. Then please change the flight instead.")
    log.say("Certainly. Which day would suit you?")
    return "The customer asks four times for what the policy forbids; the agent politely says no each time."


def flights_by_day(log: Log) -> str:
    desk = _served(log, 3, airline=True)
    log.user("Please find me the cheapest day in the second half of May.")
    for day in range(15, 29):
        desk.flights(day)
    log.say("The 23rd is the cheapest, at $57 in basic economy.")
    return "Fourteen days are searched for the same connection, each with other flights."


def no_flights(log: Log) -> str:
    desk = _served(log, 4, airline=True)
    log.user("Is there any direct flight to Boise around the 20th?")
    start = desk.trips[0]["origin"]
    for day in (20, 21, 19, 22):
        args = {"origin": start, "destination": "BOI", "date": f"2026-05-{day}"}
        desk.use("search_direct_flight", args, "[]")
    desk.use(
        "search_onestop_flight",
        {"origin": start, "destination": "BOI", "date": "2026-05-20"},
        [[desk.trips[0]["flights"][0], desk.trips[1]["flights"][0]]],
    )
    log.say("There is no direct flight on these days, but one with a stop on the 20th.")
    return "Four days without a flight, then a connection with a stop."


def cancels_many(log: Log) -> str:
    desk = _served(log, 2)
    log.user("Please cancel all twelve pending orders of my company, I confirm.")
    for _ in range(12):
        order = f"#W{log.number(10**6, 10**7)}"
        desk.use(
            "cancel_pending_order",
            {"order_id": order, "reason": "no longer needed"},
            '{"status": "cancelled"}',
        )
    log.say("All twelve orders are cancelled.")
    return "Twelve orders are cancelled one by one, acknowledged alike."


def wrong_zip(log: Log) -> str:
    desk = Desk(log)
    log.user("Hi, I want to return a lamp.")
    for wrong in ("94016", "94106", "49016"):
        log.say("Could you give me your name and zip code?")
        log.user(f"{desk.first} {desk.last}, {wrong}")
        args = {"first_name": desk.first, "last_name": desk.last, "zip": wrong}
        desk.use("find_user_id_by_name_zip", args, "Error: user not found")
        log.say("I could not find your account with these details.")
    desk.greet()
    desk.talk(6)
    return "The customer gets the zip code wrong three times, then right."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("talk-1", "long conversation", talk),
    ("talk-2", "long conversation", lambda log: talk(log, 24, airline=True)),
    ("talk-3", "long conversation", lambda log: talk(log, 40)),
    ("begging", "customer repeats the question", begging),
    ("flights-by-day", "paging with new lines", flights_by_day),
    ("no-flights", "searches without hits", no_flights),
    ("cancels-many", "batch with identical acknowledgements", cancels_many),
    ("wrong-zip", "retry that succeeds", wrong_zip),
]
