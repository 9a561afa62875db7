"""Fitting the weights of a score: from features of many records to a probe file.

By scikit-learn. Attention alone: a logistic regression, class-balanced, so that the few units of
evidence weigh as much as all others together, the bias then set back to how rare they are; the
strength of its penalty is chosen by cross-validation. All signals together: small boosted trees,
with the linear figure beside theirs in the report. All units of a question stand in one fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.blocks.errors import InputError, MissingExtraError
from foveate.compressors import nothing
from foveate.compressors.boosted import Boosted
from foveate.compressors.features import FUSED, TWO_HOPS
from foveate.compressors.logistic import Logistic
from foveate.compressors.probes import Probe

from .table import collect
from .validation import precision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from foveate.blocks.progress import Progress
    from foveate.blocks.proxy import Proxy
    from foveate.compressors.examples import Example

    from .table import Table

COLUMNS = {
    "retrieval-heads": ("attention", "share", "looked", "odds"),
    "one-hop": FUSED,
    "fused": TWO_HOPS,
}
"""Scorers whose weights are fitted, and their features."""

BOOSTED = ("one-hop", "fused")
"""Those whose score is made by trees: what several signals say together is more than their sum."""

TREES, LEAVES, LEAST_ROWS, RATE, SUBSAMPLE = 150, 6, 40, 0.05, 0.7
"""Size of the trees, small enough that no single record shapes one."""

STRENGTHS = (0.001, 0.01, 0.1, 1.0)
"""Inverse strengths of the penalty to choose from."""

FOLDS = 5
MAX_STEPS = 2000
DIGITS = 5


def train_probe(
    proxy: Proxy,
    examples: Sequence[Example],
    *,
    source: str,
    cache: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Probe:
    """Fit the weights of all scores for a model and the heads that it probes.

    Args:
        proxy: The model that reads.
        examples: Records with known evidence, of five different questions or more.
        source: Name of the sets, for the record.
        cache: Folder that keeps the features of each record; a stopped run goes on there.
        seed: Of the folds.
        progress: Told the stage and how far it is.

    Raises:
        InputError: There are too few records.
        MissingExtraError: scikit-learn is not installed.
    """
    if len({example.question for example in examples}) < FOLDS:
        raise InputError(
            f"{len(examples)} records are too few; give records of {FOLDS} questions or more"
        )
    _sklearn()  # before minutes are spent on reading
    table = collect(proxy, examples, cache=cache, progress=progress)
    return fit_probe(proxy, table, source=source, seed=seed)


def fit_probe(proxy: Proxy, table: Table, *, source: str, seed: int = 0) -> Probe:
    """Fit all scores on a table of features.

    Raises:
        InputError: No unit, or every unit, is evidence.
        MissingExtraError: scikit-learn is not installed.
    """
    if not 0 < table.labels.sum() < len(table.labels):
        raise InputError("the records hold no evidence, or nothing else; there is nothing to fit")
    scorers: dict[str, Logistic | Boosted] = {}
    report: dict[str, float] = {}
    for name, columns in COLUMNS.items():
        linear, by_line = fit_linear(table, columns, seed)
        scorers[name] = linear
        report[f"{name}, linear"] = round(mean_precision(table, by_line), 4)
        if name in BOOSTED:
            scorers[name], by_trees = fit_boosted(table, columns, seed)
            report[f"{name}, boosted"] = round(mean_precision(table, by_trees), 4)
    if len(_empty(table)) not in (0, len(np.unique(table.records))):
        scorers[nothing.NAME] = _fit_nothing(table, by_trees)  # of the last: all features
    return Probe(
        model=proxy.name,
        fingerprint=proxy.fingerprint,
        heads=proxy.heads,
        scorers=scorers,
        provenance={
            "source": source,
            "questions": len(np.unique(table.questions)),
            "units": len(table.labels),
            "average_precision": report,
        },
    )


def fit_linear(
    table: Table, columns: tuple[str, ...], seed: int
) -> tuple[Logistic, NDArray[np.float64]]:
    """Weights for some columns; and, for each row, its probability by weights that never saw it."""
    features = table.columns(columns)
    folds = list(_folds(table, seed))
    trials = {c: _held_out(features, table.labels, folds, c) for c in STRENGTHS}
    best = max(trials, key=lambda c: mean_precision(table, trials[c]))
    model = _regression(columns, features, table.labels, best)
    return model, trials[best]


def fit_boosted(
    table: Table, columns: tuple[str, ...], seed: int
) -> tuple[Boosted, NDArray[np.float64]]:
    """Trees for some columns; and, for each row, its probability by trees that never saw it."""
    features = table.columns(columns)
    chances = np.zeros(len(table.labels))
    for seen, unseen in _folds(table, seed):
        model = _trees(columns, features[seen], table.labels[seen], seed)
        chances[unseen] = model.probability(features[unseen])
    return _trees(columns, features, table.labels, seed), chances


def _held_out(
    features: NDArray[np.float64],
    labels: NDArray[np.float64],
    folds: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    strength: float,
) -> NDArray[np.float64]:
    chances = np.zeros(len(labels))
    names = tuple(map(str, range(features.shape[1])))
    for seen, unseen in folds:
        model = _regression(names, features[seen], labels[seen], strength)
        chances[unseen] = model.probability(features[unseen])
    return chances


def _trees(
    names: tuple[str, ...], features: NDArray[np.float64], labels: NDArray[np.float64], seed: int
) -> Boosted:
    from sklearn.ensemble import GradientBoostingClassifier

    trained = GradientBoostingClassifier(
        n_estimators=TREES,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        max_depth=None,
        min_samples_leaf=LEAST_ROWS,
        subsample=SUBSAMPLE,
        random_state=seed,
    ).fit(features, labels)
    rarity = float(np.log(labels.mean()) - np.log1p(-labels.mean()))  # its own first guess
    return Boosted(names, [_plain(each[0].tree_) for each in trained.estimators_], round(rarity, 6))


def _plain(tree: Any) -> dict[str, list[float]]:
    """A tree of scikit-learn as lists; its leaves, -1 there, lead to themselves."""
    own = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    return {
        "feature": np.where(leaf, 0, tree.feature).tolist(),
        "threshold": [round(float(t), DIGITS) for t in np.where(leaf, 0.0, tree.threshold)],
        "left": np.where(leaf, own, tree.children_left).tolist(),
        "right": np.where(leaf, own, tree.children_right).tolist(),
        "value": [round(RATE * float(v), DIGITS) for v in tree.value[:, 0, 0]],
    }


def _regression(
    names: tuple[str, ...],
    features: NDArray[np.float64],
    labels: NDArray[np.float64],
    strength: float,
) -> Logistic:
    linear = _sklearn().LogisticRegression(C=strength, class_weight="balanced", max_iter=MAX_STEPS)
    # The penalty is meant for weights of like size: fitted on scaled columns, told for plain ones.
    scale = np.maximum(features.std(0), 1e-9)
    linear.fit(features / scale, labels)
    weights = linear.coef_[0] / scale
    rarity = float(np.log(labels.mean()) - np.log1p(-labels.mean()))
    return Logistic(
        {name: round(float(w), DIGITS) for name, w in zip(names, weights, strict=True)},
        round(float(linear.intercept_[0]) + rarity, DIGITS),
    )


def _fit_nothing(table: Table, chances: NDArray[np.float64]) -> Logistic:
    """Weights of the judgement that no passage answers, from scores that never saw the record."""
    columns, records = table.columns(nothing.COLUMNS), np.unique(table.records)
    by_record = [table.records == record for record in records]
    known = [nothing.whole(chances[here], columns[here]) for here in by_record]
    rows = np.array([[each[name] for name in nothing.WHOLE] for each in known])
    empty = np.isin(records, list(_empty(table))).astype(float)
    return _regression(nothing.WHOLE, rows, empty, 1.0)


def _empty(table: Table) -> set[int]:
    """The records without any evidence."""
    return set(table.records.tolist()) - set(table.records[table.labels > 0].tolist())


def mean_precision(table: Table, chances: NDArray[np.float64]) -> float:
    """Mean average precision over the records that have evidence."""
    found = []
    for record in np.unique(table.records[table.labels > 0]):
        here = table.records == record
        found.append(precision(chances[here], table.labels[here] > 0))
    return float(np.mean(found))


def _folds(table: Table, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    from sklearn.model_selection import GroupKFold

    folds = min(FOLDS, len(np.unique(table.questions)))
    split = GroupKFold(folds, shuffle=True, random_state=seed)
    yield from split.split(table.features, table.labels, table.questions)


def _sklearn() -> Any:
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "train") from error
    return linear_model
