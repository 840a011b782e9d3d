"""Memory order: which effects are before which, as tokens say it.

Tile IR orders memory operations of a tile block by tokens alone; the order in the text means
nothing. A token stands for a set of earlier operations; an operation that takes a token is after
all of them, and after all that they are after. So what counts is the transitive relation, not the
edges, and one token threaded through says the same as several joined.

Loops run operations many times. For an operation `b` and an earlier one `e` the relation says:

- `mask`: every run of `e` that lies before this run of `b` in the running program is before it:
  all runs of `e` since the innermost loop around both began its present iteration. Bit `i` stands
  for effect number `i`.
- `carried`: the runs of `e` in earlier iterations of a loop around both, by distance: `(1, True)`
  is all earlier iterations, `(1, False)` only the last one.
- `odd`: whatever else there is (only on one side of a branch, only in the first iteration, ...),
  word for word. It is rare; it is compared, not understood. A carried token that is in it stays a
  name; what the name means (`LoopOrder.initial` and `following`) is compared as well.

`arguments` are tokens carried by a loop that is not finished yet; `LoopOrder.settle` replaces them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tileport.verify.ir.canonical.nodes import Block, Node

#: A carried token: number of the loop, position among its carried values.
TokenArgument = tuple[int, int]


class Construct(int):
    """Number of a loop or branch inside a reason; told from other numbers by its type."""


Reason = tuple[str | int, ...]
#: An effect (by number) or a carried token, and why it is not simply before.
Odd = tuple[int | TokenArgument, Reason]
Distances = frozenset[tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class TokenSet:
    """What a token stands for, closed under the relation."""

    mask: int = 0
    arguments: frozenset[TokenArgument] = frozenset()
    odd: frozenset[Odd] = frozenset()


@dataclass(slots=True)
class Before:
    """What is before one effect; see the module. `number` is the effect's own."""

    number: int
    mask: int = 0
    arguments: frozenset[TokenArgument] = frozenset()
    odd: frozenset[Odd] = frozenset()
    #: Distances by loop and effect number.
    carried: dict[tuple[int, int], Distances] = field(default_factory=dict)

    def token(self) -> TokenSet:
        """The token that the effect gives out: itself and all before it."""
        return TokenSet(self.mask | 1 << self.number, self.arguments, self.odd)


EMPTY = TokenSet()


def join(tokens: Iterable[TokenSet]) -> TokenSet:
    """The token that stands for all of several tokens."""
    mask = 0
    arguments: frozenset[TokenArgument] = frozenset()
    odd: frozenset[Odd] = frozenset()
    for token in tokens:
        mask |= token.mask
        arguments |= token.arguments
        odd |= token.odd
    return TokenSet(mask, arguments, _without(odd, mask, arguments))


def _without(odd: frozenset[Odd], mask: int, arguments: frozenset[TokenArgument]) -> frozenset[Odd]:
    """The odd elements that are not simply before as well.

    One about earlier iterations stays: `mask` is about the present one.
    """
    if not odd:
        return odd
    return frozenset(
        each
        for each in odd
        if "carried" in each[1]
        or not (mask >> each[0] & 1 if isinstance(each[0], int) else each[0] in arguments)
    )


def bits_of(mask: int) -> list[int]:
    """The numbers of the bits that are set, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def excludes(block: Block, other: Block) -> bool:
    """Whether no execution of `other` comes in one iteration with one of `block`.

    True where both lie on different sides of one branch.
    """
    first: Block | None = block
    second: Block | None = other
    while first is not None and second is not None and first.depth > second.depth:
        first = first.parent
    while first is not None and second is not None and second.depth > first.depth:
        second = second.parent
    if first is second:
        return False
    while first is not None and second is not None and first.parent is not second.parent:
        first, second = first.parent, second.parent
    return first is not None and second is not None and first.group == second.group


def merge(sites: list[tuple[TokenSet, Block]], effects: list[Node], reason: Reason) -> TokenSet:
    """The token at a point that is reached from one of several sites.

    What is before at every site from which it can have run is before. What is before only at some
    sites is odd, with `reason` and the sites.

    Args:
        sites: Token and block of each way in.
        effects: All effects by number.
        reason: Names the point (`if` 3, `exit of loop` 4).
    """
    if not sites:
        return EMPTY
    if len(sites) == 1:
        return sites[0][0]
    union = join(token for token, _ in sites)
    common = sites[0][0].mask
    arguments = sites[0][0].arguments
    odd = sites[0][0].odd
    for token, _ in sites[1:]:
        common &= token.mask
        arguments &= token.arguments
        odd &= token.odd
    found = common
    rest: set[Odd] = set(odd)
    for number in bits_of(union.mask & ~common):
        block = effects[number].block
        missing = [
            place
            for place, (token, site) in enumerate(sites)
            if not token.mask >> number & 1 and not excludes(block, site)
        ]
        if missing:
            rest.add((number, (*reason, *missing)))
        else:
            found |= 1 << number
    for argument in union.arguments - arguments:
        missing = [
            place for place, (token, _) in enumerate(sites) if argument not in token.arguments
        ]
        rest.add((argument, (*reason, *missing)))
    for each in union.odd - odd:
        missing = [place for place, (token, _) in enumerate(sites) if each not in token.odd]
        rest.add((each[0], (*each[1], *reason, *missing)))
    return TokenSet(found, arguments, _without(frozenset(rest), found, arguments))


def _joined(distances: Iterable[tuple[int, bool]]) -> Distances:
    """Distances with what follows from others left out: a starred one covers all larger ones."""
    singles = {distance for distance, star in distances if not star}
    stars = [distance for distance, star in distances if star]
    if not stars:
        return frozenset((distance, False) for distance in singles)
    start = min(stars)
    while start - 1 in singles:
        start -= 1
    return frozenset(
        {(start, True)} | {(distance, False) for distance in singles if distance < start}
    )


@dataclass(slots=True)
class CarriedToken:
    """What a carried token stands for at a later iteration, and after the loop."""

    outside: TokenSet
    carried: dict[int, Distances]


class LoopOrder:
    """The tokens of one loop, resolved once its body is built.

    Args:
        loop: Number of the loop.
        initial: Token that goes in at each token position of the carried values.
        following: Token that each iteration hands to the next, by position.
        first: Number of the first effect of the body.
        last: One more than the number of the last one.
    """

    def __init__(
        self,
        loop: int,
        initial: dict[int, TokenSet],
        following: dict[int, TokenSet],
        first: int,
        last: int,
    ) -> None:
        self.loop = loop
        self.named = Construct(loop)
        self.initial = initial
        self.following = following
        self.body = ((1 << last) - 1) & ~((1 << first) - 1)
        self._next = {
            place: sorted(
                inner for owner, inner in token.arguments if owner == loop and inner in initial
            )
            for place, token in following.items()
        }
        self.content = {place: self._content(place) for place in initial}

    def _content(self, place: int) -> CarriedToken:
        """What position `place` stands for in any iteration but the first, and what in all."""
        distances: dict[int, set[tuple[int, bool]]] = {}
        reached = self._walk(place)
        odd: set[Odd] = set()
        for at, steps in reached.items():
            token = self.following[at]
            for number in bits_of(token.mask & self.body):
                distances.setdefault(number, set()).update((step + 1, star) for step, star in steps)
            odd.update(
                (element, (*why, "carried", self.named, *_flat(steps)))
                for element, why in token.odd
            )
        initial, outer = self.initial[place], self._outer(place)
        kept = place in self._next.get(place, [])
        if kept:
            mask, arguments = initial.mask, initial.arguments
        else:
            mask, arguments = initial.mask & outer.mask, initial.arguments & outer.arguments
        # Other elements are before in some iterations only. What a position starts with and what
        # is handed to it come one iteration apart, so they have reasons of their own.
        known = TokenSet(mask, arguments)
        odd.update(_beyond(initial, known, ("first", self.named)))
        odd.update(_beyond(outer, known, ("not first", self.named)))
        word = "in" if kept else "first"
        odd.update((element, (*why, word, self.named)) for element, why in initial.odd)
        for at, steps in reached.items():
            later = [each for each in steps if at != place or each[0] > 0]
            if not later:
                continue
            started: Reason = ("started", self.named, *_flat(later))
            handed: Reason = ("handed", self.named, *_flat(later))
            odd.update(_beyond(self.initial[at], known, started))
            odd.update(_beyond(self._outer(at), known, handed))
            odd.update((element, (*why, *started)) for element, why in self.initial[at].odd)
        outside = TokenSet(mask, arguments, _without(frozenset(odd), mask, arguments))
        return CarriedToken(outside, {each: _joined(found) for each, found in distances.items()})

    def _outer(self, place: int) -> TokenSet:
        """What the body hands on at `place` from outside of the loop."""
        token = self.following[place]
        arguments = frozenset(each for each in token.arguments if each[0] != self.loop)
        return TokenSet(token.mask & ~self.body, arguments)

    def _walk(self, place: int) -> dict[int, Distances]:
        """Positions that a token passes on its way back, with the iterations that takes.

        A position that hands itself on makes everything behind it starred. Positions that swap
        places in a longer circle are listed for as many steps as there are positions, squared:
        enough to tell two such loops apart.
        """
        found: dict[int, set[tuple[int, bool]]] = {}
        limit = max(4, len(self.initial) ** 2 + 1)
        pending = [(place, 0, False)]
        while pending:
            at, steps, star = pending.pop()
            own = star or at in self._next.get(at, [])
            have = found.setdefault(at, set())
            if (steps, own) in have or steps > limit:
                continue
            have.add((steps, own))
            pending.extend((to, steps + 1, own) for to in self._next.get(at, []) if to != at)
        return {at: _joined(steps) for at, steps in found.items()}

    def settle(self, before: Before) -> None:
        """Replace this loop's carried tokens in what is before an effect of the body."""
        mine = [each for each in before.arguments if each[0] == self.loop]
        if not mine:
            return
        rest = before.arguments.difference(mine)
        outside = join(
            [
                TokenSet(before.mask, rest, before.odd),
                *(self.content[place].outside for _, place in mine),
            ]
        )
        before.mask, before.arguments, before.odd = outside.mask, outside.arguments, outside.odd
        for _, place in mine:
            for number, distances in self.content[place].carried.items():
                key = (self.loop, number)
                before.carried[key] = _joined(before.carried.get(key, frozenset()) | distances)

    def after_for(self, place: int) -> TokenSet:
        """The token that comes out of a `for` at a position: what the next iteration would get."""
        return self._after(EMPTY, [place], None)

    def after_break(self, token: TokenSet, skipped: frozenset[int]) -> TokenSet:
        """The token that comes out of a `loop` through a `break` with `token`.

        Args:
            token: The token handed to the break.
            skipped: Numbers of the body's effects that cannot run before this break in the
                same iteration.
        """
        places = [place for owner, place in token.arguments if owner == self.loop]
        return self._after(token, places, skipped)

    def _after(
        self, token: TokenSet, places: list[int], skipped: frozenset[int] | None
    ) -> TokenSet:
        """See `after_for` (`skipped` is None: the last iteration is done) and `after_break`."""
        carried: dict[int, Distances] = {}
        arguments = frozenset(each for each in token.arguments if each[0] != self.loop)
        parts = [TokenSet(token.mask & ~self.body, arguments, token.odd)]
        for place in places:
            content = self.content[place]
            parts.append(content.outside)
            for number, distances in content.carried.items():
                carried[number] = _joined(carried.get(number, frozenset()) | distances)
        mask = 0
        odd: set[Odd] = set()
        for number in {*carried, *bits_of(token.mask & self.body)}:
            distances = carried.get(number, frozenset())
            last = skipped is None or bool(token.mask >> number & 1) or number in skipped
            if last and (1, True) in distances:
                mask |= 1 << number
            else:
                odd.add((number, ("runs", self.named, int(last), *_flat(distances))))
        return join([*parts, TokenSet(mask, frozenset(), frozenset(odd))])


def _beyond(token: TokenSet, known: TokenSet, reason: Reason) -> list[Odd]:
    """What `token` has and `known` has not, as odd elements."""
    found: list[Odd] = [(number, reason) for number in bits_of(token.mask & ~known.mask)]
    found += [(argument, reason) for argument in token.arguments - known.arguments]
    return found


def _flat(distances: Iterable[tuple[int, bool]]) -> tuple[int, ...]:
    return tuple(sorted(2 * distance + star for distance, star in distances))
