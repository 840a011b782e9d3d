"""Sorting tokens by expert and padding each expert's share to whole blocks."""

import torch

tileport_operator = "moe_align_block_size"


def routed(tokens, top_k, experts, dtype=torch.int64):
    return torch.randint(0, experts, (tokens, top_k), dtype=dtype, device="cuda")


def tileport_cases():
    yield "512 tokens 64 experts block128", (routed(512, 6, 64), 128, 64)
    yield "100 tokens 8 experts block64 i32", (routed(100, 2, 8, torch.int32), 64, 8)
