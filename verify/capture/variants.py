"""From recorded launches to variants: equal ones merged, each with an id and a label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tileport.verify.capture.outcome import Launch
from tileport.verify.model import (
    ArraySpec,
    ConstantSpec,
    Hints,
    ListSpec,
    Parameter,
    ParameterSpec,
    ScalarSpec,
    TupleSpec,
    Variant,
)

_ID_LENGTH = 10


def build_variants(
    launches: Sequence[Launch], target: str, bytecode_version: str
) -> tuple[Variant, ...]:
    """The variants of one target, in the order their first launches happened.

    Launches are one variant if kernel, specialization, hints, folded values and reference are
    equal; grid and sample shapes do not count.
    """
    groups: dict[tuple[str, str], list[Launch]] = {}
    for launch in launches:
        groups.setdefault((_specialization(launch), launch.record.reference), []).append(launch)
    ordinals: dict[str, int] = {}
    merged = []
    for (specialization, _), group in groups.items():
        # Kernels of one name with equal specialization but different code, made by a factory
        # from what is not a plain value, are told apart by their order.
        ordinal = ordinals[specialization] = ordinals.get(specialization, -1) + 1
        identity = hashlib.sha256(f"{target} {specialization} {ordinal}".encode()).hexdigest()
        merged.append(_merge(group, target, bytecode_version, identity[:_ID_LENGTH]))
    labels = _labels(merged)
    return tuple(msgspec.structs.replace(v, label=labels[v.id]) for v in merged)


def _specialization(launch: Launch) -> str:
    record = launch.record
    facts = [
        record.kernel.name,
        record.kernel.qualname,
        [[p.name, _without_samples(p.spec)] for p in record.parameters],
        msgspec.to_builtins(record.hints),
        sorted([name.origin, name.name, name.value] for name in record.folded),
    ]
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def _without_samples(spec: ParameterSpec) -> Any:
    facts = msgspec.to_builtins(spec)
    match spec:
        case ArraySpec():
            facts = _drop(facts, "sample_shape", "sample_strides")
        case ScalarSpec():
            facts = _drop(facts, "sample")
        case ListSpec():
            # How long the list is, is known at run time only.
            facts = _drop(facts, "length")
            facts["element"] = _without_samples(spec.element)
        case TupleSpec():
            facts["items"] = [_without_samples(item) for item in spec.items]
        case ConstantSpec(value=float()):
            facts["value"] = spec.value.hex()  # type: ignore[union-attr] # matched as a float
    return facts


def _drop(facts: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in names}


def _merge(group: list[Launch], target: str, bytecode_version: str, identity: str) -> Variant:
    record = group[0].record
    cases = dict.fromkeys(case for launch in group for case in launch.cases)
    return Variant(
        id=identity,
        kernel=record.kernel,
        target=target,
        parameters=record.parameters,
        hints=record.hints,
        folded=record.folded,
        grid=record.grid,
        cases=tuple(cases),
        via="launch" if any(launch.via == "launch" for launch in group) else "tune",
        label="",
        symbol=record.symbol,
        reference=record.reference,
        bytecode_version=bytecode_version,
        candidates=max(launch.candidates for launch in group),
    )


# ---------------------------------------------------------------- labels


def _labels(variants: Sequence[Variant]) -> dict[str, str]:
    kernels: dict[tuple[str, str], list[Variant]] = {}
    for variant in variants:
        kernels.setdefault((variant.kernel.qualname, variant.kernel.place.file), []).append(variant)
    labels: dict[str, str] = {}
    for siblings in kernels.values():
        labels |= _label_siblings(siblings)
    return labels


def _label_siblings(siblings: list[Variant]) -> dict[str, str]:
    """Labels of one kernel's variants: the dtype, and of what differs as much as tells them apart.

    A fact that splits more of those still alike goes first among facts of a kind; kinds go by
    how much they mean to a person: constants, dtypes, shapes, hints, divisibility.
    """
    features = [_features(variant) for variant in siblings]
    chosen: list[str] = ["dtype"]
    alike = _alike(features, chosen)
    while any(len(group) > 1 for group in alike):
        best = _best_split(features, alike, chosen)
        if best is None:
            break
        chosen.append(best)
        alike = _alike(features, chosen)
    labels = {}
    for variant, feature in zip(siblings, features, strict=True):
        words = [feature[name][1] for name in chosen if name in feature and feature[name][1]]
        labels[variant.id] = " ".join(words) or variant.kernel.name
    return _numbered(siblings, labels)


def _numbered(siblings: list[Variant], labels: dict[str, str]) -> dict[str, str]:
    seen: dict[str, int] = {}
    result = {}
    for variant in siblings:
        label = labels[variant.id]
        seen[label] = seen.get(label, 0) + 1
        result[variant.id] = label if seen[label] == 1 else f"{label} #{seen[label]}"
    return result


Features = dict[str, tuple[int, str]]


def _alike(features: list[Features], chosen: Iterable[str]) -> list[list[int]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    names = list(chosen)
    for index, feature in enumerate(features):
        key = tuple(feature.get(name, (0, ""))[1] for name in names)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _best_split(features: list[Features], alike: list[list[int]], chosen: list[str]) -> str | None:
    """The fact to add: of the kind that means most, the one that leaves the fewest alike."""
    names = dict.fromkeys(name for feature in features for name in feature)
    best: tuple[tuple[int, int], str] | None = None
    for name in names:
        if name in chosen:
            continue
        groups = 0
        for group in alike:
            groups += len({features[index].get(name, (0, ""))[1] for index in group})
        if groups == len(alike):
            continue  # tells nothing apart
        rank = min(feature[name][0] for feature in features if name in feature)
        score = (rank, -groups)
        if best is None or score < best[0]:
            best = (score, name)
    return best[1] if best else None


def _features(variant: Variant) -> Features:
    """Facts of a variant by name, each with the rank of its kind and its word in a label."""
    features: Features = {"dtype": (0, _dtype(variant.parameters))}
    for parameter in variant.parameters:
        _add_features(features, parameter.name, parameter.spec)
    for folded in variant.folded:
        features[f"folded {folded.name}"] = (3, f"{folded.name}={folded.value}")
    features |= _hint_features(variant.hints)
    return features


def _dtype(parameters: Sequence[Parameter]) -> str:
    """The dtype of the first array of floats, else of the first array: what people call it."""
    arrays = [spec for p in parameters for spec in _arrays(p.spec)]
    floats = [a.dtype for a in arrays if a.dtype[0] in "fbt"]
    return (floats or [a.dtype for a in arrays] or [""])[0]


def _arrays(spec: ParameterSpec) -> list[ArraySpec]:
    match spec:
        case ArraySpec():
            return [spec]
        case ListSpec():
            return [spec.element]
        case TupleSpec():
            return [array for item in spec.items for array in _arrays(item)]
    return []


def _add_features(features: Features, name: str, spec: ParameterSpec) -> None:
    match spec:
        case ConstantSpec():
            value = f"{spec.value:g}" if isinstance(spec.value, float) else spec.value
            features[name] = (1, f"{name}={value}")
        case ScalarSpec():
            features[f"{name} dtype"] = (2, f"{name}:{spec.dtype}")
        case ListSpec():
            _add_features(features, f"{name}[]", spec.element)
        case TupleSpec():
            for index, item in enumerate(spec.items):
                _add_features(features, f"{name}[{index}]", item)
        case ArraySpec():
            _add_array_features(features, name, spec)


def _add_array_features(features: Features, name: str, spec: ArraySpec) -> None:
    features[f"{name} dtype"] = (2, f"{name}:{spec.dtype}")
    features[f"{name} rank"] = (2, f"{name}:{spec.rank}d")
    if spec.index_dtype != "i32":
        features[f"{name} index"] = (4, f"{name}.index:{spec.index_dtype}")
    shape = ",".join("?" if n is None else str(n) for n in spec.shape_constant)
    features[f"{name} shape"] = (4, f"{name}.shape=[{shape}]")
    strides = ",".join("?" if n is None else str(n) for n in spec.stride_constant)
    features[f"{name} strides"] = (5, f"{name}.strides=[{strides}]")
    for what, divisors in (
        ("shape", spec.shape_divisible_by),
        ("stride", spec.stride_divisible_by),
    ):
        for dim, divisor in enumerate(divisors):
            features[f"{name} {what} {dim} div"] = (7, _divisible(f"{name}.{what}{dim}", divisor))
    features[f"{name} base"] = (7, _divisible(f"{name}.base", spec.base_divisible_by))
    features[f"{name} alias"] = (8, f"{name}.overlaps" if spec.may_alias_internally else "")


def _divisible(what: str, divisor: int) -> str:
    return f"{what}%{divisor}" if divisor != 1 else ""


def _hint_features(hints: Hints) -> Features:
    return {
        name: (6, f"{name}={value}" if value is not None else "")
        for name, value in msgspec.to_builtins(hints).items()
    }
