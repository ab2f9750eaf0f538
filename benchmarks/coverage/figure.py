"""The figure: coverage where whole clusters are drawn beside that of single units."""

from collections.abc import Iterator

from benchmarks.coverage.counts import CLAIM, Line

SHOWN = {
    "kendall, close": "tau-b",
    "spearman, close": "Spearman",
    "pearson, close": "Pearson",
    "kendall, difference": "difference of two tau-b",
    "ppa strict, coarse": "PPA strict",
    "alpha_nominal": "alpha nominal",
    "alpha_ordinal": "alpha ordinal",
    "alpha_interval": "alpha interval",
    "ac2_quadratic": "AC2",
    "bradley-terry": "Bradley-Terry",
    "mean rating": "mean rating",
}
TICKS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
LEAST = TICKS[0]
LEFT, TOP, WIDTH, STEP = 250, 40, 420, 22
CLUSTERS = 'r="5" fill="#1b4f8f"'
UNITS = 'r="4.5" fill="#fff" stroke="#b5452c" stroke-width="2"'


def figure(lines: list[Line]) -> str:
    """Draw a row for every statistic counted both ways, as SVG."""
    rows = list(counted_both_ways(lines))
    bottom = TOP + STEP * len(rows)
    height = bottom + 30
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        "<title>Share of 95 % intervals that contain the truth</title>",
        f'<rect width="700" height="{height}" fill="#fff"/>',
        f'<rect x="{x(CLAIM[0]):.1f}" y="{TOP}" '
        f'width="{x(CLAIM[1]) - x(CLAIM[0]):.1f}" '
        f'height="{bottom - TOP}" fill="#d8ecd8"/>',
        *legend(),
        *axis(bottom),
    ]
    for n, (label, clusters, units) in enumerate(rows):
        drawn += row(TOP + STEP * (n + 0.5), label, clusters, units)
    return "\n".join([*drawn, "</svg>"]) + "\n"


def counted_both_ways(lines: list[Line]) -> Iterator[tuple[str, Line, Line]]:
    """Yield the label of a statistic, its line with clusters, and that with units."""
    for statistic, label in SHOWN.items():
        own = [line for line in lines if line.statistic == statistic]
        for units in (line for line in own if line.resample == "units"):
            if (units.family, units.drawn) == ("correlation", "stories"):
                continue
            for line in own:
                if studies_of(line) == studies_of(units) and line.resample != "units":
                    more = {"correlation": line.level, "agreement": line.resample}
                    suffix = f", {more[line.family]}" if line.family in more else ""
                    yield label + suffix, line, units


def studies_of(line: Line) -> tuple[str, ...]:
    return line.family, line.level, line.size, line.drawn


def x(share: float) -> float:
    return LEFT + WIDTH * (share - LEAST) / (1 - LEAST)


def legend() -> Iterator[str]:
    yield f'<circle cx="{LEFT}" cy="16" {CLUSTERS}/>'
    yield f'<text x="{LEFT + 10}" y="20">whole clusters drawn</text>'
    yield f'<circle cx="{LEFT + 170}" cy="16" {UNITS}/>'
    yield f'<text x="{LEFT + 180}" y="20">single units drawn</text>'


def axis(bottom: float) -> Iterator[str]:
    for tick in TICKS:
        yield f'<path d="M{x(tick):.1f} {TOP}V{bottom}" stroke="#ddd"/>'
        if tick != 0.95:
            yield (
                f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">'
                f"{tick:.0%}</text>"
            )


def row(y: float, label: str, clusters: Line, units: Line) -> Iterator[str]:
    yield f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    for line, style in ((units, UNITS), (clusters, CLUSTERS)):
        low, high = (
            x(min(max(line.coverage + z * line.error, LEAST), 1)) for z in (-2, 2)
        )
        yield f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="#888"/>' + (
            f'<circle cx="{x(max(line.coverage, LEAST)):.1f}" cy="{y:.1f}" {style}/>'
        )
