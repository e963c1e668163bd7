"""Listings of available parts."""

from __future__ import annotations

import json
from typing import Any

from . import _core


def _list(what: str) -> list[dict[str, Any]]:
    return json.loads(_core.listing())[what]  # type: ignore[no-any-return]


def list_victims() -> list[dict[str, Any]]:
    """List all victim policies: ``name``, ``help`` and ``source`` of each."""
    return _list("victims")


def list_placements() -> list[dict[str, Any]]:
    """List all placements: ``name``, ``help`` and ``source`` of each."""
    return _list("placements")


def list_workloads() -> list[dict[str, Any]]:
    """List all synthetic workloads: ``name``, ``help``, ``source`` and ``keys`` of each."""
    return _list("workloads")


def list_formats() -> list[dict[str, Any]]:
    """List all trace formats: ``name``, ``help``, ``columns`` with their units, ``options`` and more."""
    return _list("formats")


def list_presets() -> list[dict[str, Any]]:
    """List all device presets: ``name``, ``help``, ``source`` and the figures of each."""
    return _list("presets")


def list_dedups() -> list[dict[str, Any]]:
    """List all methods of deduplication: ``name``, ``help`` and ``source`` of each."""
    return _list("dedups")


def list_ftls() -> list[dict[str, Any]]:
    """List all flash translation layers: ``name``, ``help`` and ``source`` of each."""
    return _list("ftls")


def list_validities() -> list[dict[str, Any]]:
    """List all stores of page validity: ``name``, ``help`` and ``source`` of each."""
    return _list("validities")
