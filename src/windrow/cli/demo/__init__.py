"""`windrow demo`: the main job on made-up data, and a page that shows it.

command    what was asked for
run        the steps, one after the other, and what came of them
questions  the queries, and how Spark's own functions would ask them
arrivals   the readings as files that come in one by one, and which rows come too late
batch      the queries over all rows at once, timed, windrow's and Spark's
streaming  the same queries over the files as they come
agreement  two sets of answers, row for row
report     what was found as a table, as JSON, and as files
chart      the picture;  page  the HTML around it
"""
