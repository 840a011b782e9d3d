"""What assumes promise about a value, gathered and reduced to what is not known anyway."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tileport.verify.ir.canonical.nodes import Node

_DIV_BY = re.compile(r"div_by<(\d+)>")
_BOUNDED = re.compile(r"bounded<(\?|-?\d+), (\?|-?\d+)>")


@dataclass(slots=True)
class Facts:
    """The promises about one value, all of which hold wherever the value exists.

    `divisor` is a power of two (bytes for a pointer); `low` and `high` are signed and inclusive;
    `other` holds every other predicate as text (`same_elements<[1, 4]>`,
    `div_by<16, every 4 along 0>`).
    """

    divisor: int = 1
    low: int | None = None
    high: int | None = None
    other: set[str] = field(default_factory=set)

    def add(self, predicate: str) -> None:
        """Take one assume predicate in."""
        self.merge(_parsed(predicate))

    def merge(self, more: Facts) -> None:
        """Take all promises of `more` in."""
        self.divisor = max(self.divisor, more.divisor)
        if more.low is not None:
            self.low = more.low if self.low is None else max(self.low, more.low)
        if more.high is not None:
            self.high = more.high if self.high is None else min(self.high, more.high)
        self.other |= more.other

    def common(self, other: Facts) -> Facts:
        """What both promise."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        divisor = min(self.divisor, other.divisor)
        return Facts(divisor, low, high, self.other & other.other)


@lru_cache(maxsize=1024)
def _parsed(predicate: str) -> Facts:
    """The facts of one predicate; nobody may change them."""
    match = _DIV_BY.fullmatch(predicate)
    if match:
        value = int(match[1])
        if value > 0 and value & (value - 1) == 0:
            return Facts(divisor=value)
    match = _BOUNDED.fullmatch(predicate)
    if match:
        low, high = (None if bound == "?" else int(bound) for bound in match.groups())
        return Facts(low=low, high=high)
    return Facts(other={predicate})


def attach(node: Node, facts: Facts, limits: Mapping[bytes, Facts] | None = None) -> None:
    """Add facts to a node and narrow its range and divisor.

    Args:
        node: The value.
        facts: What is promised about it.
        limits: By digest, what may be used of the facts to narrow range and divisor; a value that
            is not in it uses all of its facts. They are kept for comparison in any case.
    """
    if node.facts is None:
        node.facts = Facts()
    node.facts.merge(facts)
    have = node.facts
    if limits is not None:
        have = limits.get(node.digest, have)
    node.divisor = max(node.divisor, have.divisor)
    if node.range is not None:
        low, high = node.range
        if have.low is not None:
            low = max(low, have.low)
        if have.high is not None:
            high = min(high, have.high)
        # An empty range is a false promise; the program is undefined then, so any range is right.
        if low <= high:
            node.range = (low, high)


_NOTHING = Facts()


def implied(node: Node, predicate: str) -> bool:
    """Whether a predicate follows from what is known of `node` everywhere."""
    facts = _parsed(predicate)
    have = node.facts or _NOTHING
    if not facts.other <= have.other or facts.divisor > max(node.divisor, have.divisor):
        return False
    least, most = node.range or (None, None)
    lows = [each for each in (least, have.low) if each is not None]
    highs = [each for each in (most, have.high) if each is not None]
    if facts.low is not None and not any(facts.low <= each for each in lows):
        return False
    return facts.high is None or any(each <= facts.high for each in highs)


def subject(node: Node, predicate: str) -> Node:
    """The value that a promise about `node` is really about.

    A bound or a divisor of all elements of a splat, reshape, broadcast or permute is one of all
    elements of what was laid out.
    """
    if _DIV_BY.fullmatch(predicate) or _BOUNDED.fullmatch(predicate):
        while node.op in ("splat", "reshape", "broadcast", "permute"):
            node = node.operands[0]
    return node


def essential(node: Node) -> tuple[str, ...]:
    """The promises about `node` that do not follow from what it is computed from, as text.

    `div_by<16>` implies `div_by<8>`; a bound that interval analysis proves is no promise. Sorted.
    """
    facts = node.facts
    if facts is None:
        return ()
    derived_range, derived_divisor = node.derived
    found: list[str] = []
    if facts.divisor > derived_divisor:
        found.append(f"div_by<{facts.divisor}>")
    low, high = facts.low, facts.high
    if derived_range is not None:
        if low is not None and low <= derived_range[0]:
            low = None
        if high is not None and high >= derived_range[1]:
            high = None
    if low is not None or high is not None:
        found.append(f"bounded<{'?' if low is None else low}, {'?' if high is None else high}>")
    found.extend(sorted(facts.other))
    return tuple(found)
