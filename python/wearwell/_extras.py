"""Optional dependencies."""

from __future__ import annotations

import importlib
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional package; the error explains how to install the package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"this needs {package}: pip install 'wearwell[{extra}]' ({error})", name=package) from error
