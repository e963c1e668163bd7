"""HTML pages for a browser: the documents and the files of such pages."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _core


def run_document(data: dict[str, Any], at: int) -> tuple[str, str]:
    """Return the name and the JSON of the document of a run, which is document number `at` of its HTML page."""
    return str(data["scenario"].get("name") or f"Run {at}"), json.dumps(data)


def write_page(path: str | os.PathLike[str], title: str | None, documents: list[tuple[str, str]]) -> None:
    """Write an HTML page of documents, completely or not at all; the title is derived from them unless given."""
    path = Path(path)
    text = _core.page(title or ", ".join(name for name, _ in documents), documents)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".wearwell-", encoding="utf-8", delete=False) as file:
        try:
            file.write(text)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
