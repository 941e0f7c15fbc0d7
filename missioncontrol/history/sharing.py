"""Share one run, one card or a week's costs by a link: read-only, for some days, recorded.

A link works only while its maker may act in the project, and is deleted with what it shows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from missioncontrol.accounts import credentials, people
from missioncontrol.accounts.models import Project, Role
from missioncontrol.accounts.selectors import live
from missioncontrol.accounts.services import MintedSecret, mint
from missioncontrol.accounts.tokens import digest
from missioncontrol.audit.erasing import ERASED
from missioncontrol.decisions.models import Decision
from missioncontrol.decisions.rows import OPEN_STATUSES
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.history.models import Share
from missioncontrol.history.search import reasons_of
from missioncontrol.notify.texts import texts_in
from missioncontrol.reports.accounting import AccountQuery, build_account
from missioncontrol.runs import journal
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import tape_of
from missioncontrol.translation import TextTable, language_of
from missioncontrol.wire.costs import CostAccount
from missioncontrol.wire.history import ShareRow
from missioncontrol.wire.rows import row_of

DEFAULT_DAYS = 7
# Anyone with the link can open it: one without an end would be forgotten and stay open.
MAX_DAYS = 90
# Open links of one project.
MAX_OPEN = 200
# Turns that fit into a drawing; if there are fewer, the rest stays empty.
MIN_SLOTS = 22
SMALL_USD = 10
SHARING_ROLES = (Role.OWNER, Role.OPERATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewShare:
    """What to show: one of `run`, `decision` and `week` (any day of that week)."""

    run: UUID | None = None
    decision: UUID | None = None
    week: date | None = None
    project: UUID | None = None
    days: int = DEFAULT_DAYS
    """1 to 90."""
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One turn, or one day, in the drawing of a link."""

    height: float
    """In [0, 1]."""
    kind: Literal["alarm", "answered", "new", "same"]
    """A turn over the limit while somebody is needed, and later; a turn that brought something
    new, or a day; another turn.
    """
    day: str = ""
    spent: str = ""
    """For a day: its name and its dollars."""

    @property
    def percent(self) -> int:
        """Return its height in percent; zero is drawn too, because the turn or day exists."""
        return max(6, round(self.height * 100))

    @property
    def rest(self) -> int:
        """Return the free space above it, in percent."""
        return 100 - self.percent


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedContent:
    """What a link shows."""

    above: str
    title: str
    text: str
    figures: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    of_bars: str

    @property
    def has_days(self) -> bool:
        """Tell whether its bars are days, which have names and are complete."""
        return any(bar.day for bar in self.bars)

    @property
    def slots(self) -> int:
        """Return the number of places for bars: turns may be added, days may not."""
        return len(self.bars) if self.has_days else max(len(self.bars), MIN_SLOTS)

    @property
    def description(self) -> str:
        """Return the content as one line."""
        figures = ", ".join(f"{value} {name}" for name, value in self.figures)
        return ". ".join(part for part in (self.above, self.text.rstrip("."), figures) if part)


def create_share(
    project_id: UUID, asked: NewShare, *, by: User, at: datetime
) -> MintedSecret[Share]:
    """Make a link to one thing of a project.

    Raises:
        InvalidRequest: none or several things are named, the link would live too long, or it is
            one too many.
        NotFound: the named thing is not this project's.
    """
    run, decision, days = asked.run, asked.decision, asked.days
    if sum(thing is not None for thing in (run, decision, asked.week)) != 1:
        raise InvalidRequest("Give one of `run`, `decision` and `week`.", field="run")
    if not 1 <= days <= MAX_DAYS:
        raise InvalidRequest(f"days: expected 1 to {MAX_DAYS}.", field="days")
    if run and not Run.objects.filter(pk=run, project=project_id).exists():
        raise NotFound("The run")
    if decision and not Decision.objects.filter(pk=decision, run__project=project_id).exists():
        raise NotFound("The card")
    # Under the project's lock: two requests at once must not both take the last free place.
    with journal.lock_project(project_id):
        if open_shares(projects=[project_id], at=at).count() >= MAX_OPEN:
            raise InvalidRequest(f"At most {MAX_OPEN} open links; revoke some first.", field="run")
        made = mint(
            Share,
            project_id=project_id,
            run_id=run,
            decision_id=decision,
            week=asked.week,
            language=language_of(asked.language),
            made_by=by,
            created_at=at,
            expires_at=at + timedelta(days=days),
        )
        what = f"shared {_describe(made.row)} by a link for {days} days"
        journal.record_access(project_id, what, by=people.name_of(by), at=at)
    return made


def revoke_share(share_id: UUID, *, projects: Collection[UUID], by: User, at: datetime) -> None:
    """Revoke a link at once.

    Raises:
        NotFound: these projects have no such link, or it is no longer valid.
    """
    row = Share.objects.filter(pk=share_id, project__in=projects).first()
    # One conditional UPDATE: of two requests that revoke it, one gets the error.
    if row is None or not live(Share.objects.filter(pk=row.pk), at=at).update(revoked_at=at):
        raise NotFound("The link")
    what = f"revoked the link to {_describe(row)}"
    journal.record_access(row.project_id, what, by=people.name_of(by), at=at)


def revoke_shares_of(maker: int, *, project: UUID, by: User, at: datetime) -> None:
    """Revoke all links of a person who may no longer share anything in a project, for good."""
    # One by one, not in one UPDATE: each is an event of its own on the project's chain.
    for row in list(live(Share.objects.filter(project=project, made_by=maker), at=at)):
        revoke_share(row.pk, projects=[project], by=by, at=at)


def open_shares(*, projects: Collection[UUID], at: datetime) -> QuerySet[Share]:
    """Return the links that show something now, newest first."""
    found = Share.objects.filter(project__in=projects)
    found = found.select_related("made_by", "run", "decision__run")
    return _visible(found, at).order_by("-id")


def find_share(secret: str, *, at: datetime) -> Share | None:
    """Return the link with this secret, if it shows something."""
    found = _visible(Share.objects.filter(digest=digest(secret)), at)
    return found.select_related(
        "project", "run__meters", "decision__run__meters", "made_by"
    ).first()


def share_row(row: Share) -> ShareRow:
    """Return a link's row, without its secret."""
    run = row.decision.run if row.decision else row.run
    kind = "run" if row.run_id else "decision" if row.decision_id else "costs"
    made_by = people.name_of(row.made_by)
    return row_of(ShareRow, row, kind=kind, name=run.name if run else "", made_by=made_by)


def shared_content(row: Share, *, at: datetime) -> SharedContent:
    """Return what a link shows now."""
    t = SharedTexts.of("shared", row.language)
    if row.run is not None:
        return _run_content(row.run, t, row.language)
    if row.decision is not None:
        return _card_content(row.decision, t, row.language)
    query = AccountQuery(kind="week", day=row.week)
    costs = build_account([row.project_id], query, at=at)
    return _costs_content(row.project, costs, t, row.language)


def _visible(found: QuerySet[Share], at: datetime) -> QuerySet[Share]:
    """Keep links whose maker may act, of live projects, to runs that still have their words."""
    # Checked at each visit: a maker who lost the role or second factor shares nothing any more.
    may = credentials.open_memberships().filter(
        user=OuterRef("made_by"), project=OuterRef("project"), role__in=SHARING_ROLES
    )
    found = live(found, at=at).filter(
        Exists(may), made_by__is_active=True, project__archived_at=None
    )
    # No link shows a run whose words were erased, not even its figures.
    return found.exclude(Q(run__name=ERASED) | Q(decision__run__name=ERASED))


def _describe(row: Share) -> str:
    """Describe what is shared as the log does, by id, because names do not last."""
    if row.run_id:
        return f"the run {row.run_id}"
    return f"the card {row.decision_id}" if row.decision_id else f"the costs of {row.week}"


class SharedTexts(TextTable):
    status: dict[str, str]
    weekdays: list[str]


def _run_content(run: Run, t: SharedTexts, language: str) -> SharedContent:
    found = reasons_of([run]).get(run.id)
    why = found.summary if found else ""
    parts = [run.agent, t.imported if run.imported else t.status[run.status]]
    return SharedContent(
        above=" · ".join(part for part in parts if part),
        title=run.name,
        text=texts_in(language).sentence(why) if why else "",
        figures=(
            (t.turns, str(run.meters.last_seq + 1)),
            (t.calls, str(run.meters.tool_calls)),
            (t.cost, _cost_text(run, t, language)),
        ),
        bars=_tape_bars(run),
        of_bars=t.tape,
    )


def _card_content(card: Decision, t: SharedTexts, language: str) -> SharedContent:
    run, evidence = card.run, card.evidence
    summary = evidence.get("summary") or ""
    # Only figures and the guard's own sentence: turns may name people, paths and secrets.
    figures = [(t.turns, str(run.meters.last_seq + 1)), (t.cost, _cost_text(run, t, language))]
    if evidence.get("cost_usd") is not None:
        money = texts_in(language).figures.money
        figures.append((t.in_loops, money(Decimal(str(evidence["cost_usd"])))))
    return SharedContent(
        above=f"{run.name} · {t.waits if card.status in OPEN_STATUSES else t.answered}",
        title=texts_in(language).sentence(summary) if summary else run.name,
        text="",
        figures=tuple(figures),
        bars=_tape_bars(run),
        of_bars=t.tape,
    )


def _costs_content(
    project: Project, costs: CostAccount, t: SharedTexts, language: str
) -> SharedContent:
    figures = texts_in(language).figures
    # Only the week: the account's trend begins before it.
    days = [day for day in costs.days if costs.first_day <= day.day <= costs.last_day]
    # Never 0: the heights are divided by it.
    highest = max([*(day.total_usd for day in days), Decimal("0.01")])
    first = date.fromisoformat(costs.first_day)
    return SharedContent(
        above=f"{project.name} · {t.week.format(day=first.strftime(t.day))}",
        title=figures.money(costs.spent.total_usd),
        text="",
        figures=(
            (t.runs, str(costs.spent.runs)),
            (t.loops, str(costs.spent.loops)),
            (t.before, figures.money(costs.before.total_usd)),
        ),
        bars=tuple(
            Bar(
                height=float(day.total_usd / highest),
                kind="new",
                day=t.weekdays[date.fromisoformat(day.day).weekday()],
                # Columns are narrow on a phone: cents only for small amounts.
                spent=figures.money(day.total_usd)
                if day.total_usd < SMALL_USD
                else figures.round_money(Decimal(round(day.total_usd))),
            )
            for day in days
        ),
        of_bars=t.days,
    )


def _tape_bars(run: Run) -> tuple[Bar, ...]:
    over: Literal["alarm", "answered"] = "answered" if run.open_decision is None else "alarm"
    return tuple(
        Bar(height=score, kind=over if score >= 1 else "new" if changed else "same")
        for score, changed in tape_of(run.meters.tape)
    )


def _cost_text(run: Run, t: SharedTexts, language: str) -> str:
    spent = run.meters.cost_usd + run.meters.judge_cost_usd
    # $0.00 would claim that it cost nothing, but calls had no price or no usage was reported.
    if not spent and run.meters.unpriced_calls:
        return t.unpriced
    if not spent and not run.meters.input_tokens + run.meters.output_tokens:
        return "—"
    return texts_in(language).figures.money(spent)
