"""A run's turns: windows, matches, one in full, the run's course, and hand-offs."""

from __future__ import annotations

import re
from dataclasses import replace

from rest_framework.request import Request

from missioncontrol.api.auth import FoundRun
from missioncontrol.api.rest import Limit, Page, address_of, read_time
from missioncontrol.api.routing import Router
from missioncontrol.detection.engine_cache import policy_of
from missioncontrol.detection.policies import asks_from
from missioncontrol.detection.scores import explain_move
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs import timeline
from missioncontrol.wire.runs import (
    FoundTurns,
    HandOffs,
    MomentRow,
    RunFacets,
    RunSeries,
    ScoreMove,
    TurnRow,
)

api = Router()

DEFAULT_POINTS = 300
MAX_PICKED = 500
MAX_MOMENTS = 100
# Nine digits, the most that a turn number's column can hold.
_SEQS_PATTERN = re.compile(r"\d{1,9}(,\d{1,9})*")


@api.get("runs/<uuid:run_id>/turns/")
def turns_list(
    request: Request,
    run: FoundRun,
    limit: Limit,
    seqs: str,
    after_seq: int | None,
    before_seq: int | None,
    around: int | None,
) -> Page[TurnRow]:
    """List a run's turns in order of `seq`, long texts cut; `before_seq` pages backwards,
    `around` centres on a turn, `seqs` picks some by number.
    """
    if "seqs" in request.query_params:
        if not _SEQS_PATTERN.fullmatch(seqs):
            raise InvalidRequest("seqs: expected whole numbers with commas.", field="seqs")
        picked = [int(part) for part in seqs.split(",")]
        if len(picked) > MAX_PICKED:
            raise InvalidRequest(f"seqs: at most {MAX_PICKED} at once.", field="seqs")
        return Page(timeline.list_numbered(run, seqs=picked))
    page = timeline.list_window(
        run, limit=limit, after_seq=after_seq, before_seq=before_seq, around=around
    )
    following = None
    # A window around a turn has no next page: its sides are requested by number.
    if len(page) >= limit and around is None:
        backwards = before_seq is not None
        place = f"before_seq={page[0].seq}" if backwards else f"after_seq={page[-1].seq}"
        following = f"{address_of(request)}?{place}&limit={limit}"
    return Page(page, following)


@api.get("runs/<uuid:run_id>/turns/<int:seq>/")
def turns_read(run: FoundRun, seq: int) -> TurnRow:
    """Show one turn in full."""
    return timeline.show_turn(run, seq)


@api.get("runs/<uuid:run_id>/turns/found/")
def turns_find(
    run: FoundRun,
    agent: str,
    tool: str,
    signal: str,
    role: str,
    flagged: str,
    q: str,
    before_seq: int | None,
) -> FoundTurns:
    """Get the numbers of the turns that match a filter; a search goes backwards from the newest."""
    if len(q) > timeline.MAX_SEARCH_TEXT:
        longest = timeline.MAX_SEARCH_TEXT
        raise InvalidRequest(f"q: at most {longest} characters.", field="q")
    wanted = timeline.TurnFilter(
        agent=agent,
        tool=tool,
        signal=signal,
        role=role,
        # Absent, or switched off in the query.
        flagged=flagged not in {"", "0", "false"},
        q=q,
    )
    return timeline.find_turns(run, wanted, before_seq=before_seq)


@api.get("runs/<uuid:run_id>/turns/<int:seq>/score/")
def turns_score(run: FoundRun, seq: int) -> ScoreMove:
    """Explain why the stuck score changed at a turn, in parts that add up."""
    return explain_move(run, seq)


@api.get("runs/<uuid:run_id>/facets/")
def runs_facets(run: FoundRun) -> RunFacets:
    """Count a run's turns by agent, tool, role and detector."""
    return timeline.count_facets(run)


@api.get("runs/<uuid:run_id>/series/")
def runs_series(
    run: FoundRun, points: int | None, from_seq: int | None, to_seq: int | None
) -> RunSeries:
    """Show a run's course in at most `points` points; spikes are kept."""
    # 0 is a given number, not a missing one.
    if points is not None and not 0 < points <= timeline.MAX_POINTS:
        raise InvalidRequest(f"points: expected 1 to {timeline.MAX_POINTS}.", field="points")
    series = timeline.show_series(
        run, points=points or DEFAULT_POINTS, from_seq=from_seq, to_seq=to_seq
    )
    # Sent with the points, to draw the line at which a card opens.
    return replace(series, asks_from=asks_from(policy_of(run)))


@api.get("runs/<uuid:run_id>/moments/", query=("at",))
def runs_moments(request: Request, run: FoundRun) -> Page[MomentRow]:
    """Find the turn at each moment (`at`, RFC 3339, at most 100)."""
    texts = request.query_params.getlist("at")
    if len(texts) > MAX_MOMENTS:
        raise InvalidRequest(f"at: at most {MAX_MOMENTS} at once.", field="at")
    moments = [read_time("at", text) for text in texts]
    return Page(timeline.locate_moments(run, moments))


@api.get("runs/<uuid:run_id>/hand-offs/")
def runs_hand_offs(run: FoundRun) -> HandOffs:
    """List the hand-offs between a run's agents, and what each was asked."""
    return timeline.list_hand_offs(run)
