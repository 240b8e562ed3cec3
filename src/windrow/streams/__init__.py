"""Windows over rows that keep coming, with their state in a store.

    encoding   tables as bytes
    log        rows that are kept: one table in memory, sealed chunks in the store
    waiting    rows that came before their turn
    history    rows that are kept, and the states of many: chunks in the store, read as needed
    chunks     windows over a history (rows=, range=)
    rows       windows over a log of rows (until=, rows= with a slide, what has no short state)
    aggregates windows that only grow (unbounded, on=)
    slices     hopping windows
    plan       which of them a stream's queries need
    bucket     all of it for many keys at a time: what one step of a stream does

Nothing here knows of Spark.
"""
