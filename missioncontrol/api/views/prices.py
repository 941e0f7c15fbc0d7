"""A project's own prices of models."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts.models import Project
from missioncontrol.api import auth
from missioncontrol.api.rest import read_body
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.costs.prices import read_price
from missioncontrol.costs.pricing import set_price
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.wire.costs import PriceRow, PriceSet


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPrice:
    """Dollars for a million tokens; what is absent of the cache costs as input does."""

    model: str
    input: str
    output: str
    cache_read: str | None = None
    cache_write: str | None = None


class Prices(APIView):
    @described("prices_list")
    def get(self, request: Request, project_id: UUID) -> list[PriceRow]:
        """List a project's own prices, by model."""
        # A list for all who may look: what a model costs is no secret within a project.
        if project_id not in auth.projects_of(request):
            raise NotFound("The project")
        prices = Project.objects.values_list("prices", flat=True).get(pk=project_id)
        return [
            PriceRow(
                project=project_id,
                model=model,
                input=table["input"],
                output=table["output"],
                cache_read=table.get("cache_read"),
                cache_write=table.get("cache_write"),
            )
            for model, table in sorted(prices.items())
        ]

    @described("prices_set", takes=NewPrice)
    def post(self, request: Request, project_id: UUID) -> PriceSet:
        """Set the price of a model and count its unpriced calls with it; owners only."""
        # Calls without a price are counted with it at once, against budgets too.
        auth.check_owns(request, project_id, "Only an owner sets prices.")
        asked = read_body(request, NewPrice)
        model, table = read_price(asked.model, asdict(asked))
        return set_price(project_id, model, table, by=auth.name_of(request), at=now())

    @described("prices_remove", query=("model",))
    def delete(self, request: Request, project_id: UUID) -> None:
        """Remove a model's price: the public list holds again; what was counted stays."""
        auth.check_owns(request, project_id, "Only an owner sets prices.")
        model = request.query_params.get("model", "")
        if not model:
            raise InvalidRequest("model: say which.", field="model")
        set_price(project_id, model, None, by=auth.name_of(request), at=now())
