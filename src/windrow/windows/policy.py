"""The window slide policy of paper 001: a function that says which of the oldest values must go.

    policy(total, old) -> bool

`total` is the aggregate of the window with its newest value, `old` that of an oldest part of it:
true means that at least this part must go. Both are answers, as `query` gives them: for one
aggregation its answer, for several a `Record` with a field for each name. A part that holds nothing
but nulls answers None, as an empty window does.

    window    [  v₀   v₁   v₂  │  v₃   v₄   v₅  ]         total: of v₀ … v₅
              └───── old ──────┘                          true: v₀ … v₂ go, perhaps more

What goes is the longest oldest part for which the policy is true. Nothing holds the newest value
back: a policy that is true of ``old == total`` leaves an empty window, as the paper's "updates that
add up to at most 10" does when an 11 arrives. A policy that keeps the newest asks for a rest, as in
``total.count - old.count >= 1``.

A policy must be monotone: where it is true of an oldest part, it is true of every shorter one. Then
it is found by a search down the tree, in O(log k) calls and ⊕ for k values that go, which is O(1) a
value on average. A policy that is not monotone, such as one that compares the means of the two
sides, is asked of the oldest value first, and ends at some boundary: it is true of the part that
goes, and false of that part with one value more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.aggregations.together import Record
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, did_you_mean

Policy = Callable[[Any, Any], object]


def leaving(swag: Aggregator, policy: Policy, value: Any) -> int:
    """How many of the oldest must go once `value` has been inserted; the window stays as it is.

    Asked before the insert, so that a policy that raises leaves the window alone. The value itself
    is counted where it must go, too. O(log k) ⊕ and calls of the policy for an answer of k.

    >>> from windrow import Last, Max, Sum, aggregator
    >>> def above_ten(total, old):
    ...     return total.sum - old.sum + old.last > 10
    >>> swag = aggregator({"max": Max(), "sum": Sum(), "last": Last()}, algorithm="amta")
    >>> swag.extend([2, 2, 3, 3])
    >>> leaving(swag, above_ten, 4), leaving(swag, above_ten, 11)
    (2, 5)
    """
    total = swag.query_with(value)
    gone = swag.count_while(lambda old: _goes(policy, total, old))
    if gone == len(swag) and _goes(policy, total, total):
        gone += 1
    return gone


def _goes(policy: Policy, total: Any, old: Any) -> bool:
    try:
        return bool(policy(total, old))
    except AttributeError as error:
        if isinstance(error.obj, Record):
            raise InvalidArgument(
                f"until: the policy asks for .{error.name}, which the window does not compute; "
                f"{did_you_mean(error.name or '', error.obj)}"
            ) from None
        raise
