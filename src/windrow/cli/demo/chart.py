"""The demo's picture: a plug and its hourly peak, a house and its means and percentiles."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.demo.questions import QUANTILES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INK = "#123456"  # stands for the colour of text, which a page chooses
_READINGS, _PEAK, _MEAN = "#8a94a6", "#e4572e", "#2e86ab"
_BURST = 300  # watts
_SHARES = ("#7fb069", "#d6a419", "#a05195")


def draw(readings: pa.Table, answers: dict[str, pa.Table]) -> Figure:
    """Two panels over the same time: per reading above, per window below."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.dates import DateFormatter
    from matplotlib.figure import Figure

    clock: Any = DateFormatter
    plug, house = _busiest(readings)
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    peak = _where(answers["peak"], "plug_id", plug).sort_by("ts")
    time = peak.column("ts").to_numpy()
    above.plot(time, peak.column("load").to_numpy(), lw=0.9, color=_READINGS, label="readings")
    above.plot(
        time, peak.column("peak").to_numpy(), lw=1.6, color=_PEAK, label="peak of the last hour"
    )
    above.set_title(f"plug {plug}: every reading has its answer", loc="left")
    hourly = _whole(_where(answers["hourly"], "house_id", house), readings)
    ends = hourly.column("window_end").to_numpy()
    below.plot(ends, hourly.column("mean").to_numpy(), lw=1.8, color=_MEAN, label="mean of an hour")
    shares = _whole(_where(answers["percentiles"], "house_id", house), readings)
    ends = shares.column("window_end").to_numpy()
    estimates = shares.column("percentiles").to_pylist()
    names = ["median" if share == 0.5 else f"{share * 100:.0f}th percentile" for share in QUANTILES]
    for i, (name, colour) in enumerate(zip(names, _SHARES, strict=True)):
        line = [row[i] for row in estimates]
        below.plot(ends, line, lw=1.2, color=colour, label=name)
    below.set_yscale("log")
    below.set_title(f"house {house}: a window every minute, percentiles every ten", loc="left")
    below.xaxis.set_major_formatter(clock("%H:%M"))
    for panel in (above, below):
        panel.set_ylabel("load, watts")
        panel.grid(color=_INK, alpha=0.15, lw=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, loc="upper left", fontsize=9, ncols=4)
        panel.margins(x=0)
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * (1.25 if panel is above else 3))  # room for the legend
    return figure


def save(figure: Figure, folder: Path) -> list[Path]:
    """chart.png and chart.svg."""
    made = [folder / "chart.png", folder / "chart.svg"]
    figure.savefig(made[0], dpi=150, facecolor="white")
    made[1].write_text(_svg(figure, facecolor="white"), "utf-8")
    return made


def inline(figure: Figure) -> str:
    """The picture as an element of a page: it takes the page's colours, and its fonts."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        for panel in figure.axes:
            _ink(panel)
        text = _svg(figure, transparent=True)
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"font: ?([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*"',
        r"<svg \1",
        re.sub(r' height="[\d.]+pt"', "", text, count=1),
        count=1,
    )


def _ink(panel: Any) -> None:
    panel.tick_params(colors=_INK, which="both")
    for label in (panel.title, panel._left_title, panel.xaxis.label, panel.yaxis.label):
        label.set_color(_INK)
    for spine in panel.spines.values():
        spine.set_color(_INK)
    for text in panel.get_legend().get_texts():
        text.set_color(_INK)


def _svg(figure: Figure, **options: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, **options)
    return out.getvalue()


def _busiest(readings: pa.Table) -> tuple[int, int]:
    """The plug that was most often far above its usual load, and its house."""
    bursts = readings.filter(pc.greater(readings.column("load"), _BURST))
    counts = bursts.group_by(["plug_id", "house_id"]).aggregate([("load", "count")])
    row = counts.sort_by([("load_count", "descending"), ("plug_id", "ascending")]).slice(0, 1)
    (found,) = row.to_pylist()
    return found["plug_id"], found["house_id"]


def _where(table: pa.Table, name: str, value: int) -> pa.Table:
    return table.filter(pc.equal(table.column(name), value))


def _whole(windows: pa.Table, readings: pa.Table) -> pa.Table:
    """The windows that lie within the time of the readings: the others are not full."""
    ends = pc.min_max(readings.column("ts")).as_py()
    starts = pc.greater_equal(windows.column("window_start"), pa.scalar(ends["min"]))
    stops = pc.less_equal(windows.column("window_end"), pa.scalar(ends["max"]))
    return windows.filter(pc.and_(starts, stops)).sort_by("window_end")
