"""A run's turns: windows, matches, one in full, how it went, who handed on."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.api import auth
from missioncontrol.api.rest import Page, address_of, page_size, read_moment, whole
from missioncontrol.api.schema import described
from missioncontrol.detection.engine_cache import policy_of
from missioncontrol.detection.policies import asks_from
from missioncontrol.detection.score_parts import explain_move
from missioncontrol.errors import InvalidRequest
from missioncontrol.runs import timeline
from missioncontrol.wire.turns import (
    FoundTurns,
    HandOffs,
    MomentRow,
    RunFacets,
    RunSeries,
    ScoreMove,
    TurnRow,
)

FILTERS = ("agent", "tool", "signal", "role", "flagged", "q")
POINTS = 300
MOST_PICKED = 500
MOST_MOMENTS = 100
# Nine digits: a column of a turn's number holds no more.
_SEQS = re.compile(r"\d{1,9}(,\d{1,9})*")


class Turns(APIView):
    @described("turns_list", query=("after_seq", "before_seq", "around", "seqs", "limit"))
    def get(self, request: Request, run_id: UUID) -> Page[TurnRow]:
        """List a run's turns in order of `seq`, long texts cut; `before_seq` pages backwards,
        `around` centres on a turn, `seqs` picks some by number.
        """
        run, limit = auth.find_run(request, run_id), page_size(request)
        if "seqs" in request.query_params:
            text = request.query_params.get("seqs", "")
            if not _SEQS.fullmatch(text):
                raise InvalidRequest("seqs: expected whole numbers with commas.", field="seqs")
            seqs = [int(part) for part in text.split(",")]
            if len(seqs) > MOST_PICKED:
                raise InvalidRequest(f"seqs: at most {MOST_PICKED} at once.", field="seqs")
            return Page(timeline.list_picked(run, seqs=seqs))
        page = timeline.list_window(
            run,
            limit=limit,
            after_seq=whole(request, "after_seq"),
            before_seq=whole(request, "before_seq"),
            around=whole(request, "around"),
        )
        following = None
        # A window around a turn is whole: its sides are asked for by number.
        if len(page) >= limit and whole(request, "around") is None:
            backwards = whole(request, "before_seq") is not None
            place = f"before_seq={page[0].seq}" if backwards else f"after_seq={page[-1].seq}"
            following = f"{address_of(request)}?{place}&limit={limit}"
        return Page(page, following)


class OneTurn(APIView):
    @described("turns_read")
    def get(self, request: Request, run_id: UUID, seq: int) -> TurnRow:
        """Show one turn in full."""
        return timeline.show_turn(auth.find_run(request, run_id), seq)


class Found(APIView):
    @described("turns_find", query=(*FILTERS, "before_seq"))
    def get(self, request: Request, run_id: UUID) -> FoundTurns:
        """Number the turns that match a filter; a search goes back from the newest."""
        run = auth.find_run(request, run_id)
        # Nothing stored holds a NUL, and PostgreSQL refuses to be asked for one.
        given = {name: request.query_params.get(name, "").replace("\0", "") for name in FILTERS}
        if len(given["q"]) > timeline.LONGEST_NEEDLE:
            longest = timeline.LONGEST_NEEDLE
            raise InvalidRequest(f"q: at most {longest} characters.", field="q")
        # Absent, or switched off in the address.
        flagged = given.pop("flagged") not in {"", "0", "false"}
        return timeline.find_turns(
            run,
            timeline.TurnFilter(flagged=flagged, **given),
            before_seq=whole(request, "before_seq"),
        )


class Score(APIView):
    @described("turns_score")
    def get(self, request: Request, run_id: UUID, seq: int) -> ScoreMove:
        """Say why the stuck score moved at a turn, in parts that add up."""
        return explain_move(auth.find_run(request, run_id), seq)


class Facets(APIView):
    @described("runs_facets")
    def get(self, request: Request, run_id: UUID) -> RunFacets:
        """Count a run's turns by agent, tool, role and detector."""
        return timeline.count_facets(auth.find_run(request, run_id))


class Series(APIView):
    @described("runs_series", query=("points", "from_seq", "to_seq"))
    def get(self, request: Request, run_id: UUID) -> RunSeries:
        """Show how a run went in at most `points` points; no spike is averaged away."""
        points = whole(request, "points")
        # 0 is a number that was asked for, and not the default.
        if points is not None and not 0 < points <= timeline.MOST_POINTS:
            raise InvalidRequest(f"points: expected 1 to {timeline.MOST_POINTS}.", field="points")
        run = auth.find_run(request, run_id)
        series = timeline.show_series(
            run,
            points=points or POINTS,
            from_seq=whole(request, "from_seq"),
            to_seq=whole(request, "to_seq"),
        )
        # Beside the points, so that the line at which a card opens is drawn with them.
        return replace(series, asks_from=asks_from(policy_of(run)))


class Moments(APIView):
    @described("runs_moments", query=("at",))
    def get(self, request: Request, run_id: UUID) -> Page[MomentRow]:
        """Say at which turn each moment (`at`, RFC 3339, at most 100) stands."""
        texts = request.query_params.getlist("at")
        if len(texts) > MOST_MOMENTS:
            raise InvalidRequest(f"at: at most {MOST_MOMENTS} at once.", field="at")
        moments = [read_moment("at", text) for text in texts]
        return Page(timeline.place_moments(auth.find_run(request, run_id), moments))


class HandedOn(APIView):
    @described("runs_hand_offs")
    def get(self, request: Request, run_id: UUID) -> HandOffs:
        """List where another agent of the run took over, and what it was asked."""
        return timeline.list_hand_offs(auth.find_run(request, run_id))
