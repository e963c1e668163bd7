"""Results of runs."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import _html
from ._drawing import Course, draw_course
from ._extras import import_extra
from ._old_names import rename_old_fields
from ._page import run_document, write_page
from ._record import Record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["Record", "Result"]


def _record(pairs: list[tuple[str, Any]]) -> Record:
    return Record(pairs)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


class Result:
    """The result of one run.

    Every entry of the result is an attribute: ``result.write_amplification``, ``result.wear.erases_max``,
    ``result.lifetime.tbw`` (10^12 bytes), ``result.phases.steady``, ``result.warnings``. A meaningless figure, such
    as the write amplification of a run without cleaning, is ``None``, and a warning gives the reason. Everything
    except ``performance`` is a function of the scenario; comparisons ignore ``performance``.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Record) -> None:
        self._data = data

    @classmethod
    def _of_text(cls, text: str) -> Self:
        return cls(json.loads(text, object_pairs_hook=_record))

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that `to_json` or the command line wrote; raises ``ValueError`` for other files.

        Results of earlier versions are read too; their fields get their present names.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_record)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: is no result of Wearwell ({error})") from None
        if not isinstance(data, Record) or not {"scenario", "windows", "layers"} <= set(data):
            raise ValueError(f"{os.fspath(path)}: is no result of Wearwell")
        rename_old_fields(data)
        return cls(data)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as plain dictionaries and lists."""
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, either completely or not at all."""
        path = Path(path)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".wearwell-", encoding="utf-8", delete=False
        ) as file:
            try:
                json.dump(self._data, file, indent=2)
                file.write("\n")
                file.close()
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Draw the result on a self-contained page for a browser; `wearwell.report` draws several."""
        write_page(path, title, [run_document(self.to_dict(), 1)])

    @property
    def windows(self) -> pd.DataFrame:
        """The time series, beginning with the fresh drive: one row per window.

        Columns: ``phase``, ``host_pages`` (since the drive was new), ``window_host_pages``, ``programs`` (pages),
        ``erases`` (blocks), ``write_amplification``, ``mapped_share``.
        """
        import pandas as pd

        return pd.DataFrame(self._data.windows)

    @property
    def layers(self) -> pd.DataFrame:
        """The layers during the measured part, from the top: one row per layer, indexed by name.

        Counts of pages (blocks, for erases) are in columns such as ``incoming_write`` and
        ``outgoing_cleaning_write``.
        """
        import pandas as pd

        return pd.DataFrame(self._layer_rows()).set_index("name")

    @property
    def response_times(self) -> pd.DataFrame:
        """Response times of a timed run: one row per kind of request, indexed by kind.

        Columns: ``requests``, ``pages``, ``mean_ns``, ``max_ns``, for each percentile ``p99_ns`` and
        ``p99_cleaning_share`` and so on, and the mean of each part of the response time, such as ``die_wait_ns``.
        """
        import pandas as pd

        return pd.DataFrame(self._response_rows()).set_index("kind")

    @property
    def timeline(self) -> pd.DataFrame:
        """The course of a timed run's measurement: one row for each of its equal parts that was reached.

        Columns: ``time_ns`` (its beginning, from that of the measurement), ``requests``, ``response_mean_ns``,
        ``response_max_ns``, ``cleaning_share`` (of the dies' time; it marks the periods of cleaning) and ``victims``.
        """
        import pandas as pd

        return pd.DataFrame(self._timeline_rows())

    def timed(self) -> Record:
        """Return the timing of a timed run; raises an error for other runs."""
        timing = self._data.get("timing")
        if timing is None:
            raise ValueError("the run was not timed; give the scenario `timing`")
        return timing  # type: ignore[no-any-return]

    def _response_rows(self) -> list[dict[str, Any]]:
        rows = []
        for kind, times in self.timed().requests.items():
            row = {"kind": kind} | {name: times[name] for name in ("requests", "pages", "mean_ns", "max_ns")}
            for at in times.percentiles:
                row[f"p{at.percent:g}_ns"] = at.response_ns
                row[f"p{at.percent:g}_cleaning_share"] = at.cleaning_share
            rows.append(row | times.parts_ns)
        return rows

    def _timeline_rows(self) -> list[dict[str, Any]]:
        timing = self.timed()
        line, dies = timing.timeline, len(timing.dies)
        reached = -(-timing.elapsed_ns // line.bin_ns)
        return [
            {
                "time_ns": at * line.bin_ns,
                "requests": part.requests,
                "response_mean_ns": part.response_sum_ns / part.requests if part.requests else None,
                "response_max_ns": part.response_max_ns,
                "cleaning_share": part.cleaning_busy_ns / (dies * line.bin_ns),
                "victims": part.victims,
            }
            for at, part in enumerate(line.bins[:reached])
        ]

    def to_polars(self, table: str = "windows") -> pl.DataFrame:
        """Return ``"windows"``, ``"layers"``, ``"response_times"`` or ``"timeline"`` as a Polars frame."""
        import_extra("polars", "polars")
        import polars as pl

        rows = {"windows": self._data.windows, "layers": self._layer_rows()}
        if self._data.get("timing") is not None:
            rows |= {"response_times": self._response_rows(), "timeline": self._timeline_rows()}
        if table not in rows:
            raise ValueError(f"there is no table {table!r}; there are {', '.join(rows)}")
        return pl.DataFrame(rows[table])

    def layer(self, name: str) -> Record:
        """Return all results of one layer, including `victim_valid_pages`."""
        for layer in self._data.layers:
            if layer.name == name:
                return layer  # type: ignore[no-any-return]
        raise KeyError(f"there is no layer {name!r}; there are {', '.join(x.name for x in self._data.layers)}")

    def _layer_rows(self) -> list[dict[str, Any]]:
        rows = []
        for layer in self._data.layers:
            row = {key: value for key, value in layer.items() if not isinstance(value, dict | list)}
            row |= layer.over_provisioning
            row |= {f"incoming_{op}": amount for op, amount in layer.incoming.items()}
            for cause, amounts in layer.outgoing.items():
                row |= {f"outgoing_{cause}_{op}": amount for op, amount in amounts.items()}
            rows.append(row)
        names = dict.fromkeys(name for row in rows for name in row)
        # A missing cause means that no page was sent for it.
        return [{name: row.get(name, 0 if name.startswith("outgoing_") else None) for name in names} for row in rows]

    def summary(self) -> dict[str, Any]:
        """Return the figures of the result as one flat row, as in a sweep's table."""
        data = self._data
        estimate = data.write_amplification_estimate or {}
        lifetime, measured_life = data.lifetime or {}, data.measured_life or {}
        row: dict[str, Any] = {
            "write_amplification": data.write_amplification,
            "write_amplification_mean": estimate.get("mean"),
            "write_amplification_ci95": estimate.get("ci95_half_width"),
            "steady": data.phases.steady,
            "measured_drift": data.phases.measured_drift,
            "measured_drive_writes": data.phases.measured_drive_writes,
            "measured_host_pages": data.phases.measured_host_pages,
            "programs": data.nand.programs,
            "erases": data.nand.erases,
            **data.device.over_provisioning,
            **{key: data.device[key] for key in ("physical_pages", "logical_pages", "page_bytes", "pages_per_block")},
        }
        for layer in data.layers:
            row[f"{layer.name}_write_amplification"] = layer.write_amplification
            row[f"{layer.name}_victims"] = layer.victims
            row[f"{layer.name}_victim_valid_pages"] = layer.victim_valid_pages_mean
            for cause, amounts in layer.outgoing.items():
                if "write" in amounts:
                    row[f"{layer.name}_{cause}_writes"] = amounts["write"]
            if dedup := layer.get("dedup"):
                row |= {
                    f"{layer.name}_dedup_hits": dedup.hits,
                    f"{layer.name}_merged_pages": dedup.merged_pages,
                    f"{layer.name}_promoted_pages": dedup.promoted_pages,
                    f"{layer.name}_hashed_pages": dedup.host_hashed_pages + dedup.cleaning_hashed_pages,
                    f"{layer.name}_sharing_ratio": dedup.sharing_ratio,
                    f"{layer.name}_index_bytes": dedup.index_bytes,
                }
        for tenant in data.get("tenants", []):
            for figure in (
                "host_pages",
                "moved_owned",
                "moved_caused",
                "write_amplification_owned",
                "write_amplification_caused",
            ):
                row[f"{tenant.name}_{figure}"] = tenant[figure]
        if data.get("timing") is not None:
            row |= self._timing_figures()
        row |= {
            "erases_mean": data.wear.erases_mean,
            "erases_deviation": data.wear.erases_deviation,
            "erases_max": data.wear.erases_max,
            "tbw": lifetime.get("tbw"),
            "dwpd": lifetime.get("dwpd"),
            "years": lifetime.get("years"),
            "measured_life_tbw": measured_life.get("tbw"),
        }
        if rating := data.get("rating"):
            row |= {
                "rated_tbw": rating.tbw,
                "rated_dwpd": rating.dwpd,
                "rated_years": rating.years,
                "life_ratio": rating.life_ratio,
                "write_amplification_limit": rating.write_amplification_limit,
            }
        return row | {
            "seed": data.scenario.seed,
            "mode": data.mode,
            "version": data.version,
            "final_draw": data.final_draw,
            "warnings": "; ".join(data.warnings),
        }

    def _timing_figures(self) -> dict[str, Any]:
        timing = self.timed()
        busy = sum(sum(die.values()) for die in timing.dies)
        row: dict[str, Any] = {
            "elapsed_s": timing.elapsed_ns / 1e9,
            "requests_per_s": timing.requests_per_s,
            "mb_per_s": timing.bytes_per_s / 1e6,
            "die_utilisation": busy / max(len(timing.dies) * timing.elapsed_ns, 1.0),
        }
        for kind, times in timing.requests.items():
            row[f"{kind}_mean_us"] = times.mean_ns / 1e3
            for at in times.percentiles:
                row[f"{kind}_p{at.percent:g}_us"] = at.response_ns / 1e3
                row[f"{kind}_p{at.percent:g}_cleaning_share"] = at.cleaning_share
            row[f"{kind}_max_us"] = times.max_ns / 1e3
        return row

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._data, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        left, right = ({**each._data, "performance": None} for each in (self, other))  # noqa: SLF001 - its own kind
        return left == right

    def _figures(self) -> list[tuple[str, str]]:
        data = self._data
        estimate = data.write_amplification_estimate or {}
        half_width = estimate.get("ci95_half_width")
        amplification = "means nothing here" if data.write_amplification is None else f"{data.write_amplification:.4f}"
        if half_width is not None:
            amplification += f" ± {half_width:.4f} (95 %)"
        device, phases = data.device, data.phases
        figures = [
            ("write amplification", amplification),
            ("logical capacity", f"{device.logical_pages * device.page_bytes / 2**30:.3f} GiB"),
            ("spare factor", f"{device.over_provisioning.spare_factor:.4f}"),
            ("measured", f"{phases.measured_drive_writes:.2f} drive writes"),
            ("steady", "yes" if phases.steady else "no"),
            ("erases of a block", f"mean {data.wear.erases_mean:.2f}, most {data.wear.erases_max}"),
        ]
        if data.lifetime:
            figures.append(("lifetime", f"{data.lifetime.tbw:.4g} TB written, {data.lifetime.dwpd:.3g} DWPD"))
        return figures

    def __repr__(self) -> str:
        return f"<wearwell.Result write_amplification={self._data.write_amplification} mode={self._data.mode!r}>"

    def __str__(self) -> str:
        name = self._data.scenario.get("name")
        lines = [f"{label:<20} {value}" for label, value in self._figures()]
        lines += [f"warning: {warning}" for warning in self._data.warnings]
        return "\n".join([name, *lines] if name else lines)

    def plot(self, ax: Axes | None = None, *, width: str | float = "column") -> Axes:
        """Draw the course of write amplification; see `wearwell.plot.course`."""
        return draw_course({"write amplification": course_of(self)}, ax, width=width)

    def _repr_html_(self) -> str:
        data = self._data
        parts = [_html.figures(data.scenario.get("name") or "Result", self._figures())]
        if len(data.layers) > 1:
            rows = [
                (layer.name, _figure(layer.write_amplification), _figure(layer.victim_valid_pages_mean))
                for layer in data.layers
            ]
            parts.append(_html.table("Layers", ("layer", "write amplification", "valid pages of a victim"), rows))
        if data.get("timing") is not None:
            times = [
                (kind, str(times.requests), *(f"{value / 1e3:,.1f}" for value in (times.mean_ns, times.max_ns)))
                for kind, times in data.timing.requests.items()
            ]
            parts.append(_html.table("Response times", ("request", "requests", "mean (µs)", "longest (µs)"), times))
        course = [
            (window.host_pages / data.device.logical_pages, window.write_amplification)
            for window in data.windows
            if window.write_amplification is not None
        ]
        if course:
            ends = f"{min(value for _, value in course):.3f} to {max(value for _, value in course):.3f}"
            text = f"write amplification over {course[-1][0]:.1f} drive writes: {ends}"
            parts.append(_html.line(course, text))
        return "".join([*parts, _html.notes(data.warnings, "Warning:")])


def course_of(result: Result) -> Course:
    """Return the course of write amplification, for drawing."""
    windows = result.windows
    estimate = result.write_amplification_estimate or {}
    return Course(
        drive_writes=windows.host_pages / result.device.logical_pages,
        # There is no value before the first cleaning.
        write_amplification=windows.write_amplification.astype(float),
        measured_drive_writes=result.phases.measured_drive_writes,
        mean=result.write_amplification,
        half_width=estimate.get("ci95_half_width") or 0.0,
    )
