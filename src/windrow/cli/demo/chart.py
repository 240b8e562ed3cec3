"""The demo's picture: a plug with its hourly peak and mean, and the mean of its house."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK = "#22262e"  # of text; the page puts its own in this one's place
_COLOURED: Any = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
_READINGS, _PEAK, _MEAN = "#8a94a6", "#e4572e", "#2e86ab"
_BURST = 300  # watts
_WIDE, _NARROW = (10, 6.4), (4.4, 6.4)  # inches


class Pictures(NamedTuple):
    """The picture as an element of a page: for a screen, and for a telephone."""

    wide: str
    narrow: str


def save_charts(
    readings: pa.Table, results: dict[str, pa.Table], folder: Path
) -> tuple[Pictures, list[Path]]:
    """Write chart.png and chart.svg; return the picture as elements of a page, and the paths."""
    import matplotlib

    matplotlib.use("agg")
    with matplotlib.rc_context(dict.fromkeys(_COLOURED, _INK)):
        figure, narrow = (_draw(readings, results, size) for size in (_WIDE, _NARROW))
    png, svg = folder / "chart.png", folder / "chart.svg"
    figure.savefig(png, dpi=150, facecolor="white")
    svg.write_text(_svg(figure, facecolor="white"), "utf-8")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        elements = (_element(_svg(size, transparent=True)) for size in (figure, narrow))
        return Pictures(*elements), [png, svg]


def _draw(readings: pa.Table, results: dict[str, pa.Table], size: tuple[float, float]) -> Figure:
    """Return two panels over the same time: per reading above, per window below."""
    from matplotlib.dates import AutoDateLocator, DateFormatter
    from matplotlib.figure import Figure

    clock, ticks = cast("Any", DateFormatter), cast("Any", AutoDateLocator)
    narrow = size == _NARROW
    colon = ":\n" if narrow else ": "
    plug, house = _busiest(readings)
    figure = Figure(figsize=size, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    rows = _rows_of(results["plugs"], "plug_id", plug).sort_by("ts")
    time, load, peak, mean = (rows[n].to_numpy() for n in ("ts", "load", "peak", "mean"))
    above.plot(time, load, lw=0.9, color=_READINGS, label="readings")
    above.plot(time, peak, lw=1.6, color=_PEAK, label="peak of the last hour")
    above.plot(time, mean, lw=1.4, color=_MEAN, label="mean of the last hour")
    above.set_title(f"plug {plug}{colon}every reading has its result", loc="left")
    rows = _full_windows(_rows_of(results["houses"], "house_id", house), readings)
    time, mean = (rows[name].to_numpy() for name in ("window_end", "mean"))
    below.plot(time, mean, lw=1.8, color=_MEAN, label="mean of an hour")
    below.set_title(f"house {house}{colon}a window of an hour every minute", loc="left")
    below.xaxis.set_major_locator(ticks(minticks=3, maxticks=6 if narrow else 12))
    below.xaxis.set_major_formatter(clock("%H:%M"))
    for panel in (above, below):
        panel.set_ylabel("load, watts")
        panel.grid(color=_INK, alpha=0.15, lw=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, loc="upper left", fontsize=9, ncols=2 if narrow else 4)
        panel.margins(x=0)
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * (1.35 if narrow else 1.2))  # room for the legend
    return figure


def _svg(figure: Figure, **options: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, **options)
    return out.getvalue()


def _element(text: str) -> str:
    """Return the picture as an element that takes the page's colours, fonts and width."""
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"font: ?([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    return re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)


def _busiest(readings: pa.Table) -> tuple[int, int]:
    """Return the plug that was most often far above its usual load, and its house."""
    bursts = readings.filter(pc.greater(readings["load"], _BURST))
    counts = bursts.group_by(["plug_id", "house_id"]).aggregate([("load", "count")])
    row = counts.sort_by([("load_count", "descending"), ("plug_id", "ascending")]).slice(0, 1)
    return row["plug_id"][0].as_py(), row["house_id"][0].as_py()


def _rows_of(table: pa.Table, name: str, value: int) -> pa.Table:
    return table.filter(pc.equal(table[name], value))


def _full_windows(windows: pa.Table, readings: pa.Table) -> pa.Table:
    """Return the windows that lie within the time of the readings: the others are not full."""
    ends = pc.min_max(readings["ts"])
    starts = pc.greater_equal(windows["window_start"], ends["min"])
    stops = pc.less_equal(windows["window_end"], ends["max"])
    return windows.filter(pc.and_(starts, stops)).sort_by("window_end")
