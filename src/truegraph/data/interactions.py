"""Who interacted with what: pairs of users and items under ids of any hashable kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from truegraph import gate
from truegraph.data.identifiers import number_ids, unknown_id
from truegraph.errors import InputError
from truegraph.saving import savable
from truegraph.wording import counted

IndexArray = NDArray[np.int64]
Ids = tuple[Hashable, ...]

# Names of columns that are recognised, in the order in which they are looked for; upper or lower
# case, with or without a following id.
_USUAL_COLUMNS: dict[str, tuple[str, ...]] = {
    "user": ("user", "uid", "customer", "client"),
    "item": ("item", "iid", "article", "sku", "product"),
    "time": ("time", "timestamp", "datetime", "date"),
}
_RATINGS = ("rating", "ratings", "stars", "score", "value", "quantity", "count", "weight")
PAPER_RATIOS = (0.7, 0.1, 0.2)


@savable
@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Pairs (user, item), each once, ordered by user and then by item.

    Make one with `from_arrays`, `from_matrix`, `from_table`,
    `truegraph.data.read_interactions` or `truegraph.data.load_interactions`.

    Attributes
    ----------
    users, items : ndarray of int64, shape (n_interactions,)
        Numbers of the user and of the item of each interaction.
    user_ids, item_ids : tuple of hashable
        The id of each number; users and items without interactions may be among them.
    ratings, times : ndarray of float64, shape (n_interactions,), or None
    name : str
    origin, licence, source : str
        Where the data come from, under which terms, and where this copy was found.
    notes : tuple of str
        What was changed on reading, or must be said wherever the data are used.

    Examples
    --------
    >>> from truegraph import Interactions
    >>> Interactions.from_arrays(["ann", "ann", "bob"], ["tea", "jam", "tea"])
    Interactions('interactions', 2 users, 2 items, 3 interactions)
    """

    users: IndexArray
    items: IndexArray
    user_ids: Ids
    item_ids: Ids
    ratings: NDArray[np.float64] | None = None
    times: NDArray[np.float64] | None = None
    name: str = "interactions"
    origin: str = ""
    licence: str = ""
    source: str = "files"
    notes: tuple[str, ...] = ()

    _unsaved: ClassVar[tuple[str, ...]] = (
        "matrix",
        "_user_numbers",
        "_item_numbers",
        "fingerprint",
    )

    def __post_init__(self) -> None:
        self._check_saved()

    def _check_saved(self) -> None:
        for name, size in (("users", self.n_users), ("items", self.n_items)):
            gate.indices(name, getattr(self, name), size, what=name[:-1])
        for name in ("items", "ratings", "times"):
            values = getattr(self, name)
            if values is not None:
                gate.numbers(name, values, length=len(self.users))
        for name, ids in (("user_ids", self.user_ids), ("item_ids", self.item_ids)):
            if len(set(ids)) != len(ids):
                raise InputError(f"{name} has an id twice")

    @classmethod
    def from_arrays(
        cls,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        name: str = "interactions",
    ) -> Interactions:
        """Take one user id and one item id per interaction.

        Parameters
        ----------
        users, items : iterable of hashable
            Ids; numbered in ascending order if they can be sorted, else as they first appear.
        ratings, times : array-like of float, optional
            One finite number per interaction; times also as dates, such as "2022-01-02 18:00".
        name : str, default="interactions"

        Returns
        -------
        interactions : Interactions
            Of a pair listed more than once, the latest stays (without times, the last);
            `notes` says how many were merged.
        """
        user_numbers, user_ids = number_ids(users, "users")
        item_numbers, item_ids = number_ids(items, "items")
        numbers = (user_numbers, item_numbers, user_ids, item_ids)
        return replace(cls.from_numbers(*numbers, ratings, times), name=name)

    @classmethod
    def from_numbers(
        cls,
        users: IndexArray,
        items: IndexArray,
        user_ids: Ids,
        item_ids: Ids,
        ratings: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Interactions:
        """Take numbers of users and items whose ids are known; otherwise like `from_arrays`."""
        rows = gate.indices("users", users, len(user_ids), what="user")
        columns = gate.indices("items", items, len(item_ids), what="item")
        rated = None if ratings is None else gate.numbers("ratings", ratings)
        timed = None if times is None else _times(times)
        for name, values in (("items", columns), ("ratings", rated), ("times", timed)):
            if values is not None and len(values) != len(rows):
                raise InputError(
                    f"{name} has {len(values)} entries and users has {len(rows)}; "
                    "give one of each per interaction."
                )
        return cls(rows, columns, user_ids, item_ids, rated, timed)._merged()

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        user_ids: Sequence[Hashable] | None = None,
        item_ids: Sequence[Hashable] | None = None,
        *,
        name: str = "interactions",
    ) -> Interactions:
        """Take a sparse users x items matrix; its stored values become ratings unless all are 1.

        Parameters
        ----------
        matrix : sparse matrix or array of shape (n_users, n_items)
            Every entry above zero is an interaction; there are none below.
        user_ids, item_ids : sequence of hashable, optional
            Ids of the rows and of the columns; by default their numbers.
        name : str, default="interactions"
        """
        rows = sparse.csr_array(gate.table("matrix", matrix, nonnegative=True)).copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        n_users, n_items = rows.shape
        users = np.repeat(np.arange(n_users), np.diff(rows.indptr))
        ratings = None if np.all(rows.data == 1.0) else rows.data
        return cls(
            users,
            rows.indices.astype(np.int64),
            _given_ids(user_ids, n_users, "user_ids"),
            _given_ids(item_ids, n_items, "item_ids"),
            ratings,
            None,
            name,
        )

    @classmethod
    def from_table(
        cls,
        table: Any,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        *,
        name: str = "interactions",
    ) -> Interactions:
        """Take the columns of a table, for instance of a pandas DataFrame.

        Parameters
        ----------
        table : mapping of column names to columns
        user, item : str, optional
            Names of the columns with the ids; by default one of the usual names, such as user_id,
            customer, item_id, article, sku or product.
        rating, time : str, optional
            Names of the columns with ratings and with times or dates; by default ratings are not
            read, and times are where a column is called time, timestamp, datetime or date.
        name : str, default="interactions"
        """
        columns = {str(column): table[column] for column in table}
        place = columns_of([*columns], {"user": user, "item": item, "rating": rating, "time": time})
        chosen: dict[str, Any] = {role: np.asarray(columns[name]) for role, name in place.items()}
        if time is None and "time" in chosen and not np.isfinite(read_times(chosen["time"])).all():
            del chosen["time"], place["time"]  # called a time, but is none
        both = (chosen.get("rating"), chosen.get("time"))
        found = cls.from_arrays(chosen["user"], chosen["item"], *both, name=name)
        notes = unread_notes([*columns], place, columns.__getitem__)
        return replace(found, notes=(*found.notes, *notes))

    def _merged(self) -> Interactions:
        """Order the pairs and keep one of each."""
        pairs = self.users * self.n_items + self.items
        if self.times is None:
            order = np.argsort(pairs, kind="stable")
        else:
            by_age = np.argsort(self.times, kind="stable")
            order = by_age[np.argsort(pairs[by_age], kind="stable")]
        users, items = self.users[order], self.items[order]
        last = np.ones(len(order), dtype=bool)
        last[:-1] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
        merged = int(np.count_nonzero(~last))
        note = (f"{counted(merged, 'interaction')} listed more than once and merged",)
        return replace(self._take(order[last]), notes=self.notes + (note if merged else ()))

    def _take(self, chosen: NDArray[Any]) -> Interactions:
        """Return the chosen interactions, with all users and items."""
        return replace(
            self,
            users=self.users[chosen],
            items=self.items[chosen],
            ratings=None if self.ratings is None else self.ratings[chosen],
            times=None if self.times is None else self.times[chosen],
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return (
            f"Interactions({self.name!r}, {self.n_users} users, {self.n_items} items, "
            f"{len(self)} interactions)"
        )

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The interactions as ones: csr_array of float32, shape (n_users, n_items)."""
        return pair_matrix(self.users, self.items, (self.n_users, self.n_items))

    @cached_property
    def _user_numbers(self) -> dict[Hashable, int]:
        return {identifier: number for number, identifier in enumerate(self.user_ids)}

    @cached_property
    def _item_numbers(self) -> dict[Hashable, int]:
        return {identifier: number for number, identifier in enumerate(self.item_ids)}

    def user_numbers(self, ids: Iterable[Hashable], *, missing: int | None = None) -> IndexArray:
        """Return the number of each user id; for unknown ones `missing`, or an error if None."""
        return _look_up(ids, self._user_numbers, "user", missing)

    def item_numbers(self, ids: Iterable[Hashable], *, missing: int | None = None) -> IndexArray:
        """Return the number of each item id; for unknown ones `missing`, or an error if None."""
        return _look_up(ids, self._item_numbers, "item", missing)

    def with_min_rating(self, rating: float) -> Interactions:
        """Keep the interactions rated at least `rating`, and all users and items."""
        if self.ratings is None:
            raise InputError(
                f"min_rating={rating}: {self.name!r} has no ratings; leave it out, or name the "
                "column with the ratings."
            )
        return self._take(self.ratings >= rating)

    def with_min_counts(self, per_user: int = 1, per_item: int = 1) -> Interactions:
        """Keep users with enough interactions, then items with enough of those that are left.

        Once, as the paper's sizes come about. Users and items without interactions are dropped.
        """
        kept = np.ones(len(self), dtype=bool)
        for numbers, least in ((self.users, per_user), (self.items, per_item)):
            kept &= (
                np.bincount(numbers[kept], minlength=numbers.max(initial=0) + 1)[numbers] >= least
            )
        users, user_numbers = np.unique(self.users[kept], return_inverse=True)
        items, item_numbers = np.unique(self.items[kept], return_inverse=True)
        return replace(
            self._take(kept),
            users=user_numbers.astype(np.int64),
            items=item_numbers.astype(np.int64),
            user_ids=tuple(self.user_ids[number] for number in users),
            item_ids=tuple(self.item_ids[number] for number in items),
        )

    def statistics(self) -> dict[str, int | float]:
        """Return users, items, interactions and density (interactions per pair)."""
        pairs = self.n_users * self.n_items
        return {
            "users": self.n_users,
            "items": self.n_items,
            "interactions": len(self),
            "density": len(self) / pairs if pairs else 0.0,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the pairs, their ratings and times; ids, name and origin do not count."""
        digest = hashlib.sha256(f"{self.n_users}x{self.n_items};".encode())
        for array in (self.users, self.items, self.ratings, self.times):
            digest.update(b"-" if array is None else np.ascontiguousarray(array).data)
        return digest.hexdigest()


def as_interactions(data: Any) -> Interactions:
    """Return data of any usual kind as Interactions.

    Parameters
    ----------
    data : Interactions, sparse matrix, (users, items) or table with the columns user and item
    """
    if isinstance(data, Interactions):
        return data
    if sparse.issparse(data) or type(data).__module__ == "torch":
        return Interactions.from_matrix(data)
    if isinstance(data, tuple) and len(data) == 2:
        return Interactions.from_arrays(*data)
    if hasattr(data, "columns") or isinstance(data, dict):
        return Interactions.from_table(data)
    raise InputError(
        f"interactions has type {type(data).__name__}; give Interactions, a sparse matrix of users "
        "and items, a pair (user ids, item ids), or a table with the columns user and item."
    )


def pair_matrix(users: IndexArray, items: IndexArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return ones at the pairs: csr_array of float32 with sorted indices."""
    ones = np.ones(len(users), dtype=np.float32)
    matrix = sparse.csr_array((ones, (users, items)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def columns_of(names: Sequence[str], given: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns of a table by what they hold: as given, or of a usual name.

    Ratings are not looked for. Names are found in upper and lower case.
    """
    found = {}
    for role, wanted in given.items():
        if wanted is None:
            name = usual_column(names, role)
        else:
            same = [one for one in names if one.lower() == wanted.lower()]
            name = wanted if wanted in names else next(iter(same), None)
        if name is not None:
            found[role] = name
        elif wanted is not None or role in ("user", "item"):
            called = f"{wanted!r}" if wanted else f"{role!r}, nor one of another usual name"
            raise InputError(
                f"the table has no column {called}; it has {list(names)}; name the column with "
                f"{role}=, or on the command line with --{role}."
            )
    return found


def usual_column(names: Sequence[str], role: str) -> str | None:
    """Return the column whose name is usual for a role, or None."""
    plain = {}
    for name in reversed(names):
        word = name.strip().lower().replace("-", "_").replace(" ", "_")
        plain[word.removesuffix("_id") if word.endswith("_id") else word] = name
        plain.setdefault(word.removesuffix("id"), name)
    return next((plain[one] for one in _USUAL_COLUMNS.get(role, ()) if one in plain), None)


def unread_notes(
    names: Sequence[str], place: Mapping[str, str], values_of: Callable[[str], Any]
) -> Iterator[str]:
    """Yield what to say of columns that were not read; raise where one holds negative ratings."""
    unread = [name for name in names if name not in place.values()]
    ratings = [name for name in unread if name.strip().lower() in _RATINGS]
    for name in ratings:
        below = pd.to_numeric(pd.Series(values_of(name)), errors="coerce").to_numpy() < 0.0
        if below.any():
            raise InputError(
                f"the column {name!r} is below 0 in row {int(below.argmax())}, which is no "
                "interaction: remove such rows, or read the column with rating= and "
                f"with_min_rating (--rating {name}=LOWEST)."
            )
        yield (
            f"the column {name!r} was not read: every row counts as liked, whatever its rating. "
            f"To count high ratings only, give --rating {name}=LOWEST, or in Python rating= and "
            "with_min_rating"
        )
    others = [repr(name) for name in unread if name not in ratings]
    if others:
        hint = "" if "time" in place else "; one with times or dates is named with time= (--time)"
        yield f"not read: the columns {', '.join(others)}{hint}"


def read_times(values: Any) -> NDArray[np.float64]:
    """Return numbers as they are and dates in seconds since 1970; NaN where neither is there."""
    from truegraph.data.column_kinds import times

    return times(pd.Series(np.asarray(values)))


def _times(values: Any) -> NDArray[np.float64]:
    given = np.asarray(values)
    if given.dtype.kind in "biuf":
        return gate.numbers("times", given)
    found = read_times(given)
    bad = ~np.isfinite(found)
    if bad.any():  # the one that is no date, or where formats are mixed the first that differs
        words = pd.Series(given).astype(str)
        no_date = pd.to_datetime(words, errors="coerce", format="mixed", utc=True).isna()
        place = int((no_date.to_numpy() if no_date.any() else bad).argmax())
        raise InputError(
            f"times: entry {place} is {words[place]!r}, neither a finite number nor a date; "
            "write dates as 2022-01-02 18:00."
        )
    return found


def _given_ids(ids: Sequence[Hashable] | None, count: int, name: str) -> Ids:
    if ids is None:
        return tuple(range(count))
    numbers, unique = number_ids(ids, name)
    if len(numbers) != count or len(unique) != count:
        raise InputError(
            f"{name} has {len(numbers)} entries, {len(unique)} of them different, for {count} rows "
            "or columns of the matrix; give each its own id."
        )
    return tuple(unique[number] for number in numbers)


def _look_up(
    ids: Iterable[Hashable], numbers: dict[Hashable, int], what: str, missing: int | None
) -> IndexArray:
    if isinstance(ids, str | bytes):
        raise InputError(
            f"{what} ids must be a list, not the single string {ids!r}; write [{ids!r}]."
        )
    found = [numbers.get(identifier, -1) for identifier in ids]
    if missing is None and -1 in found:
        raise unknown_id(list(ids)[found.index(-1)], numbers, what)
    return np.array([missing if number < 0 else number for number in found], dtype=np.int64)


# --- splits ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InteractionSplit:
    """Three disjoint sets of interactions of the same users and items.

    Attributes
    ----------
    train, validation, test : csr_array of float32, shape (n_users, n_items)
        Ones at the interactions, indices sorted.
    """

    train: sparse.csr_array
    validation: sparse.csr_array
    test: sparse.csr_array


def split_randomly(
    interactions: Interactions,
    ratios: Sequence[float] = PAPER_RATIOS,
    *,
    random_state: int | np.random.Generator | None = None,
) -> InteractionSplit:
    """Split the interactions of each user at random.

    Of n interactions ceil(0.2 n) become test, then ceil(0.125 (n - test)) validation, the rest
    training, for the default ratios; training always gets at least one.

    Parameters
    ----------
    interactions : Interactions
    ratios : three floats that sum to 1, default=(0.7, 0.1, 0.2)
        Shares of training, validation and test.
    random_state : int, Generator or None
        The same seed gives the same split.

    Returns
    -------
    split : InteractionSplit

    Examples
    --------
    >>> from truegraph.data import Interactions, split_randomly
    >>> data = Interactions.from_arrays(["ann"] * 10, range(10))
    >>> split = split_randomly(data, random_state=0)
    >>> split.train.nnz, split.validation.nnz, split.test.nnz
    (7, 1, 2)
    """
    rng = np.random.default_rng(random_state)
    return _split(interactions, rng.random(len(interactions)), ratios)


def split_by_time(
    interactions: Interactions, ratios: Sequence[float] = PAPER_RATIOS
) -> InteractionSplit:
    """Split the interactions of each user by time: the latest are test, those before validation.

    Sizes as in `split_randomly`. Of interactions at the same time those with higher item numbers
    count as later.

    Parameters
    ----------
    interactions : Interactions
        With times.
    ratios : three floats that sum to 1, default=(0.7, 0.1, 0.2)
    """
    if interactions.times is None:
        raise InputError(
            f"{interactions.name!r} has no times to split by; name the column with the times, or "
            "split at random."
        )
    order = np.lexsort((interactions.items, interactions.times))
    age = np.empty(len(order))
    age[order[::-1]] = np.arange(len(order))
    return _split(interactions, age, ratios)


def _split(
    interactions: Interactions, key: NDArray[np.float64], ratios: Sequence[float]
) -> InteractionSplit:
    """Give the interactions with the lowest keys of each user to test, the next to validation."""
    users = interactions.users
    counts = np.bincount(users, minlength=interactions.n_users)
    test, validation = _sizes(counts, ratios)
    order = np.lexsort((key, users))
    starts = np.cumsum(counts) - counts
    place = np.empty(len(users), dtype=np.int64)
    place[order] = np.arange(len(users)) - np.repeat(starts, counts)
    is_test = place < test[users]
    is_train = place >= (test + validation)[users]
    shape = (interactions.n_users, interactions.n_items)
    return InteractionSplit(
        *(
            pair_matrix(users[chosen], interactions.items[chosen], shape)
            for chosen in (is_train, ~is_test & ~is_train, is_test)
        )
    )


def _sizes(counts: IndexArray, ratios: Sequence[float]) -> tuple[IndexArray, IndexArray]:
    """Return how many of each user's interactions become test and validation."""
    if len(ratios) != 3 or min(ratios) < 0 or abs(sum(ratios) - 1) > 1e-9 or ratios[0] == 0:
        raise InputError(
            f"ratios={tuple(ratios)} must be three shares that sum to 1: training (above 0), "
            "validation and test."
        )
    # As fractions of whole numbers: 0.1 / 0.8 is not 1/8 in floating point.
    _, validation_share, test_share = (Fraction(str(float(ratio))) for ratio in ratios)
    found = []
    for share in (test_share, validation_share / (1 - test_share)):
        rounded_up = -(-counts * share.numerator // share.denominator)
        found.append(np.minimum(rounded_up, np.maximum(counts - 1, 0)))
        counts = counts - found[-1]
    return found[0], found[1]
