"""Agents that run services: clusters, deployments, logs; sealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, pool

KIND = "operations"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-ops/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def names(log: Log) -> dict[str, object]:
    """Give names for a text."""
    return {
        "service": log.rng.choice(pool("sealed_ops")["services"]),
        "word": log.rng.choice(pool("sealed_ops")["words"]),
        "t": log.tick().isoformat(timespec="milliseconds"),
        "port": log.number(1024, 60000),
        "v": f"{log.number(1, 9)}.{log.number(0, 40)}.{log.number(0, 9)}",
        "ms": log.number(100, 9000),
        "a": log.number(0, 255),
        "b": log.number(0, 255),
        "c": log.number(1, 254),
        "n": log.number(1, 60),
        "hex": log.hex(9),
    }


def lines(log: Log, count: int) -> str:
    """Write lines of a log."""
    return "\n".join(log.deal("sealed_ops.logs", **names(log)) for _ in range(count))


def run(log: Log, command: str, out: str, code: int = 0, thought: str | None = None) -> None:
    """Run a command in a terminal."""
    log.call("terminal", {"cmd": command, "timeout": 60}, f"{out}\n[exit {code}]", thought=thought)


def pods(log: Log, service: str, state: str, restarts: int = 0) -> str:
    """List the pods of a service, as they age."""
    rows = [
        f"{service}-{log.hex(9)}-{log.hex(5)}   {'1/1' if state == 'Running' else '0/1'}   {state}   {restarts}   {log.number(1, 59)}m{log.number(1, 59)}s"
        for _ in range(3)
    ]
    return "NAME   READY   STATUS   RESTARTS   AGE\n" + "\n".join(rows)


def investigate(log: Log, turns: int) -> None:
    """Look about in a cluster, each time at something else."""
    log.user(log.deal("sealed_ops.asks", **names(log)))
    for _ in range(turns):
        thought = log.deal("sealed_ops.says") if log.rng.random() < 0.5 else None
        run(
            log,
            log.deal("sealed_ops.commands", **names(log)),
            lines(log, log.number(4, 12)),
            thought=thought,
        )


# --- stuck ---------------------------------------------------------------------


def crash_poll(log: Log) -> str:
    investigate(log, 20)
    log.stuck_from_here()
    for n in range(14):
        rows = f"NAME   READY   STATUS   RESTARTS   AGE\nmailer-7c9d-x2x4p   0/1   CrashLoopBackOff   {6 + n // 3}   {14 + n}m"
        run(log, "sleep 30; kubectl -n prod get pods -l app=mailer", rows)
    return "A crashing pod is looked at fourteen times; only its age moves."


def apply_denied(log: Log) -> str:
    investigate(log, 16)
    log.stuck_from_here()
    for n in range(8):
        verb = (
            'patch deploy/quota -p \'{"spec":{"replicas":2}}\'',
            "scale deploy/quota --replicas=2",
            "edit deploy/quota",
            "annotate deploy/quota touched=now",
            "rollout restart deploy/quota",
            "apply -f /tmp/quota.yaml",
            "set env deploy/quota A=1",
            "replace -f /tmp/quota.yaml",
        )[n]
        out = f'Error from server (Forbidden): deployments.apps "quota" is forbidden: User "system:serviceaccount:ops:agent" cannot patch resource "deployments" in API group "apps" in the namespace "prod" (trace {log.hex(12)})'
        run(log, f"kubectl -n prod {verb}", out, 1)
    return "Eight ways to change what the account may not change."


def restart_cycle(log: Log) -> str:
    investigate(log, 24)
    log.stuck_from_here()
    for _ in range(5):
        run(
            log,
            "kubectl -n prod rollout restart deploy/geo-index",
            "deployment.apps/geo-index restarted",
        )
        run(
            log,
            "kubectl -n prod rollout status deploy/geo-index --timeout=60s",
            'Waiting for deployment "geo-index" rollout to finish: 1 old replicas are pending termination...\nerror: timed out waiting for the condition',
            1,
        )
        run(
            log,
            "kubectl -n prod logs deploy/geo-index --tail=3",
            "panic: open /data/index.bin: no such file or directory\ngoroutine 1 [running]:\nmain.main()",
            0,
        )
    return "Restart, wait, look at the same panic: five rounds."


def slow_grind(log: Log) -> str:
    investigate(log, 18)
    log.stuck_from_here()
    for n in range(16):
        path = (
            "/etc/nginx/nginx.conf",
            "/etc/nginx/conf.d/default.conf",
            "/usr/share/nginx/nginx.conf",
            "/opt/nginx/nginx.conf",
        )[n % 4]
        verb = ("cat", "ls -l", "stat", "head -5")[n // 4 % 4]
        run(
            log,
            f"{verb} {path}",
            f"{verb}: cannot access '{path}': No such file or directory"
            if verb != "cat"
            else f"cat: {path}: No such file or directory",
            1,
        )
    return "One missing file is sought by four commands in four places, sixteen refusals."


def terraform_lock(log: Log) -> str:
    investigate(log, 14)
    log.stuck_from_here()
    for n in range(7):
        lock = f"ID: 9f2c1d7e-5b1c-4d7a-9f37-2f0c6f6b1c11\n  Operation: OperationTypeApply\n  Who: ci@runner-{4}\n  Created: 2026-03-02 07:14:11 UTC"
        run(
            log,
            ("terraform plan", "terraform apply -auto-approve", "terraform plan -refresh=false")[
                n % 3
            ],
            f"│ Error: Error acquiring the state lock\n│ Lock Info:\n  {lock}",
            1,
            "Maybe the lock is gone by now." if n % 2 else None,
        )
    return "Plan and apply fail seven times at the same lock."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("crash-poll", "poll unchanged", crash_poll),
    ("apply-denied", "same error, varying arguments", apply_denied),
    ("restart-cycle", "k-cycle", restart_cycle),
    ("slow-grind", "grind", slow_grind),
    ("terraform-lock", "same error, varying arguments", terraform_lock),
]


# --- healthy -------------------------------------------------------------------


def incident(log: Log, turns: int = 45) -> str:
    investigate(log, turns)
    log.say(
        "The upstream certificate had expired; it is renewed and the error rate is back to zero."
    )
    return "A long investigation, each command another view."


def rollout(log: Log) -> str:
    investigate(log, 8)
    for done in range(13):
        out = (
            f'Waiting for deployment "checkout" rollout to finish: {done} out of 12 new replicas have been updated...'
            if done < 12
            else 'deployment "checkout" successfully rolled out'
        )
        run(
            log, "kubectl -n prod rollout status deploy/checkout --timeout=10s", out, int(done < 12)
        )
    return "A roll-out watched replica by replica."


def drains(log: Log) -> str:
    log.user("Drain all old nodes, one by one.")
    for n in range(16):
        run(
            log,
            f"kubectl drain ip-10-0-{n}-{log.number(2, 250)} --ignore-daemonsets",
            "node drained",
        )
    return "Sixteen nodes are drained, each acknowledged alike."


def tails(log: Log) -> str:
    investigate(log, 5)
    for _ in range(18):
        run(log, "kubectl -n prod logs deploy/webhooks --tail=6", lines(log, 6))
    return "The tail of a busy log is read eighteen times; the lines are others each time."


def terraform_series(log: Log) -> str:
    log.user("Bring the state in line with the code, resource by resource.")
    left = 15
    while left:
        run(
            log,
            "terraform plan -no-color | tail -1",
            f"Plan: {left} to add, {left // 3} to change, 0 to destroy.",
        )
        run(
            log,
            f"terraform apply -auto-approve -target=module.{log.rng.choice(pool('sealed_ops')['words'])}[{left}]",
            f"Apply complete! Resources: 1 added, 0 changed, 0 destroyed.\n\nid = {log.hex(17)}",
        )
        left -= 1
    run(
        log,
        "terraform plan -no-color | tail -1",
        "No changes. Your infrastructure matches the configuration.",
    )
    return "Plan and apply in turn; the plan shrinks by one each time."


def health_everywhere(log: Log) -> str:
    log.user("Are all services up in all regions?")
    for service in pool("sealed_ops")["services"]:
        for region in ("eu", "us"):
            run(
                log,
                f"curl -s -o /dev/null -w '%{{http_code}}' https://{service}.{region}.example/healthz",
                "200",
            )
    log.say("All twenty endpoints answer.")
    return "Twenty endpoints are asked, all answer 200."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("incident-1", "long investigation", incident),
    ("incident-2", "long investigation", lambda log: incident(log, 110)),
    ("rollout", "poll that moves", rollout),
    ("drains", "batch with identical acknowledgements", drains),
    ("tails", "polls with new lines", tails),
    ("terraform-series", "k-cycle that moves", terraform_series),
    ("health-everywhere", "one question for each", health_everywhere),
]
