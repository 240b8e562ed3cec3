"""Windows over rows that keep coming, with their state in a store.

    encoding   tables as bytes
    log        rows that are kept: one table in memory, sealed chunks in the store
    waiting    rows that came before their turn
    history    rows that are kept, and the aggregates of many: chunks in the store, read as needed
    sliding    windows over a history (rows=, range=)
    rows       windows over a log of rows (until=, rows= with a slide, what has no short aggregate)
    growing    windows that only grow (unbounded, on=)
    hopping    windows over slices
    bucket     all of it for many keys at a time: what one step of a stream does

Nothing here knows of Spark.
"""
