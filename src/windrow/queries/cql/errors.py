"""What to write instead of what CQL leaves out of SQL."""

from __future__ import annotations

INNER = "ask the inner query first, and give its results as a frame"
# The clauses of SQL that are left out, by their names in sqlglot's tree: the word that begins each,
# and what to do instead.
CLAUSES = {
    "distinct": ("DISTINCT", "ISTREAM(…) leaves out results that repeat the one before"),
    "joins": ("JOIN", "a query reads one stream; join the frames first"),
    "laterals": ("LATERAL", "a query reads one stream; join the frames first"),
    "order": ("ORDER BY", "results keep the order of the rows; ORDER BY in […] orders the stream"),
    "limit": ("LIMIT", "take the first rows of the result; […] says which rows count"),
    "offset": ("OFFSET", "take what is needed from the result"),
    "qualify": ("QUALIFY", "HAVING chooses among the results"),
    "windows": ("WINDOW", "the window goes into […] after the name of the stream"),
    "with_": ("WITH", INNER),
    "group": ("GROUP BY", "OVER (PARTITION BY …) aggregates, and keeps every row"),
    "having": ("HAVING", "QUALIFY chooses among the results of windows"),
    "into": ("INTO", "the results are a frame; store them from there"),
}
# What may surround an aggregation in SQL.
AROUND = {
    "window": ("OVER", "the window goes into […] after the name of the stream"),
    "ignorenulls": ("IGNORE NULLS", "nulls are always skipped; leave it out"),
    "respectnulls": ("RESPECT NULLS", "nulls are always skipped"),
}
# What may stand before or after its column.
INSIDE = {
    "distinct": ("DISTINCT", "only COUNT(DISTINCT load) has it; COLLECTDISTINCT collects"),
    "order": (
        "ORDER BY",
        "values come in the order of the window: ORDER BY goes into […] or OVER (…)",
    ),
    "star": ("*", "only COUNT(*) has it"),
}
ONE_STREAM = CLAUSES["joins"][1]
NO_WINDOW = (
    "add [RANGE 1 HOUR] or [ROWS 100], or [UNBOUNDED] for all rows so far; or OVER (…) to each "
    "call, or GROUP BY"
)
OF_RESULTS = "give each aggregation a name of its own, and compute with the results"
