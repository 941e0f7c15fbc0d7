"""Games and embodied agents, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, fill, pool
from tests.guard.drawings.game_world import Cave, House

KIND = "game"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"game/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def _house(log: Log, form: str = "act", most: int = 60) -> House:
    house = House(log, form)
    house.open_game()
    house.search(most)
    return house


# --- stuck ---------------------------------------------------------------------


def nothing_happens(log: Log, form: str = "act") -> str:
    house = _house(log, form)
    thing = f"{house.goal} 1"
    house.act(
        f"take {thing} from {house.hidden}", f"You pick up the {thing} from the {house.hidden}."
    )
    house.act("go to sinkbasin 1", "On the sinkbasin 1, you see nothing.")
    log.stuck_from_here()
    for n in range(11):
        thought = log.deal("game.stuck_thoughts", thing=house.goal) if n % 2 else None
        house.act(log.deal("game.nothing", thing=house.goal), "Nothing happens.", thought)
    return "Eleven commands the game does not know: nothing happens."


def to_and_fro(log: Log) -> str:
    house = _house(log, "act", 14)
    log.stuck_from_here()
    for _ in range(6):
        house.act(
            "go to cabinet 3", "On the cabinet 3, you see nothing.", "Perhaps I overlooked it."
        )
        house.act("go to countertop 1", "On the countertop 1, you see a saltshaker 2.")
    return "It walks between two places it has seen, six times."


def wall(log: Log) -> str:
    cave = Cave(log)
    log.user("Find the silver key and bring it to the toll gate.")
    for way in ("east", "east", "south", "west", "south", "east", "south", "west", "west"):
        cave.go(way)
    log.stuck_from_here()
    for n in range(9):
        cave.go("west", "The exit must be here." if n % 3 == 0 else None)
    return "It walks against the same wall; only the count of moves changes."


def maze_circle(log: Log) -> str:
    cave = Cave(log)
    log.user("Explore the cave and find the way out.")
    for way in (
        "east",
        "south",
        "east",
        "south",
        "east",
        "south",
        "west",
        "north",
        "north",
        "west",
        "north",
    ):
        cave.go(way)
    cave.go("south")
    log.stuck_from_here()
    for _ in range(6):
        for way in ("east", "south", "west", "north"):
            cave.go(way)
    return "Four known rooms in a circle, six rounds."


def shop_loop(log: Log) -> str:
    log.user("i am looking for a machine wash, long sleeve shirt in navy, under 40 dollars")
    _browse(log, 6)
    first = _results(log, "navy shirt")
    log.stuck_from_here()
    for _ in range(5):
        log.call("search", {"keywords": "navy long sleeve shirt machine wash"}, first)
        log.call(
            "click", {"element": "b07xk3p2qz"}, _item("b07xk3p2qz", "Men's Shirt, Navy", "52.90")
        )
        log.call("click", {"element": "back to search"}, "[button] Search [button_]")
    return "It searches, opens an item that is too dear, goes back, and does the same again."


def _results(log: Log, words: str) -> str:
    rows = "\n".join(
        f"[button] b0{log.hex(8)} [button_]\n{log.deal('game.goods_attr').title()} {words}, "
        f"{log.deal('game.goods_attr')}\n${log.number(9, 90)}.{log.number(10, 99)}"
        for _ in range(5)
    )
    return f"[button] Back to Search [button_]\nPage 1 (Total results: 50)\n[button] Next > [button_]\n{rows}"


def _item(code: str, title: str, price: str) -> str:
    return f"[button] Back to Search [button_]\n[button] < Prev [button_]\nsize [button] small [button_][button] medium [button_]\n{title}\nPrice: ${price}\nRating: N.A.\n[button] Description [button_]\n[button] Features [button_]\n[button] Buy Now [button_] {code}"


def _browse(log: Log, rounds: int) -> None:
    for _ in range(rounds):
        words = f"{log.rng.choice(('navy', 'blue', 'dark', 'cotton'))} shirt {log.deal('game.goods_attr')}"
        log.call("search", {"keywords": words}, _results(log, words))
        code = f"b0{log.hex(8)}"
        log.call(
            "click",
            {"element": code},
            _item(
                code, f"{words.title()}, {log.deal('game.goods_attr')}", f"{log.number(12, 88)}.99"
            ),
        )
        log.call(
            "click",
            {"element": "features"},
            "\n".join(log.deal("game.goods_attr") for _ in range(5)),
        )


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("nothing-happens", "same error, varying arguments", nothing_happens),
    (
        "nothing-happens-text",
        "same error, varying arguments",
        lambda log: nothing_happens(log, "text"),
    ),
    ("to-and-fro", "k-cycle", to_and_fro),
    ("wall", "volatile results", wall),
    ("maze-circle", "k-cycle", maze_circle),
    ("shop-loop", "k-cycle", shop_loop),
]


# --- healthy -------------------------------------------------------------------


def finds(log: Log, form: str = "act") -> str:
    house = _house(log, form)
    house.finish()
    return "Place after place is opened, many of them empty, until the thing is found."


def finds_three(log: Log) -> str:
    for _ in range(3):
        house = _house(log, "step")
        house.finish()
    return "Three tasks in a row in three houses."


def explores(log: Log) -> str:
    cave = Cave(log)
    log.user("Explore the cave and draw a map.")
    for row in range(4):
        for _ in range(3):
            cave.go("east" if row % 2 == 0 else "west")
            if log.rng.random() < 0.5:
                cave.do(f"take {log.rng.choice(pool('game')['objects'])}", "Taken.")
        cave.go("south")
    return "Every room is seen once, some moves end at a wall, things are taken."


def chess(log: Log) -> str:
    log.user("Play white. Answer each position with a move in UCI.")
    files, ranks = "abcdefgh", "12345678"
    for n in range(45):
        move = f"{log.rng.choice(files)}{log.rng.choice(ranks)}{log.rng.choice(files)}{log.rng.choice(ranks)}"
        fen = "/".join(
            log.rng.choice(("8", "1p5p", "r1bqk2r", "2n1p3", "3P4", "PPP2PPP", "4k2r", "p1p2n2"))
            for _ in range(8)
        )
        log.call(
            "make_move",
            {"move": move},
            f"ok\nfen: {fen} w - - 0 {n}\neval: {log.number(-300, 300) / 100:+.2f}",
        )
    return "Forty-five moves, each with another position."


def sokoban(log: Log) -> str:
    log.user("Push every box onto a goal.")
    board = [list("##########"), list("#@  $  . #"), list("#  $  .  #"), list("##########")]
    column, row = 1, 1
    for way in [*(["right"] * 6), "down", *(["left"] * 5), "up", *(["right"] * 4), "down"]:
        board[row][column] = " "
        column += {"right": 1, "left": -1}.get(way, 0)
        row += {"down": 1, "up": -1}.get(way, 0)
        board[row][column] = "@"
        log.call("move", {"direction": way}, "\n".join("".join(line) for line in board))
    return "The same move many times; the board differs after each."


def shopping(log: Log) -> str:
    log.user("i need a non slip, water resistant mat for the kitchen, price lower than 30 dollars")
    _browse(log, 9)
    log.call("click", {"element": "medium"}, "You have clicked medium.")
    log.call(
        "click",
        {"element": "buy now"},
        "Thank you for shopping with us! Your score (min 0.0, max 1.0) 0.83",
    )
    return "Nine searches and items, then one is bought."


def guesses(log: Log) -> str:
    log.user("Guess my number between 1 and 1000.")
    low, high, secret = 1, 1000, log.number(2, 999)
    for _ in range(12):
        guess = (low + high) // 2
        answer = "Correct!" if guess == secret else "Too low." if guess < secret else "Too high."
        log.call("guess", {"number": guess}, answer, thought=f"It lies between {low} and {high}.")
        if guess == secret:
            break
        low, high = (guess + 1, high) if guess < secret else (low, guess - 1)
    log.say(fill("It was {secret}.", secret=secret))
    return "Halving an interval: the answers repeat, the interval shrinks."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("finds-1", "searches without hits", finds),
    ("finds-2", "searches without hits", lambda log: finds(log, "text")),
    ("finds-three", "searches without hits", finds_three),
    ("explores", "game moves", explores),
    ("chess", "game moves", chess),
    ("sokoban", "game moves", sokoban),
    ("shopping", "varied browsing", shopping),
    ("guesses", "game moves", guesses),
]
