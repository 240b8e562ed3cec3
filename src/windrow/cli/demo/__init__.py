"""`windrow demo`: the main job on made-up data, and a page that shows it.

command    the options; what was found as a table, as JSON, and as files
questions  the queries, and how Spark's own functions would ask them
arrivals   the readings as files that come in one by one, and which rows come too late
run        the queries over all rows at once, by Spark's own functions, and as streams
agreement  two tables of results, row for row
chart      the picture
"""
