"""Windows over rows that keep coming, with their state in a store.

    encoding   tables as bytes
    log        rows that are kept: one table in memory, sealed chunks in the store
    waiting    rows that came before their turn
    rows       windows that hold rows (rows=, range=, until=)
    growing    windows that only grow (unbounded, on=)
    hopping    windows over slices
    bucket     all of it for many keys at a time: what one step of a stream does

Nothing here knows of Spark.
"""
