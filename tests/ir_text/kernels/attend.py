"""A small attention kernel: online softmax over key tiles, the last one masked."""

# ruff: noqa: PLR0917 - a kernel has the parameters it has
import cuda.tile as ct

LOG2_E = 1.4426950408889634


def scaled_max(scores, scale):
    return ct.max(scores, 1, keepdims=True) * scale


@ct.kernel(occupancy=ct.ByTarget(sm_90=2, default=1))
def attend(
    q, k, v, out, scale: float, D: ct.Constant[int], M: ct.Constant[int], N: ct.Constant[int]
):
    row = ct.bid(0)
    head = ct.bid(1)
    tile = ct.load(q, (head, row, 0), shape=(1, M, D)).reshape((M, D))
    best = ct.full((M, 1), -3.0e38, dtype=ct.float32)
    total = ct.full((M, 1), 0.0, dtype=ct.float32)
    acc = ct.full((M, D), 0.0, dtype=ct.float32)
    keys = k.shape[1]
    for step in range(ct.cdiv(keys, N)):
        key = ct.load(k, (head, step, 0), shape=(1, N, D), latency=3).reshape((N, D))
        scores = ct.mma(tile, ct.transpose(key), ct.full((M, N), 0.0, dtype=ct.float32))
        if (step + 1) * N > keys:
            column = step * N + ct.arange(N, dtype=ct.int32)
            scores = ct.where((column < keys)[None, :], scores, -3.0e38)
        new = ct.maximum(best, scaled_max(scores, scale * LOG2_E))
        weight = ct.exp2(scores * (scale * LOG2_E) - new)
        keep = ct.exp2(best - new, flush_to_zero=True)
        total = total * keep + ct.sum(weight, 1, keepdims=True)
        value = ct.load(
            v, (head, step, 0), shape=(1, N, D), padding_mode=ct.PaddingMode.ZERO
        ).reshape((N, D))
        acc = ct.mma(weight.astype(v.dtype), value, acc * keep)
        best = new
    result = ct.truediv(acc, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, (head, row, 0), tile=result.reshape((1, M, D)).astype(out.dtype))
