"""The pages themselves: static files, and the study's own script."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from .plan import Plan

STATIC = Path(__file__).with_name("static")


def pages(plan: Plan) -> APIRouter:
    """The participant's page, the researcher's page, and the script of the study's own screen."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def participant() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @router.get("/researcher")
    def researcher() -> FileResponse:
        return FileResponse(STATIC / "researcher.html", media_type="text/html")

    @router.get("/screen.js")
    def screen() -> Response:
        return Response(status_code=404) if plan.script is None else FileResponse(plan.script, media_type="text/javascript")

    @router.get("/health")
    def health() -> dict[str, bool]:
        return {"well": True}

    return router
